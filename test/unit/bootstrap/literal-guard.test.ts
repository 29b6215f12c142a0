// Hosts that are addresses already, or look like one: refused before the DNS cache, by the same ranges as names are.
import { describe, expect, it } from 'vitest';
import { literalGuard } from '../../../src/bootstrap/literal-guard.ts';
import { parseCidr } from '../../../src/names/cidr.ts';
import { at } from '../../support/json-walk.ts';
import { evaluate } from '../../support/matcher-model.ts';

function judged(host: string, exceptions: readonly string[] = []): string | undefined {
  const allowDestinations = exceptions.map((text) => parseCidr(text) ?? expect.fail(text));
  const guard = literalGuard({ allowDestinations });
  return evaluate(at(guard, 'typed_config', 'matcher'), { 'leafgate.host': host });
}

describe('the guard of literals', () => {
  it.each(['10.0.0.1', '127.0.0.1', '169.254.169.254', '::1', 'fd00::1', '::ffff:1.1.1.1'])('refuses %s', (host) => {
    expect(judged(host)).toBe('guarded-address');
  });

  it.each(['1.1.1.1', '203.0.113.255', '2606:4700::1111', 'a.test', '10', 'x.10.test', '0x7f.test', '10.0.0.1.test'])(
    'lets %s be, unless it is a bare number',
    (host) => {
      expect(judged(host)).toBe(host === '10' ? 'address-form' : 'open');
    },
  );

  it.each(['010.0.0.1', '1.2.3', '2130706433', '0x7f000001', '0x', 'a.0x7f', '1.1.1.256', '1.1.1.1.1', 'a.test.1'])(
    'refuses %s, which only some readers take for an address',
    (host) => {
      expect(judged(host)).toBe('address-form');
    },
  );

  it('opens an exception and not its neighbour', () => {
    expect(judged('10.9.9.9', ['10.9.9.9'])).toBe('open');
    expect(judged('10.9.9.8', ['10.9.9.9'])).toBe('guarded-address');
  });

  it('knows what is no address also where every address is open', () => {
    const everything = ['0.0.0.0/0', '::/0'];
    expect(judged('10.0.0.1', everything)).toBe('open');
    expect(judged('010.0.0.1', everything)).toBe('address-form');
  });
});

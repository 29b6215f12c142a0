// Which addresses lead back to the gateway itself, at which ports.
import { describe, expect, it } from 'vitest';
import { ownPorts, ownRanges, requestToOwnPort } from '../../../src/bootstrap/own-listeners.ts';
import { cidrText } from '../../../src/names/cidr.ts';
import { parseListenAddress } from '../../../src/settings/parse-listen.ts';
import { gatewaySpec } from '../../support/gateway-spec.ts';
import { valuesOf } from '../../support/json-walk.ts';

const at = (listen: string, changes: Parameters<typeof gatewaySpec>[0] = {}): ReturnType<typeof gatewaySpec> =>
  gatewaySpec({ listen: parseListenAddress(listen), ...changes });
const rangesOf = (spec: ReturnType<typeof gatewaySpec>): readonly string[] => ownRanges(spec).map(cidrText);
const front = { listen: parseListenAddress('10.0.0.5:3129'), certificateDir: '/tls', clientCaFile: undefined };

const redirectedTo = (port: number) => ({ addresses: [parseListenAddress('0.0.0.0:0').address], port });

describe('the gateway itself', () => {
  it('is its own address, mapped too, and what the system takes for it', () => {
    expect(rangesOf(at('127.0.0.1:3128'))).toEqual([
      ...['127.0.0.1/32', '::ffff:127.0.0.1/128'],
      ...['0.0.0.0/32', '::/128', '::ffff:0.0.0.0/128'],
    ]);
  });

  it.each([
    ['listens on every address', at('0.0.0.0:3128', { ownAddresses: [parseListenAddress('10.0.0.5:1').address] })],
    ['takes redirected connections', at('10.0.0.5:3128', { transparent: redirectedTo(15_001) })],
  ])('is all of loopback and the machine’s addresses when it %s', (_, spec) => {
    expect(rangesOf(spec)).toEqual(expect.arrayContaining(['127.0.0.0/8', '::1/128', '10.0.0.5/32']));
  });

  it('is at every port that it listens on, once', () => {
    expect(ownPorts(at('127.0.0.1:3128', { front, transparent: redirectedTo(15_001) }))).toEqual([3128, 3129, 15_001]);
    expect(ownPorts(at('127.0.0.1:3129', { front }))).toEqual([3129]);
    expect(rangesOf(at('127.0.0.1:3128', { front }))).toContain('10.0.0.5/32');
  });
});

describe('a request to the proxy', () => {
  const isOwn = (spec: ReturnType<typeof gatewaySpec>, authority: string): boolean => {
    const [regex] = valuesOf(requestToOwnPort(spec), 'regex');
    return new RegExp(`^(?:${String(regex)})$`).test(authority);
  };

  it.each(['a.test:3128', 'a.test:03128', '[::1]:3128', ':3128'])('to %s is for a port of the gateway', (authority) => {
    expect(isOwn(at('127.0.0.1:3128'), authority)).toBe(true);
  });

  it.each(['a.test', 'a.test:80', 'a.test:13128', 'a.test:31280', '[::3128]', '[::1]:312'])(
    'to %s is not',
    (authority) => {
      expect(isOwn(at('127.0.0.1:3128'), authority)).toBe(false);
    },
  );

  it.each(['a.test', 'a.test:80', '[::1]', '[::1]:080'])('to %s is for port 80', (authority) => {
    expect(isOwn(at('127.0.0.1:80'), authority)).toBe(true);
  });

  it.each(['a.test:8080', '[::1]:443'])('to %s is not for port 80', (authority) => {
    expect(isOwn(at('127.0.0.1:80'), authority)).toBe(false);
  });
});

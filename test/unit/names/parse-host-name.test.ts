// Host names as flags and policies give them; parse-asked-name.test.ts has the hostile table.
import { describe, expect, it } from 'vitest';
import { parseHostName } from '../../../src/names/parse-host-name.ts';

const name253 = `${'a.'.repeat(126)}b`;

describe('parseHostName', () => {
  it('takes 253 bytes and refuses one more', () => {
    expect(parseHostName(name253)).toBe(name253);
    expect(parseHostName(`${name253}b`)).toBeUndefined();
    expect(parseHostName(`${name253}.`)).toBeUndefined();
  });

  it('strips one trailing dot and refuses two', () => {
    expect(parseHostName('Example.com.')).toBe('example.com');
    expect(parseHostName('example.com..')).toBeUndefined();
  });

  it('refuses an address, which is no host name', () => {
    expect(parseHostName('192.0.2.1')).toBeUndefined();
    expect(parseHostName('::1')).toBeUndefined();
  });
});

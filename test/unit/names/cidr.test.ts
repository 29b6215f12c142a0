// Ranges, and the holes that exceptions cut into them.
import { describe, expect, it } from 'vitest';
import { cidrAround, cidrContains, cidrText, parseCidr, subtractCidrs } from '../../../src/names/cidr.ts';
import { parseIpAddress } from '../../../src/names/ip-address.ts';
import type { Cidr, IpAddress } from '../../../src/names/name-types.ts';

const cidr = (text: string): Cidr => parseCidr(text) ?? expect.fail(`no range: ${text}`);
const address = (text: string): IpAddress => parseIpAddress(text) ?? expect.fail(`no address: ${text}`);

describe('parseCidr', () => {
  it.each([
    ['10.0.0.0/8', '10.0.0.0/8'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['192.0.2.1', '192.0.2.1/32'],
    ['192.0.2.1/32', '192.0.2.1/32'],
    ['::/0', '::/0'],
    ['::1', '::1/128'],
    ['2001:DB8::/33', '2001:db8::/33'],
    ['::ffff:0:0/96', '::ffff:0.0.0.0/96'],
  ])('reads %j as %s', (text, canonical) => {
    expect(cidrText(cidr(text))).toBe(canonical);
  });

  it.each([
    '',
    '/',
    '10.0.0.0/',
    '/8',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.1/8',
    '10.0.0.0/08',
    '10.0.0.0/-1',
    '10/8',
    '10.0.0.0/8/8',
    'a/8',
  ])('refuses %j', (text) => {
    expect(parseCidr(text)).toBeUndefined();
  });
});

describe('cidrContains', () => {
  it.each([
    ['10.0.0.0/8', '10.255.255.255', true],
    ['10.0.0.0/8', '11.0.0.0', false],
    ['172.16.0.0/12', '172.31.255.255', true],
    ['172.16.0.0/12', '172.32.0.0', false],
    ['0.0.0.0/0', '203.0.113.1', true],
    ['192.0.2.1/32', '192.0.2.1', true],
    ['192.0.2.1/32', '192.0.2.0', false],
    ['fe80::/10', 'febf:ffff::', true],
    ['fe80::/10', 'fec0::', false],
    ['10.0.0.0/8', '::ffff:10.0.0.1', false],
    ['::/0', '10.0.0.1', false],
  ])('%s and %s: %s', (range, text, isInside) => {
    expect(cidrContains(cidr(range), address(text))).toBe(isInside);
  });
});

describe('cidrAround', () => {
  it.each([
    ['10.1.2.3', 8, '10.0.0.0/8'],
    ['10.1.2.255', 31, '10.1.2.254/31'],
    ['203.0.113.9', 0, '0.0.0.0/0'],
    ['2001:db8::ffff', 113, '2001:db8::8000/113'],
  ])('clears the host bits of %s below /%i', (text, prefixLength, range) => {
    expect(cidrText(cidrAround(address(text), prefixLength))).toBe(range);
  });
});

describe('subtractCidrs', () => {
  const subtract = (range: string, ...exceptions: readonly string[]): string[] =>
    subtractCidrs(cidr(range), exceptions.map(cidr)).map(cidrText);

  it('leaves a range alone that no exception touches', () => {
    expect(subtract('10.0.0.0/8', '192.0.2.0/24', '::1')).toEqual(['10.0.0.0/8']);
  });

  it('splits a range around an exception', () => {
    expect(subtract('192.0.2.0/29', '192.0.2.4/31')).toEqual(['192.0.2.0/30', '192.0.2.6/31']);
  });

  it('cuts one address out of 10.0.0.0/8 with 24 ranges', () => {
    expect(subtract('10.0.0.0/8', '10.9.9.9/32')).toHaveLength(24);
  });

  it('leaves nothing when an exception holds the whole range', () => {
    expect(subtract('10.0.0.0/8', '0.0.0.0/0')).toEqual([]);
    expect(subtract('10.0.0.0/8', '10.0.0.0/8')).toEqual([]);
    expect(subtract('10.0.0.0/8', '10.0.0.0/9', '10.128.0.0/9')).toEqual([]);
  });

  it('takes overlapping exceptions once', () => {
    expect(subtract('192.0.2.0/30', '192.0.2.0/31', '192.0.2.1', '192.0.2.0/31')).toEqual(['192.0.2.2/31']);
  });
});

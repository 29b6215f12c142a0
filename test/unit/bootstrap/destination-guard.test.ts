// Which addresses clients cannot reach, and what an exception opens: exactly itself.
import { describe, expect, it } from 'vitest';
import { refusedDestinations } from '../../../src/bootstrap/dns-cache.ts';
import { cidrContains, cidrText, parseCidr } from '../../../src/names/cidr.ts';
import { parseIpAddress } from '../../../src/names/ip-address.ts';
import type { Cidr } from '../../../src/names/name-types.ts';

const range = (text: string): Cidr => parseCidr(text) ?? expect.fail(text);

function isRefused(text: string, exceptions: readonly string[] = []): boolean {
  const address = parseIpAddress(text) ?? expect.fail(text);
  return refusedDestinations(exceptions.map(range)).some((refused) => cidrContains(refused, address));
}

describe('the destination guard', () => {
  it.each([
    ['this network', '0.0.0.0'],
    ['private', '10.0.0.1'],
    ['private', '172.16.0.1'],
    ['private', '172.31.255.255'],
    ['private', '192.168.1.1'],
    ['carrier-grade NAT', '100.64.0.1'],
    ['loopback', '127.0.0.1'],
    ['loopback', '127.255.255.255'],
    ['cloud metadata', '169.254.169.254'],
    ['container metadata', '169.254.170.2'],
    ['protocol assignments', '192.0.0.192'],
    ['benchmarks', '198.18.0.1'],
    ['multicast', '224.0.0.1'],
    ['reserved', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['unspecified', '::'],
    ['IPv6 loopback', '::1'],
    ['IPv4-compatible', '::10.0.0.1'],
    ['IPv4-mapped', '::ffff:10.0.0.1'],
    ['NAT64', '64:ff9b::10.0.0.1'],
    ['local NAT64', '64:ff9b:1::1'],
    ['unique local', 'fd00:ec2::254'],
    ['link-local', 'fe80::1'],
    ['IPv6 multicast', 'ff02::1'],
  ])('refuses %s: %s', (_, address) => {
    expect(isRefused(address)).toBe(true);
  });

  it.each([
    '1.1.1.1',
    '9.255.255.255',
    '11.0.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.0.1.1',
    '203.0.113.1',
    '2606:4700::1111',
    '64:ff9c::1',
    'fe00::1',
  ])('lets %s be', (address) => {
    expect(isRefused(address)).toBe(false);
  });

  it('opens an exception and not its neighbours', () => {
    const exceptions = ['10.9.9.9', '127.0.0.0/31', 'fd00::/64'];
    for (const open of ['10.9.9.9', '127.0.0.1', 'fd00::1']) expect(isRefused(open, exceptions)).toBe(false);
    for (const closed of ['10.9.9.8', '10.9.9.10', '127.0.0.2', 'fd00:0:0:1::1', '::ffff:10.9.9.9']) {
      expect(isRefused(closed, exceptions)).toBe(true);
    }
  });

  it('has 24 ranges more for one address of 10.0.0.0/8 less the range itself', () => {
    const grown = refusedDestinations([range('10.9.9.9')]).length - refusedDestinations([]).length;
    expect(grown).toBe(23);
  });

  it('refuses nothing when everything is excepted', () => {
    expect(refusedDestinations([range('0.0.0.0/0'), range('::/0')]).map(cidrText)).toEqual([]);
  });
});

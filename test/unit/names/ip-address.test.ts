// Addresses: one canonical text each (RFC 5952), and nothing that stacks read in different ways.
import { isIP } from 'node:net';
import { describe, expect, it } from 'vitest';
import { ipAddressFromOctets, isIpv6, parseIpAddress } from '../../../src/names/ip-address.ts';

describe('parseIpAddress', () => {
  it.each([
    ['0.0.0.0', '0.0.0.0'],
    ['255.255.255.255', '255.255.255.255'],
    ['::', '::'],
    ['::1', '::1'],
    ['1::', '1::'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:0DB8::0001', '2001:db8::1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
    ['::2:3:4:5:6:7:8', '0:2:3:4:5:6:7:8'],
    ['::ffff:a00:1', '::ffff:10.0.0.1'],
    ['64:ff9b::10.0.0.1', '64:ff9b::a00:1'],
    ['1:2:3:4:5:6:1.2.3.4', '1:2:3:4:5:6:102:304'],
  ])('reads %j as %j', (text, canonical) => {
    expect(parseIpAddress(text)?.text).toBe(canonical);
  });

  it.each([
    '',
    '1.2.3',
    '1.2.3.4.5',
    '1.2.3.4.',
    '.1.2.3.4',
    '1.2.3.256',
    '01.2.3.4',
    '1.2.3.04',
    '0x1.2.3.4',
    ' 1.2.3.4',
    '1.2.3.4\n',
    '1.2.3.4/32',
    '[::1]',
    'fe80::1%eth0',
    ':',
    ':::',
    ':1::2',
    '1::2:',
    '1::2::3',
    '12345::',
    'g::',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '::1:2:3:4:5:6:7:8',
    '1.2.3.4::',
    '::1.2.3.4:5',
    '::1.2.3.04',
    '1:2:3:4:5:6:7:1.2.3.4',
    '\uff11.2.3.4',
  ])('refuses %j', (text) => {
    expect(parseIpAddress(text)).toBeUndefined();
  });

  it('takes nothing that Node refuses', () => {
    const taken = ['::ffff:1.2.3.4', '1:2:3:4:5:6:7::', '64:ff9b::1.2.3.4'].filter((text) => isIP(text) === 0);
    expect(taken).toEqual([]);
  });
});

describe('ipAddressFromOctets', () => {
  it('copies the octets', () => {
    const octets = Uint8Array.of(192, 0, 2, 1);
    const address = ipAddressFromOctets(octets);
    octets[0] = 10;
    expect(address).toEqual({ text: '192.0.2.1', octets: Uint8Array.of(192, 0, 2, 1) });
  });

  it.each([0, 3, 5, 15, 17])('has no address of %i octets', (length) => {
    expect(ipAddressFromOctets(new Uint8Array(length))).toBeUndefined();
  });

  it('keeps an IPv4-mapped address in its own family', () => {
    const address = parseIpAddress('::ffff:10.0.0.1');
    expect(address && isIpv6(address)).toBe(true);
  });
});

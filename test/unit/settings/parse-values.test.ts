// Values of flags: what is read, what is refused, and that a refusal names the flag, the value and an example.
import { describe, expect, it } from 'vitest';
import { cidrText } from '../../../src/names/cidr.ts';
import { noSniHost, selfCheckHost } from '../../../src/settings/gateway-spec.ts';
import { parseHostName } from '../../../src/names/parse-host-name.ts';
import {
  checkListenGuarded,
  listenAddressText,
  parseDnsServer,
  parseListenAddress,
  parseListenTarget,
} from '../../../src/settings/parse-listen.ts';
import {
  parseCidrSetting,
  parseHostPatternSetting,
  parseResolveOverride,
} from '../../../src/settings/parse-targets.ts';
import { formatQuantity, parseDuration, parseQuantity } from '../../../src/settings/quantities.ts';

const malformed = expect.objectContaining({ code: 'setting-malformed', exitCode: 2 });

describe('parseDuration', () => {
  it.each([
    ['1h', 3_600_000],
    ['90s', 90_000],
    ['15m', 900_000],
    ['500ms', 500],
    ['2d', 172_800_000],
    ['0s', 0],
  ])('reads %s as %i ms', (text, ms) => {
    expect(parseDuration(text, '--leaf-ttl')).toBe(ms);
  });

  it.each([
    '',
    'h',
    '1',
    '1H',
    '1.5h',
    '-1h',
    '1h30m',
    ' 1h',
    '1 h',
    '1y',
    '9999999999999999h',
    '999999999999999d',
    '1toString',
  ])('refuses %j', (text) => {
    expect(() => parseDuration(text, '--leaf-ttl')).toThrow(malformed);
  });

  it('names the flag, the value and an example', () => {
    expect(() => parseDuration('soon', '--leaf-ttl')).toThrow(
      expect.objectContaining({
        message: '--leaf-ttl is "soon", which is not a duration',
        remedy: 'write it like 90s, 15m or 1h',
      }),
    );
  });
});

describe('quantities', () => {
  it.each([
    [90_000, 'duration', '90s'],
    [3_600_000, 'duration', '1h'],
    [1, 'duration', '1ms'],
    [0, 'duration', '0ms'],
    [262_144, 'bytes', '256KiB'],
    [1_048_577, 'bytes', '1048577B'],
    [20_000, 'count', '20000'],
  ] as const)('%i as a %s is %s, and reads back', (value, unit, text) => {
    expect(formatQuantity(value, unit)).toBe(text);
    expect(parseQuantity(text, unit, '--x')).toBe(value);
  });
});

describe('parseListenAddress', () => {
  it.each(['127.0.0.1:3128', '0.0.0.0:1', '[::1]:3128', '[2001:db8::1]:65535', '127.0.0.1:0'])('reads %s', (text) => {
    expect(listenAddressText(parseListenAddress(text))).toBe(text);
  });

  it.each([
    '',
    '3128',
    ':3128',
    'localhost:3128',
    '127.0.0.1',
    '127.0.0.1:',
    '127.0.0.1:65536',
    '::1:3128',
    '[::1]',
    '[127.0.0.1]:1',
    '127.0.0.1:x',
    '127.0.0.1:3128 ',
  ])('refuses %j', (text) => {
    expect(() => parseListenAddress(text)).toThrow(malformed);
  });
});

describe('parseDnsServer', () => {
  it.each([
    ['192.0.2.53', '192.0.2.53:53'],
    ['192.0.2.53:5353', '192.0.2.53:5353'],
    ['2001:db8::53', '[2001:db8::53]:53'],
    ['[2001:db8::53]:5353', '[2001:db8::53]:5353'],
  ])('reads %s', (text, expected) => {
    expect(listenAddressText(parseDnsServer(text))).toBe(expected);
  });

  it.each([
    '',
    'dns.test',
    '192.0.2.53:0',
    '192.0.2.53:65536',
    '[192.0.2.53]:53',
    '[2001:db8::53]',
    '1.1.1',
    'udp://1.1.1.1',
  ])('refuses %j', (text) => {
    expect(() => parseDnsServer(text)).toThrow(malformed);
  });
});

describe('parseListenTarget', () => {
  it('reads a socket path', () => {
    expect(parseListenTarget('unix:/run/sds.sock')).toEqual({ kind: 'unix', path: '/run/sds.sock' });
  });

  it('takes a path of 107 bytes and none of 108, which no socket can have', () => {
    const path = `/${'a'.repeat(106)}`;
    expect(parseListenTarget(`unix:${path}`)).toEqual({ kind: 'unix', path });
    expect(() => parseListenTarget(`unix:${path}b`)).toThrow(malformed);
  });

  it.each(['unix:', 'unix:relative.sock', 'unix:/a\0b', '/run/sds.sock'])('refuses %j', (text) => {
    expect(() => parseListenTarget(text)).toThrow(malformed);
  });

  it('reads an address and a port', () => {
    expect(parseListenTarget('127.0.0.1:9901')).toMatchObject({ kind: 'tcp', port: 9901 });
  });
});

describe('checkListenGuarded', () => {
  const networks = [parseCidrSetting('10.0.0.0/8', '--allow-from')];
  it.each(['127.0.0.1:1', '127.9.9.9:1', '[::1]:1'])('lets %s be without --allow-from', (text) => {
    expect(() => checkListenGuarded(parseListenAddress(text), [])).not.toThrow();
  });

  it.each(['0.0.0.0:1', '10.0.0.1:1', '[::]:1', '[::ffff:127.0.0.1]:1'])('wants --allow-from for %s', (text) => {
    const listen = parseListenAddress(text);
    expect(() => checkListenGuarded(listen, [])).toThrow(expect.objectContaining({ code: 'listen-unguarded' }));
    expect(() => checkListenGuarded(listen, networks)).not.toThrow();
  });
});

describe('parseResolveOverride', () => {
  it.each([
    ['api.example.com:443:192.0.2.1', 'api.example.com', 443, '192.0.2.1'],
    ['API.example.com.:8443:192.0.2.1', 'api.example.com', 8443, '192.0.2.1'],
    ['a.test:443:::1', 'a.test', 443, '::1'],
    ['a.test:443:[2001:db8::1]', 'a.test', 443, '2001:db8::1'],
    ['*:443:192.0.2.1', '*', 443, '192.0.2.1'],
  ])('reads %s', (text, host, port, address) => {
    const override = parseResolveOverride(text);
    expect([override.host, override.port, override.address.text]).toEqual([host, port, address]);
  });

  it.each([
    '',
    'a.test',
    'a.test:443',
    'a.test:443:',
    'a.test:0:192.0.2.1',
    'a.test:65536:192.0.2.1',
    'a.test:443:b.test',
    '*.test:443:192.0.2.1',
    'a.test:443:[192.0.2.1',
    'a.test:443:192.0.2.1,192.0.2.2',
    '**:443:192.0.2.1',
    '192.0.2.1:443:192.0.2.2',
  ])('refuses %j', (text) => {
    expect(() => parseResolveOverride(text)).toThrow(malformed);
  });
});

describe('parseCidrSetting', () => {
  it('reads a range and a single address', () => {
    expect(cidrText(parseCidrSetting('10.0.0.0/8', '--allow-from'))).toBe('10.0.0.0/8');
    expect(cidrText(parseCidrSetting('::1', '--allow-from'))).toBe('::1/128');
  });

  it('shows the range that was meant when bits after the prefix are set', () => {
    expect(() => parseCidrSetting('172.20.1.2/12', '--allow-from')).toThrow(
      expect.objectContaining({
        message: '--allow-from is "172.20.1.2/12", which is not a range of addresses',
        remedy: 'write it like 172.16.0.0/12',
      }),
    );
  });

  it.each(['', '10.0.0.0/33', 'example.com', '10.0.0.0/x', '/8'])('refuses %j', (text) => {
    expect(() => parseCidrSetting(text, '--allow-from')).toThrow(malformed);
  });
});

describe('parseHostPatternSetting', () => {
  it('refuses a star alone, which --allow-any is for', () => {
    expect(() => parseHostPatternSetting('*')).toThrow(malformed);
  });

  it('reads a pattern', () => {
    expect(parseHostPatternSetting('*.Example.com')).toEqual({ kind: 'suffix', suffix: 'example.com' });
  });
});

describe('the reserved names', () => {
  it.each([selfCheckHost, noSniHost])('%s is canonical and never resolves', (host) => {
    expect(parseHostName(host)).toBe(host);
    expect(host).toMatch(/\.invalid$/);
  });
});

// What a resource name turns out to be, hostile ones first: mitm-peers M15 to M21.
import { describe, expect, it } from 'vitest';
import type { NameRefusal } from '../../../src/names/name-types.ts';
import {
  askedNameFromBytes,
  askedNameFromText,
  askedNameToBytes,
  parseAskedName,
} from '../../../src/names/parse-asked-name.ts';

const label63 = 'a'.repeat(63);
const name253 = [label63, label63, label63, 'a'.repeat(61)].join('.');

describe('parseAskedName', () => {
  const refused: readonly (readonly [asked: string, reason: NameRefusal])[] = [
    ['', 'empty'],
    ['.', 'bad-label'],
    ['..', 'bad-label'],
    ['.example.com', 'bad-label'],
    ['a..b', 'bad-label'],
    ['example.com..', 'bad-label'],
    ['-a', 'bad-label'],
    ['-a.com', 'bad-label'],
    ['a-.com', 'bad-label'],
    [`${'a'.repeat(64)}.com`, 'bad-label'],
    [`${name253}.`, 'too-long'],
    [`${name253}b`, 'too-long'],
    ['a'.repeat(100_000), 'too-long'],
    ['*', 'wildcard'],
    ['*.com', 'wildcard'],
    ['a.*.com', 'wildcard'],
    ['a b.com', 'bad-character'],
    ['a\u0000b.com', 'bad-character'],
    ['a.com\r\nx-injected: 1', 'bad-character'],
    ['a.com\n', 'bad-character'],
    ['a.com:443', 'bad-character'],
    ['../x', 'bad-character'],
    ['a/b', 'bad-character'],
    ['user@a.com', 'bad-character'],
    ['a%2ecom', 'bad-character'],
    ['bücher.example', 'bad-character'],
    ['a\u3002com', 'bad-character'],
    ['\uff41.com', 'bad-character'],
    ['[::1]', 'bad-character'],
    ['fe80::1%eth0', 'bad-character'],
    ['192.0.2.1:443', 'bad-character'],
    ['1:2:3', 'not-an-address'],
    ['1::2::3', 'not-an-address'],
    ['127.1', 'not-an-address'],
    ['1.2.3.4.5', 'not-an-address'],
    ['1.2.3.256', 'not-an-address'],
    ['01.2.3.4', 'not-an-address'],
    ['1.2.3.4.', 'not-an-address'],
    ['0x7f.1', 'not-an-address'],
    ['2130706433', 'not-an-address'],
    ['0x7f000001', 'not-an-address'],
    ['example.0X7F', 'not-an-address'],
    ['example.1', 'not-an-address'],
  ];
  it.each(refused)('refuses %j as %s', (asked, reason) => {
    expect(parseAskedName(askedNameFromText(asked))).toEqual({ kind: 'refused', reason });
  });

  it('reaches every reason for a refusal', () => {
    const every = ['bad-character', 'bad-label', 'empty', 'not-an-address', 'too-long', 'wildcard'];
    expect([...new Set(refused.map(([, reason]) => reason))].sort()).toEqual(every);
  });

  it.each([
    ['example.com', 'example.com'],
    ['Example.COM', 'example.com'],
    ['example.com.', 'example.com'],
    ['localhost', 'localhost'],
    ['svc', 'svc'],
    ['host.docker.internal', 'host.docker.internal'],
    ['a_b.example.com', 'a_b.example.com'],
    ['_dmarc.example.com', '_dmarc.example.com'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['a.b.example.com', 'a.b.example.com'],
    ['1password.com', '1password.com'],
    ['1.2.3.4.example', '1.2.3.4.example'],
    ['0x7f.example', '0x7f.example'],
    [`${label63}.com`, `${label63}.com`],
    [name253, name253],
  ])('takes %j as the host name %j', (asked, host) => {
    expect(parseAskedName(askedNameFromText(asked))).toEqual({ kind: 'dns', host });
  });

  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::1', '::1'],
    ['2001:DB8:0:0::1', '2001:db8::1'],
    ['::ffff:10.0.0.1', '::ffff:10.0.0.1'],
  ])('takes %j as the address %j', (asked, text) => {
    expect(parseAskedName(askedNameFromText(asked))).toMatchObject({ kind: 'ip', address: { text } });
  });
});

describe('asked names', () => {
  it('echo bytes that are no UTF-8', () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    expect([...askedNameToBytes(askedNameFromBytes(bytes))]).toEqual([...bytes]);
  });

  it('are made of the bytes of a view, not of the buffer behind it', () => {
    const view = Buffer.from('xexample.comx').subarray(1, 12);
    expect(askedNameFromBytes(view)).toBe('example.com');
  });

  it('made from a text are its UTF-8 bytes', () => {
    expect(Buffer.from(askedNameToBytes(askedNameFromText('bücher'))).toString('utf8')).toBe('bücher');
  });
});

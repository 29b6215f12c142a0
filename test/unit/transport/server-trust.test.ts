import { describe, expect, it } from 'vitest';
import { LeafgateError } from '../../../src/errors.ts';
import { parseServerName } from '../../../src/transport/server-name.ts';
import type { ServerName } from '../../../src/transport/server-name.ts';
import { parseServerTrust, trustKey } from '../../../src/transport/server-trust.ts';
import { createTestAuthority, issueServerCertificate } from '../../support/test-certificates.ts';

const one = createTestAuthority({ organisation: 'one' });
const other = createTestAuthority({ organisation: 'other' });
const host = named('api.example.com');

function named(text: string): ServerName {
  const name = parseServerName(text);
  if (name === undefined) throw new Error(text);
  return name;
}

function codeOf(bundle: string | Uint8Array): { readonly code: string; readonly message: string } {
  try {
    parseServerTrust({ bundle, source: '/etc/gateway/ca.pem' });
  } catch (thrown) {
    const { code, message, remedy } = LeafgateError.from(thrown);
    expect(remedy).not.toBe('');
    return { code, message };
  }
  throw new Error('it was accepted');
}

describe('the bundle of a server trust', () => {
  const { keyPem, chainPem } = issueServerCertificate(one, { names: ['api.example.com'] });
  const cut = other.pem.slice(0, -40);
  const broken = `-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`;

  it.each([
    ['a private key before the certificates', keyPem + one.pem, 'pem-private-key'],
    ['a private key between certificates', one.pem + keyPem + other.pem, 'pem-private-key'],
    ['a private key after the certificates', one.pem + keyPem, 'pem-private-key'],
    ['a block that is no certificate', one.pem + broken, 'pem-bad-certificate'],
    ['a certificate cut off after a valid one', one.pem + cut, 'pem-broken-block'],
    ['trailing data', `${one.pem}surprise\n`, 'pem-trailing-data'],
    ['nothing', '', 'pem-empty'],
    ['only comments', '# nothing here\n', 'pem-empty'],
  ])('is refused whole for %s', (_, bundle, code) => {
    expect(codeOf(bundle)).toEqual({ code, message: expect.stringContaining('/etc/gateway/ca.pem') as string });
    expect(codeOf(Buffer.from(bundle)).code).toBe(code);
  });

  it('never shows a key that it refuses', () => {
    const secret = keyPem.split('\n')[1] ?? '';
    expect(secret.length).toBeGreaterThan(40);
    expect(codeOf(one.pem + keyPem).message).not.toContain(secret.slice(0, 20));
  });

  it('holds each certificate once, as text that TLS takes', () => {
    const trust = parseServerTrust({ bundle: one.pem + other.pem + one.pem, source: 'test' });
    expect(trust.anchors.map(({ sha256 }) => sha256)).toEqual(
      [one.certificate.sha256, other.certificate.sha256].sort(),
    );
    expect(trust.anchorsPem().match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
  });

  it('tells a CA from the certificate of a server', () => {
    const trust = parseServerTrust({ bundle: chainPem + one.pem, source: 'test' });
    const isAnchor = new Map(trust.anchors.map((anchor) => [anchor.sha256, anchor.isAnchor]));
    expect(isAnchor.get(one.certificate.sha256)).toBe(true);
    expect([...isAnchor.values()].filter((value) => !value)).toHaveLength(1);
  });
});

describe('the server name of a trust', () => {
  it.each(['', 'a b', '*.example.com', 'https://example.com', '1.2.3', 'example.com:443'])('refuses "%s"', (name) => {
    expect(() => parseServerTrust({ bundle: one.pem, source: 'test', serverName: name })).toThrow(
      expect.objectContaining({ code: 'trust-server-name' }) as Error,
    );
  });

  it.each([
    ['API.Example.com.', named('api.example.com')],
    ['192.0.2.7', named('192.0.2.7')],
    ['[2001:DB8::7]', named('2001:db8::7')],
  ])('reads %s in its canonical form', (text, name) => {
    expect(parseServerTrust({ bundle: one.pem, source: 'test', serverName: text }).serverName).toEqual(name);
  });
});

describe('what a caller holds', () => {
  it('is not changed through the bytes that were parsed', () => {
    const bytes = Buffer.from(one.pem);
    const trust = parseServerTrust({ bundle: bytes, source: 'test' });
    const before = { pem: trust.anchorsPem(), key: trustKey(trust, host) };
    bytes.fill(0);
    expect({ pem: trust.anchorsPem(), key: trustKey(trust, host) }).toEqual(before);
  });

  it('cannot change the trust', () => {
    const trust = parseServerTrust({ bundle: one.pem, source: 'test', serverName: '192.0.2.7' });
    const before = trustKey(trust, host);
    expect(() => Object.assign(trust, { sha256: other.certificate.sha256 })).toThrow(TypeError);
    expect(() => Object.assign(trust.anchors, { 0: other.certificate })).toThrow(TypeError);
    expect(() => Object.assign(trust.anchors[0] ?? {}, { sha256: 'x' })).toThrow(TypeError);
    if (trust.serverName?.kind === 'ip') trust.serverName.address.octets.fill(0);
    expect(trustKey(trust, host)).toBe(before);
  });
});

describe('the key of a trust', () => {
  const keyOf = (bundle: string, serverName?: string, at = host): string =>
    trustKey(parseServerTrust({ bundle, source: 'test', ...(serverName === undefined ? {} : { serverName }) }), at);

  it('is a SHA-256 in hex', () => {
    expect(keyOf(one.pem)).toMatch(/^[0-9a-f]{64}$/);
  });

  it('does not depend on order, repeats, comments or line ends', () => {
    const key = keyOf(one.pem + other.pem);
    expect(keyOf(other.pem + one.pem)).toBe(key);
    expect(keyOf(one.pem + other.pem + one.pem)).toBe(key);
    expect(keyOf(`# our CAs\n${one.pem}\n${other.pem}`.replaceAll('\n', '\r\n'))).toBe(key);
  });

  it('differs for another set of certificates', () => {
    expect(new Set([one.pem, other.pem, one.pem + other.pem].map((bundle) => keyOf(bundle))).size).toBe(3);
  });

  it('takes the name of the host unless the trust has its own', () => {
    expect(keyOf(one.pem, 'api.example.com')).toBe(keyOf(one.pem));
    expect(keyOf(one.pem, 'api.example.com', named('192.0.2.7'))).toBe(keyOf(one.pem));
    expect(keyOf(one.pem, 'www.example.com')).not.toBe(keyOf(one.pem));
    expect(keyOf(one.pem, undefined, named('www.example.com'))).not.toBe(keyOf(one.pem));
  });
});

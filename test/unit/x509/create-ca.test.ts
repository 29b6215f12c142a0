import { createPrivateKey, createPublicKey, randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { days, hours, minus, plus } from '../../../src/clock.ts';
import { createCa, type CaKeyKind } from '../../../src/x509/create-ca.ts';
import { privateKeyFromPkcs8 } from '../../../src/x509/private-key.ts';
import { testNow } from '../../support/ca-workshop.ts';

const create = (keyKind?: CaKeyKind) =>
  createCa({ now: testNow, lifetimeMs: days(365), randomBytes, ...(keyKind === undefined ? {} : { keyKind }) });

describe('a CA that we make', () => {
  test('is self-signed, of version 3, and may sign certificates and lists without a path length', () => {
    const { certificate } = create();
    expect(certificate.version).toBe(3);
    expect(certificate.basicConstraints).toEqual({ critical: true, isCa: true });
    expect(certificate.keyUsage).toEqual({ critical: true, keyCertSign: true, digitalSignature: false });
    expect(certificate.extensions).toEqual([
      { id: '2.5.29.19', critical: true },
      { id: '2.5.29.15', critical: true },
      { id: '2.5.29.14', critical: false },
    ]);
    expect(certificate.subjectKeyId).toHaveLength(20);
    expect(Buffer.compare(certificate.subjectDer, certificate.issuerDer)).toBe(0);
    expect(certificate.native.verify(certificate.native.publicKey)).toBe(true);
  });

  test('is backdated by an hour and lives as long as asked', () => {
    const { certificate } = create();
    expect(certificate.notBefore).toBe(minus(testNow, hours(1)));
    expect(certificate.notAfter).toBe(plus(testNow, days(365)));
  });

  test('has a subject of its own for each generation: two CAs are never taken for one', () => {
    const [first, second] = [create().certificate, create().certificate];
    expect(first.subject).toMatch(/^O=leafgate, CN=leafgate CA [0-9a-f]{8}$/);
    expect(second.subject).not.toBe(first.subject);
    expect(second.serialHex).not.toBe(first.serialHex);
  });

  test('takes its serial from the randomness it is given, and its generation from its key', () => {
    const zeros = (count: number) => new Uint8Array(count);
    const { certificate } = createCa({ now: testNow, lifetimeMs: days(1), randomBytes: zeros, organisation: 'Bücher' });
    const generation = Buffer.from(certificate.subjectKeyId ?? [])
      .toString('hex')
      .slice(0, 8);
    expect(certificate.subject).toBe(`O=Bücher, CN=Bücher CA ${generation}`);
    expect(certificate.serialHex).toBe(`40${'00'.repeat(15)}`);
  });

  test.each<[CaKeyKind, string, number]>([
    ['P-256', 'P-256', 0],
    ['P-384', 'P-384', 0],
    ['RSA-2048', 'RSA', 2048],
    ['RSA-3072', 'RSA', 3072],
    ['Ed25519', 'Ed25519', 0],
  ])('may have a %s key, and is given back with the key that belongs to it', (kind, keyKind, rsaBits) => {
    const { certificate, privateKeyPkcs8 } = create(kind);
    expect(certificate).toMatchObject({ keyKind, rsaBits });
    const key = privateKeyFromPkcs8(privateKeyPkcs8);
    expect(createPublicKey(key).equals(certificate.native.publicKey)).toBe(true);
    expect(certificate.native.verify(certificate.native.publicKey)).toBe(true);
  });

  test('never shows its key when it is printed', () => {
    const ca = create();
    const key = createPrivateKey({ key: Buffer.from(ca.privateKeyPkcs8.reveal()), format: 'der', type: 'pkcs8' });
    const secret = Buffer.from(key.export({ format: 'jwk' }).d!, 'base64url');
    const printed = `${inspect(ca, { depth: 9 })} ${JSON.stringify(ca)} ${String(ca.privateKeyPkcs8)}`;
    for (const form of ['hex', 'base64', 'base64url'] as const)
      expect(printed).not.toContain(secret.toString(form).slice(2, 20));
  });
});

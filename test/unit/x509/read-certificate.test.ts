import { createPublicKey, X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { days, hours, minus, plus } from '../../../src/clock.ts';
import { caBasicConstraintsExtension, extension, serverAuthExtension } from '../../../src/x509/encode-extensions.ts';
import { bitString, contextPrimitive, octetString, sequence, trueValue } from '../../../src/x509/forge-asn1.ts';
import type { Asn1Node } from '../../../src/x509/forge-asn1.ts';
import { maxCertificateBytes, readCertificate } from '../../../src/x509/read-certificate.ts';
import { encodeBlueprint, goodList, makeCa, makeKey, testNow } from '../../support/ca-workshop.ts';
import type { TestKeyKind } from '../../support/ca-workshop.ts';

const unreadable = expect.objectContaining({ code: 'certificate-unreadable' });

describe('a certificate that was read', () => {
  const root = makeCa({ name: 'root' });
  const { certificate } = makeCa({
    name: 'below',
    issuer: root,
    extensions: (good) => [caBasicConstraintsExtension(3), ...goodList(good).slice(1), serverAuthExtension()],
  });

  test('shows what Node does not: raw names, versions, flags, key ids, dates to the second', () => {
    expect(certificate.version).toBe(3);
    expect(Buffer.compare(certificate.issuerDer, root.certificate.subjectDer)).toBe(0);
    expect(certificate.basicConstraints).toEqual({ critical: true, isCa: true, pathLength: 3 });
    expect(certificate.keyUsage).toEqual({ critical: true, keyCertSign: true, digitalSignature: false });
    expect(certificate.extendedKeyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
    expect(Buffer.from(certificate.authorityKeyId ?? [])).toEqual(Buffer.from(root.keyId));
    expect(certificate.notBefore).toBe(minus(testNow, hours(1)));
    expect(certificate.notAfter).toBe(plus(testNow, days(365)));
    expect(certificate.signatureAlgorithm).toBe('1.2.840.10045.4.3.2');
    expect(certificate.extensions.map(({ critical }) => critical)).toEqual([true, true, false, false, false]);
  });

  test('agrees with Node about subject, serial and fingerprint', () => {
    const native = new X509Certificate(certificate.der);
    expect(certificate.subject).toBe('O=test, CN=below');
    expect(certificate.serialHex).toBe(native.serialNumber.toLowerCase());
    expect(certificate.sha256).toBe(native.fingerprint256.replaceAll(':', '').toLowerCase());
  });

  test('does not change when the caller changes the bytes it was read from', () => {
    const bytes = Uint8Array.from(certificate.der);
    const read = readCertificate(bytes);
    bytes.fill(0);
    expect(Buffer.compare(read.der, certificate.der)).toBe(0);
  });

  test.each<[TestKeyKind, string, number]>([
    ['P-256', 'P-256', 0],
    ['P-384', 'P-384', 0],
    ['P-521', 'P-521', 0],
    ['RSA-2048', 'RSA', 2048],
    ['Ed25519', 'Ed25519', 0],
    ['secp256k1', 'other', 0],
    ['Ed448', 'other', 0],
  ])('names the kind of a %s key', (kind, keyKind, rsaBits) => {
    expect(makeCa({ key: makeKey(kind) }).certificate).toMatchObject({ keyKind, rsaBits });
  });

  test.each([
    ['digitalSignature', 0x80, { digitalSignature: true, keyCertSign: false }],
    ['keyCertSign', 0x04, { digitalSignature: false, keyCertSign: true }],
    ['cRLSign', 0x02, { digitalSignature: false, keyCertSign: false }],
    ['nothing', 0x00, { digitalSignature: false, keyCertSign: false }],
  ])('tells its usages apart: %s', (_, octet, usages) => {
    const usage = extension('2.5.29.15', 'plain', bitString(Uint8Array.of(octet), 1));
    const read = makeCa({ extensions: (good) => [good.basicConstraints, usage] }).certificate;
    expect(read.keyUsage).toEqual({ critical: false, ...usages });
  });

  test('may be of version 1 and without extensions, as old roots are', () => {
    const old = makeCa({ version: 1 }).certificate;
    expect(old.version).toBe(1);
    expect(old.extensions).toEqual([]);
    expect(old.basicConstraints).toBeUndefined();
  });

  test('may have an empty subject', () => {
    expect(makeCa({ subjectDer: Uint8Array.of(0x30, 0) }).certificate.subject).toBe('');
  });

  test('shows a negative serial as negative', () => {
    expect(makeCa({ serial: Uint8Array.of(0x80) }).certificate.serialHex).toBe('-80');
    expect(makeCa({ serial: Uint8Array.of(0x00, 0x80) }).certificate.serialHex).toBe('80');
    expect(makeCa({ serial: Uint8Array.of(0) }).certificate.serialHex).toBe('0');
  });

  test('may say in full that something is not critical, as sloppy issuers do', () => {
    const sloppy = makeCa({ extensions: () => [sequence(...explicitlyNotCritical())] });
    expect(sloppy.certificate.basicConstraints).toEqual({ critical: false, isCa: true });
  });
});

function explicitlyNotCritical(): Parameters<typeof sequence> {
  const [id, content] = [caBasicConstraintsExtension()].flatMap(({ value }) =>
    Array.isArray(value) ? value.filter((_, index) => index !== 1) : [],
  );
  const falseValue = { ...trueValue(), value: '\x00' };
  return [id!, falseValue, content!];
}

describe('bytes that are no certificate', () => {
  const { certificate, key } = makeCa();
  const publicKey = createPublicKey(key);

  test('are refused by size before anything is parsed', () => {
    expect(() => readCertificate(new Uint8Array(maxCertificateBytes + 1))).toThrow(
      expect.objectContaining({ code: 'certificate-too-large', fields: { bytes: 65537, maxBytes: 65536 } }),
    );
    expect(() => readCertificate(new Uint8Array(maxCertificateBytes))).toThrow(unreadable);
  });

  test.each<[string, Uint8Array]>([
    ['nothing', new Uint8Array()],
    ['text', Buffer.from('hello')],
    ['a certificate cut off', certificate.der.subarray(0, -1)],
    ['a certificate with a byte after it', Buffer.concat([certificate.der, Uint8Array.of(0)])],
    ['two certificates', Buffer.concat([certificate.der, certificate.der])],
    ['a private key', key.export({ format: 'der', type: 'pkcs8' })],
    ['a public key', publicKey.export({ format: 'der', type: 'spki' })],
    ['the same extension twice', encodeBlueprint({ key, extensions: (good) => [good.keyUsage, good.keyUsage] })],
    [
      'a key usage that is no bit string',
      encodeBlueprint({ key, extensions: () => [extension('2.5.29.15', 'critical', octetString(Uint8Array.of(1)))] }),
    ],
    [
      'a subject key id that is no octet string',
      encodeBlueprint({ key, extensions: () => [extension('2.5.29.14', 'plain', bitString(Uint8Array.of(1)))] }),
    ],
    [
      'basic constraints with rubbish in them',
      encodeBlueprint({
        key,
        extensions: () => [extension('2.5.29.19', 'critical', sequence(contextPrimitive(5, Uint8Array.of(1))))],
      }),
    ],
    ['sixty-five extensions', encodeBlueprint({ key, extensions: () => manyExtensions(65) })],
  ])('are refused: %s', (_, bytes) => {
    expect(() => readCertificate(bytes)).toThrow(unreadable);
  });

  test('are not refused for sixty-four extensions', () => {
    const bytes = encodeBlueprint({ key, extensions: () => manyExtensions(64) });
    expect(readCertificate(bytes).extensions).toHaveLength(64);
  });
});

function manyExtensions(count: number): readonly Asn1Node[] {
  return Array.from({ length: count }, (_, index) =>
    extension(`1.3.6.1.4.1.1.${index}`, 'plain', octetString(new Uint8Array())),
  );
}

import { createPrivateKey, createPublicKey, randomBytes, X509Certificate } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { epoch, hours, minutes, minus, plus } from '../../../src/clock.ts';
import type { Signer } from '../../../src/x509/certificate-types.ts';
import { DerReader, derTags, contextTag } from '../../../src/x509/der-reader.ts';
import { createLeafKey } from '../../../src/x509/leaf-key.ts';
import { createLeafTemplate, encodeLeaf, type LeafRequest } from '../../../src/x509/leaf-template.ts';
import { readCertificate } from '../../../src/x509/read-certificate.ts';
import { createSerial } from '../../../src/x509/serial.ts';
import { canSignSynchronously, signLeaf, signLeafSync } from '../../../src/x509/sign-leaf.ts';
import { subjectKeyIdExtension } from '../../../src/x509/encode-extensions.ts';
import { createKeyring, makeCa, signerOf, testNow, type TestKeyKind } from '../../support/ca-workshop.ts';
import { leafName, longestHost } from '../../support/leaf-names.ts';

const ca = makeCa({ name: 'ca' });
const signer = signerOf(ca);
const key = createLeafKey(testNow);

function request(over: Partial<LeafRequest> = {}): LeafRequest {
  return {
    name: leafName('api.example.com'),
    serial: createSerial(randomBytes),
    notBefore: minus(testNow, minutes(5)),
    notAfter: plus(testNow, hours(1)),
    ...over,
  };
}

function mint(over: Partial<LeafRequest> = {}, by: Signer = signer) {
  return readCertificate(signLeafSync(encodeLeaf(createLeafTemplate(by, key), request(over))));
}

describe('a leaf', () => {
  test('is what design section 4 says, extension by extension', () => {
    const leaf = mint();
    expect(leaf.version).toBe(3);
    expect(leaf.extensions).toEqual([
      { id: '2.5.29.15', critical: true },
      { id: '2.5.29.37', critical: false },
      { id: '2.5.29.19', critical: true },
      { id: '2.5.29.35', critical: false },
      { id: '2.5.29.17', critical: false },
    ]);
    expect(leaf.keyUsage).toEqual({ critical: true, digitalSignature: true, keyCertSign: false });
    expect(leaf.extendedKeyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
    expect(leaf.subjectAltName).toEqual({ critical: false, names: [{ kind: 'dns', text: 'api.example.com' }] });
  });

  test('says CA:false by an empty sequence, and digitalSignature in one octet with seven unused bits', () => {
    const contents = new Map(extensionContents(mint().der));
    expect(contents.get('551d13')).toBe('3000');
    expect(contents.get('551d0f')).toBe('03020780');
  });

  test('carries the issuer as the CA has it, byte for byte, whatever its string types', () => {
    // TeletexString, which nobody would write today and everybody must copy
    const subjectDer = Buffer.from('300e310c300a06035504031403e9e8ff', 'hex');
    const old = makeCa({ subjectDer });
    expect(Buffer.from(mint({}, signerOf(old)).issuerDer)).toEqual(subjectDer);
  });

  test('carries the subject key id of the CA as its authority key id, also when that is no hash of a key', () => {
    const oddKeyId = Buffer.from('not a hash of any key');
    const odd = makeCa({
      extensions: (good) => [good.basicConstraints, good.keyUsage, subjectKeyIdExtension(oddKeyId)],
    });
    expect(Buffer.from(mint({}, signerOf(odd)).authorityKeyId ?? [])).toEqual(oddKeyId);
  });

  test('repeats its serial in its subject, in hex, and has no common name', () => {
    const serial = Buffer.from('4f00112233445566778899aabbccddee', 'hex');
    const leaf = mint({ serial });
    expect(leaf.serialHex).toBe(serial.toString('hex'));
    expect(leaf.subject).toBe(`serialNumber=${serial.toString('hex')}`);
  });

  test('has a key of its own: not that of the CA', () => {
    const leaf = mint();
    const leafPublicKey = createPublicKey(createPrivateKey(Buffer.from(key.privateKeyPem.reveal()).toString()));
    expect(leaf.native.publicKey.equals(leafPublicKey)).toBe(true);
    expect(leaf.native.publicKey.equals(ca.certificate.native.publicKey)).toBe(false);
  });

  test('verifies with the key of its CA and with no other', () => {
    const leaf = mint();
    expect(leaf.native.verify(ca.certificate.native.publicKey)).toBe(true);
    expect(leaf.native.verify(makeCa().certificate.native.publicKey)).toBe(false);
  });

  test.each([
    ['a host of 64 bytes', `${'a'.repeat(60)}.com`],
    ['a host of 65 bytes, beyond what a common name may hold', `${'a'.repeat(61)}.com`],
    ['a host of 253 bytes', longestHost],
    ['an underscore', '_dmarc.a_b.example.com'],
    ['an A-label', 'xn--bcher-kva.example'],
    ['a single label', 'localhost'],
  ])('names %s as it is, in one dNSName', (_, host) => {
    const leaf = mint({ name: leafName(host) });
    expect(leaf.subjectAltName?.names).toEqual([{ kind: 'dns', text: host }]);
    expect(leaf.native.checkHost(host)).toBe(host);
  });

  test('names a host in lower case and without its last dot', () => {
    expect(mint({ name: leafName('API.Example.COM.') }).subjectAltName?.names).toEqual([
      { kind: 'dns', text: 'api.example.com' },
    ]);
  });

  test.each([
    ['10.0.0.1', '0a000001'],
    ['2001:db8::1', '20010db8000000000000000000000001'],
    ['::ffff:10.0.0.1', '00000000000000000000ffff0a000001'],
  ])('names the address %s in one iPAddress', (address, octets) => {
    const leaf = mint({ name: leafName(address) });
    expect(leaf.subjectAltName?.names).toEqual([{ kind: 'ip', octets: Uint8Array.from(Buffer.from(octets, 'hex')) }]);
    expect(leaf.native.checkIP(address)).toBe(address);
    expect(leaf.native.checkHost(address)).toBeUndefined();
  });

  test('has dates to the second, cut and not rounded, across the change of form in 2050', () => {
    const long = makeCa({ notAfter: epoch(Date.UTC(2051, 0, 1)) });
    const leaf = mint(
      { notBefore: epoch(Date.UTC(2049, 11, 31, 23, 59, 59, 999)), notAfter: epoch(Date.UTC(2050, 0, 1, 0, 0, 0, 1)) },
      signerOf(long),
    );
    expect(new Date(leaf.notBefore).toISOString()).toBe('2049-12-31T23:59:59.000Z');
    expect(new Date(leaf.notAfter).toISOString()).toBe('2050-01-01T00:00:00.000Z');
    expect(validityTags(leaf.der)).toEqual([derTags.utcTime, derTags.generalizedTime]);
    expect(leaf.native.validTo).toContain('2050');
  });

  test('may end with its chain, and is refused a millisecond later', () => {
    const short = signerOf(makeCa({ notAfter: plus(testNow, minutes(10)) }));
    expect(mint({ notAfter: short.notAfter }, short).notAfter).toBe(short.notAfter);
    expect(() => mint({ notAfter: epoch(short.notAfter + 1) }, short)).toThrow(
      expect.objectContaining({ code: 'leaf-refused', message: expect.stringMatching(/outlive/) }),
    );
  });

  test('is not encoded with an empty validity', () => {
    expect(() => mint({ notBefore: plus(testNow, hours(1)) })).toThrow(/validity is empty/);
  });

  test.each([
    ['negative', `80${'00'.repeat(15)}`],
    ['zero', '00'.repeat(16)],
    ['not in its shortest form', `00${'ff'.repeat(15)}`],
    ['short', '40'.repeat(15)],
    ['of 21 octets', '40'.repeat(21)],
  ])('is not encoded with a serial that is %s', (_, hex) => {
    expect(() => mint({ serial: Buffer.from(hex, 'hex') })).toThrow(/serial/);
  });

  test('is not encoded for a CA without subject key id: strict clients could not build the chain', () => {
    const bare = makeCa({ extensions: (good) => [good.basicConstraints, good.keyUsage] });
    expect(() => mint({}, signerOf(bare))).toThrow(expect.objectContaining({ code: 'leaf-refused' }));
  });

  test('differs each time in its serial, for the same name and the same random template', () => {
    expect(mint().serialHex).not.toBe(mint().serialHex);
  });
});

describe('signing', () => {
  const keyOf = createKeyring();
  const kinds: readonly TestKeyKind[] = ['P-256', 'P-384', 'RSA-2048', 'RSA-4096', 'Ed25519'];
  beforeAll(() => void kinds.map(keyOf), 60_000);

  test.each<[TestKeyKind, string]>([
    ['P-256', '300a06082a8648ce3d040302'],
    ['P-384', '300a06082a8648ce3d040303'],
    ['RSA-2048', '300d06092a864886f70d01010b0500'],
    ['RSA-4096', '300d06092a864886f70d01010b0500'],
    ['Ed25519', '300506032b6570'],
  ])('with %s verifies, and names its algorithm twice, exactly as its RFC has it', async (kind, identifier) => {
    const by = makeCa({ key: keyOf(kind) });
    const draft = encodeLeaf(createLeafTemplate(signerOf(by), key), request());
    const leaf = readCertificate(await signLeaf(draft));
    expect(leaf.native.verify(by.certificate.native.publicKey)).toBe(true);
    const [inner, outer] = algorithmIdentifiers(leaf.der);
    expect(inner).toBe(identifier);
    expect(outer).toBe(identifier);
  });

  test.each(kinds)('is done on the event loop for P-256 only: %s', (kind) => {
    expect(canSignSynchronously(signerOf(makeCa({ key: keyOf(kind) })))).toBe(kind === 'P-256');
  });

  test('gives the same leaf on the event loop and off it', async () => {
    const draft = encodeLeaf(createLeafTemplate(signer, key), request());
    const [quick, slow] = [readCertificate(signLeafSync(draft)), readCertificate(await signLeaf(draft))];
    expect(quick.serialHex).toBe(slow.serialHex);
    for (const leaf of [quick, slow]) expect(leaf.native.verify(ca.certificate.native.publicKey)).toBe(true);
  });

  test.each<TestKeyKind>(['RSA-1024', 'RSA-8192', 'P-521', 'secp256k1', 'Ed448'])('with %s is refused', (kind) => {
    const by = { ...signer, key: kind === 'RSA-8192' ? publicRsa(8192) : keyOf(kind) };
    expect(() => createLeafTemplate(by, key)).toThrow(expect.objectContaining({ code: 'signing-key-unsupported' }));
  });

  test('rejects when the key cannot sign, and hides nothing', async () => {
    const draft = encodeLeaf(createLeafTemplate(signer, key), request());
    await expect(signLeaf({ ...draft, signer: { ...signer, key: createPublicKey(ca.key) } })).rejects.toThrow();
  });
});

/** making a key of 8192 bits takes a minute; the public half of one may have any odd modulus */
function publicRsa(bits: number): KeyObject {
  const modulus = Buffer.alloc(bits / 8, 0xff).toString('base64url');
  return createPublicKey({ key: { kty: 'RSA', n: modulus, e: 'AQAB' }, format: 'jwk' });
}

function body(der: Uint8Array): DerReader {
  return new DerReader(der).enter(derTags.sequence).enter(derTags.sequence);
}

function algorithmIdentifiers(der: Uint8Array): readonly string[] {
  const certificate = new DerReader(der).enter(derTags.sequence);
  const tbs = new DerReader(certificate.next(derTags.sequence).content);
  tbs.next(contextTag(0, 'constructed'));
  tbs.next(derTags.integer);
  return [tbs.any(), certificate.any()].map(({ raw }) => Buffer.from(raw).toString('hex'));
}

function validityTags(der: Uint8Array): readonly number[] {
  const tbs = body(der);
  for (let skipped = 0; skipped < 4; skipped += 1) tbs.any();
  const validity = tbs.enter(derTags.sequence);
  return [validity.any().tag, validity.any().tag];
}

function extensionContents(der: Uint8Array): readonly (readonly [string, string])[] {
  const tbs = body(der);
  for (let skipped = 0; skipped < 7; skipped += 1) tbs.any();
  const list = tbs.enter(contextTag(3, 'constructed')).enter(derTags.sequence);
  const contents: (readonly [string, string])[] = [];
  while (!list.isAtEnd) {
    const member = list.enter(derTags.sequence);
    const id = Buffer.from(member.next(derTags.objectId).content).toString('hex');
    member.optional(derTags.boolean);
    contents.push([id, Buffer.from(member.next(derTags.octetString).content).toString('hex')]);
  }
  return contents;
}

test('a leaf is read by Node as it is by us', () => {
  const leaf = mint();
  expect(new X509Certificate(leaf.der).ca).toBe(false);
  expect(new X509Certificate(leaf.der).subjectAltName).toBe('DNS:api.example.com');
});

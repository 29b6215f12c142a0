import { createPublicKey, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { epoch, hours, plus } from '../../../src/clock.ts';
import type { Der } from '../../../src/x509/certificate-types.ts';
import { checkLeaf } from '../../../src/x509/check-leaf.ts';
import { derTags } from '../../../src/x509/der-reader.ts';
import {
  authorityKeyIdExtension,
  caBasicConstraintsExtension,
  extension,
  keyUsageExtension,
  leafBasicConstraintsExtension,
  serverAuthExtension,
  subjectKeyIdExtension,
} from '../../../src/x509/encode-extensions.ts';
import {
  contextPrimitive,
  encodeAsn1,
  objectId,
  printableString,
  sequence,
  setOf,
  utf8String,
  type Asn1Node,
} from '../../../src/x509/forge-asn1.ts';
import { createLeafKey } from '../../../src/x509/leaf-key.ts';
import { createLeafTemplate, encodeLeaf } from '../../../src/x509/leaf-template.ts';
import { createSerial } from '../../../src/x509/serial.ts';
import { signLeafSync } from '../../../src/x509/sign-leaf.ts';
import { encodeBlueprint, makeCa, makeKey, signerOf, testNow, type Blueprint } from '../../support/ca-workshop.ts';
import { leafName } from '../../support/leaf-names.ts';

const ca = makeCa({ name: 'ca' });
const other = makeCa({ name: 'ca' });
const signer = signerOf(ca);
const name = leafName('api.example.com');
const leafKey = createPublicKey(makeKey());
const serial = createSerial(randomBytes);
const serialHex = Buffer.from(serial).toString('hex');

type LeafParts = { readonly [part in 'usage' | 'purpose' | 'constraints' | 'authority' | 'names']: Asn1Node };

const goodParts: LeafParts = {
  usage: keyUsageExtension('digitalSignature'),
  purpose: serverAuthExtension(),
  constraints: leafBasicConstraintsExtension(),
  authority: authorityKeyIdExtension(ca.keyId),
  names: altName(dns('api.example.com')),
};

/** a leaf that is good but for what `blueprint` and `parts` change in it */
function leaf(blueprint: Blueprint = {}, parts: Partial<LeafParts> = {}, extra: readonly Asn1Node[] = []): Der {
  const { usage, purpose, constraints, authority, names } = { ...goodParts, ...parts };
  return encodeBlueprint({
    key: ca.key,
    publicKey: leafKey,
    issuer: ca,
    serial,
    subjectDer: serialSubject(serialHex),
    notBefore: testNow,
    notAfter: plus(testNow, hours(1)),
    extensions: () => [usage, purpose, constraints, authority, names, ...extra],
    ...blueprint,
  }) as Der;
}

test('a good leaf passes its check, made by hand or by the template', () => {
  const template = createLeafTemplate(signer, createLeafKey(testNow));
  const request = { name, serial: createSerial(randomBytes), notBefore: testNow, notAfter: plus(testNow, hours(1)) };
  expect(() => checkLeaf(leaf(), signer, name)).not.toThrow();
  expect(() => checkLeaf(signLeafSync(encodeLeaf(template, request)), signer, name)).not.toThrow();
});

test('a leaf for an address passes its check for that address and for no other', () => {
  const der = leaf({}, { names: altName(contextPrimitive(7, Uint8Array.of(10, 0, 0, 1))) });
  expect(() => checkLeaf(der, signer, leafName('10.0.0.1'))).not.toThrow();
  expect(() => checkLeaf(der, signer, leafName('10.0.0.2'))).toThrow(/names what was asked/);
  expect(() => checkLeaf(der, signer, leafName('10.0.0.1.example'))).toThrow(/names what was asked/);
});

describe('a leaf with one fault is stopped, and the fault is named', () => {
  test.each<[string, () => Der, RegExp]>([
    ['of version 1', () => leaf({ version: 1 }), /version 3/],
    ['with a serial of zero', () => leaf({ serial: Uint8Array.of(0) }), /serial is positive/],
    ['with a negative serial', () => leaf({ serial: Buffer.from('80'.repeat(16), 'hex') }), /serial is positive/],
    ['with a serial of 21 octets', () => leaf({ serial: Buffer.from('40'.repeat(21), 'hex') }), /serial is positive/],
    ['whose subject is another serial', () => leaf({ subjectDer: serialSubject('00'.repeat(16)) }), /subject repeats/],
    ['whose subject is a common name', () => leaf({ subjectDer: commonName('api.example.com') }), /subject repeats/],
    ['of another issuer', () => leaf({ issuerDer: commonName('someone') }), /issuer/],
    ['whose issuer was re-encoded', () => leaf({ issuerDer: reencoded(ca.certificate.subjectDer) }), /issuer/],
    [
      'with the key id of another CA',
      () => leaf({}, { authority: authorityKeyIdExtension(other.keyId) }),
      /authority key id/,
    ],
    ['without authority key id', () => leaf({ extensions: withoutAuthority }), /authority key id/],
    ['without basic constraints', () => leaf({ extensions: withoutConstraints }), /exactly the extensions/],
    ['that is a CA', () => leaf({}, { constraints: caBasicConstraintsExtension() }), /no CA/],
    ['that may sign certificates', () => leaf({}, { usage: keyUsageExtension('keyCertSignAndCrlSign') }), /no CA/],
    [
      'with a critical alternative name',
      () => leaf({}, { names: altName(dns('api.example.com'), 'critical') }),
      /exactly the extensions/,
    ],
    ['with a subject key id', () => leaf({}, {}, [subjectKeyIdExtension(ca.keyId)]), /exactly the extensions/],
    ['for clients', () => leaf({}, { purpose: purpose('1.3.6.1.5.5.7.3.2') }), /for servers/],
    [
      'for servers and clients',
      () => leaf({}, { purpose: purpose('1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2') }),
      /for servers/,
    ],
    ['for another host', () => leaf({}, { names: altName(dns('other.example.com')) }), /names what was asked/],
    ['in upper case', () => leaf({}, { names: altName(dns('API.example.com')) }), /names what was asked/],
    ['with a last dot', () => leaf({}, { names: altName(dns('api.example.com.')) }), /names what was asked/],
    [
      'for the same host twice',
      () => leaf({}, { names: altName(sequenceOf(dns('api.example.com'), dns('api.example.com'))) }),
      /names what was asked/,
    ],
    ['for a wildcard', () => leaf({}, { names: altName(dns('*.example.com')) }), /names what was asked/],
    ['without a name', () => leaf({}, { names: extension('2.5.29.17', 'plain', sequence()) }), /names what was asked/],
    [
      'with a mail address for a name',
      () => leaf({}, { names: altName(contextPrimitive(1, Buffer.from('api.example.com'))) }),
      /names what was asked/,
    ],
    ['that ends before it begins', () => leaf({ notAfter: epoch(testNow - 1000) }), /validity is not empty/],
    ['that outlives its CA by a second', () => leaf({ notAfter: epoch(signer.notAfter + 1000) }), /outlive/],
    ['with the key of its CA', () => leaf({ publicKey: createPublicKey(ca.key) }), /key of the CA/],
    ['with a key of another kind', () => leaf({ publicKey: createPublicKey(makeKey('P-384')) }), /P-256/],
    ['signed by another key', () => leaf({ key: other.key, issuer: { ...ca, key: other.key } }), /signature/],
  ])('%s', (_, make, what) => {
    expect(() => checkLeaf(make(), signer, name)).toThrow(what);
  });

  test('whose signature was bent', () => {
    const der = Uint8Array.from(leaf());
    der[der.length - 1]! ^= 1;
    expect(() => checkLeaf(der as Der, signer, name)).toThrow(expect.objectContaining({ code: 'leaf-check-failed' }));
  });

  test('that outlives an intermediate above its signer', () => {
    const short = { ...signer, notAfter: plus(testNow, hours(0)) };
    expect(() => checkLeaf(leaf(), short, name)).toThrow(/outlive/);
  });
});

function withoutAuthority(): readonly Asn1Node[] {
  return [goodParts.usage, goodParts.purpose, goodParts.constraints, goodParts.names];
}

function withoutConstraints(): readonly Asn1Node[] {
  return [goodParts.usage, goodParts.purpose, goodParts.authority, goodParts.names];
}

function dns(host: string): Asn1Node {
  return contextPrimitive(2, Buffer.from(host));
}

function altName(names: Asn1Node | readonly Asn1Node[], criticality: 'critical' | 'plain' = 'plain'): Asn1Node {
  return extension('2.5.29.17', criticality, sequence(...[names].flat()));
}

function sequenceOf(...names: readonly Asn1Node[]): readonly Asn1Node[] {
  return names;
}

function purpose(...ids: readonly string[]): Asn1Node {
  return extension('2.5.29.37', 'plain', sequence(...ids.map(objectId)));
}

function serialSubject(hex: string): Uint8Array {
  return encodeAsn1(sequence(setOf(sequence(objectId('2.5.4.5'), printableString(hex)))));
}

function commonName(text: string): Uint8Array {
  return encodeAsn1(sequence(setOf(sequence(objectId('2.5.4.3'), utf8String(text)))));
}

/** UTF8String becomes PrintableString: the same name to OpenSSL, another to Go */
function reencoded(subjectDer: Uint8Array): Uint8Array {
  return Uint8Array.from(subjectDer, (octet) => (octet === derTags.utf8String ? derTags.printableString : octet));
}

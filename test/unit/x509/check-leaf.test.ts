import { createPublicKey, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { epoch, hours, plus } from '../../../src/clock.ts';
import type { Der } from '../../../src/x509/certificate-types.ts';
import { checkLeaf } from '../../../src/x509/check-leaf.ts';
import {
  authorityKeyIdExtension,
  caBasicConstraintsExtension,
  keyUsageExtension,
  subjectKeyIdExtension,
} from '../../../src/x509/encode-extensions.ts';
import { contextPrimitive, type Asn1Node } from '../../../src/x509/forge-asn1.ts';
import { createLeafKey } from '../../../src/x509/leaf-key.ts';
import { createLeafTemplate, encodeLeaf } from '../../../src/x509/leaf-template.ts';
import { createSerial } from '../../../src/x509/serial.ts';
import { signLeafSync } from '../../../src/x509/sign-leaf.ts';
import { makeCa, makeKey, signerOf, testNow } from '../../support/ca-workshop.ts';
import { leafName } from '../../support/leaf-names.ts';
import {
  altName,
  bentLeaf,
  commonName,
  criticalAltName,
  dnsName,
  purposes,
  reencoded,
  serialSubject,
  type LeafBend,
} from '../../support/leaf-workshop.ts';

const ca = makeCa({ name: 'ca' });
const other = makeCa({ name: 'ca' });
const signer = signerOf(ca);
const host = 'api.example.com';
const name = leafName(host);
const leaf = (bend: LeafBend = {}): Der => bentLeaf({ ca, host }, bend);

test('a good leaf passes its check, made by hand or by the template', () => {
  const template = createLeafTemplate(signer, createLeafKey(testNow));
  const request = { name, serial: createSerial(randomBytes), notBefore: testNow, notAfter: plus(testNow, hours(1)) };
  expect(() => checkLeaf(leaf(), signer, name)).not.toThrow();
  expect(() => checkLeaf(signLeafSync(encodeLeaf(template, request)), signer, name)).not.toThrow();
});

test('a leaf for an address passes its check for that address and for no other', () => {
  const der = leaf({ parts: { names: altName(contextPrimitive(7, Uint8Array.of(10, 0, 0, 1))) } });
  expect(() => checkLeaf(der, signer, leafName('10.0.0.1'))).not.toThrow();
  expect(() => checkLeaf(der, signer, leafName('10.0.0.2'))).toThrow(/names what was asked/);
  expect(() => checkLeaf(der, signer, leafName('10.0.0.1.example'))).toThrow(/names what was asked/);
});

const names = (...list: readonly Asn1Node[]): LeafBend => ({ parts: { names: altName(...list) } });
const oneLate = epoch(signer.notAfter + 1000);

describe('a leaf with one fault is stopped, and the fault is named', () => {
  test.each<[string, LeafBend, RegExp]>([
    ['of version 1', { certificate: { version: 1 } }, /version 3/],
    ['with a serial of zero', { certificate: { serial: Uint8Array.of(0) } }, /serial is positive/],
    ['with a negative serial', { certificate: { serial: new Uint8Array(16).fill(0x80) } }, /serial is positive/],
    ['with a serial of 21 octets', { certificate: { serial: new Uint8Array(21).fill(0x40) } }, /serial is positive/],
    ['with a serial of 15 octets', { certificate: { serial: new Uint8Array(15).fill(0x40) } }, /serial is positive/],
    [
      'whose subject is another serial',
      { certificate: { subjectDer: serialSubject('00'.repeat(16)) } },
      /subject repeats/,
    ],
    ['whose subject is a common name', { certificate: { subjectDer: commonName(host) } }, /subject repeats/],
    ['of another issuer', { certificate: { issuerDer: commonName('someone') } }, /issuer/],
    ['whose issuer was re-encoded', { certificate: { issuerDer: reencoded(ca.certificate.subjectDer) } }, /issuer/],
    [
      'with the key id of another CA',
      { parts: { authority: authorityKeyIdExtension(other.keyId) } },
      /authority key id/,
    ],
    ['without authority key id', { parts: { authority: undefined } }, /authority key id/],
    ['without basic constraints', { parts: { constraints: undefined } }, /exactly the extensions/],
    ['that is a CA', { parts: { constraints: caBasicConstraintsExtension() } }, /no CA/],
    ['that may sign certificates', { parts: { usage: keyUsageExtension('keyCertSignAndCrlSign') } }, /no CA/],
    [
      'with a critical alternative name',
      { parts: { names: criticalAltName(dnsName(host)) } },
      /exactly the extensions/,
    ],
    ['with a subject key id', { more: [subjectKeyIdExtension(ca.keyId)] }, /exactly the extensions/],
    ['for clients', { parts: { purpose: purposes('1.3.6.1.5.5.7.3.2') } }, /for servers/],
    [
      'for servers and clients',
      { parts: { purpose: purposes('1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2') } },
      /for servers/,
    ],
    ['for another host', names(dnsName('other.example.com')), /names what was asked/],
    ['in upper case', names(dnsName('API.example.com')), /names what was asked/],
    ['with a last dot', names(dnsName(`${host}.`)), /names what was asked/],
    ['for the same host twice', names(dnsName(host), dnsName(host)), /names what was asked/],
    ['for a wildcard', names(dnsName('*.example.com')), /names what was asked/],
    ['without a name', names(), /names what was asked/],
    ['with a mail address for a name', names(contextPrimitive(1, Buffer.from(host))), /names what was asked/],
    ['that ends before it begins', { certificate: { notAfter: epoch(testNow - 1000) } }, /validity is not empty/],
    ['that outlives its CA by a second', { certificate: { notAfter: oneLate } }, /outlive/],
    ['with the key of its CA', { certificate: { publicKey: createPublicKey(ca.key) } }, /key of the CA/],
    ['with a key of another kind', { certificate: { publicKey: createPublicKey(makeKey('P-384')) } }, /P-256/],
    ['signed by another key', { certificate: { issuer: { ...ca, key: other.key } } }, /signature/],
  ])('%s', (_, bend, what) => {
    expect(() => checkLeaf(leaf(bend), signer, name)).toThrow(
      expect.objectContaining({ code: 'leaf-check-failed', message: expect.stringMatching(what) }),
    );
  });

  test('whose signature was bent', () => {
    const der = Uint8Array.from(leaf());
    der[der.length - 1]! ^= 1;
    expect(() => checkLeaf(der as Der, signer, name)).toThrow(expect.objectContaining({ code: 'leaf-check-failed' }));
  });

  test('that outlives an intermediate above its signer', () => {
    expect(() => checkLeaf(leaf(), { ...signer, notAfter: testNow }, name)).toThrow(/outlive/);
  });
});

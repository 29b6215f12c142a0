// One pool for each fault that there is. Every one must be refused with its own code, name its CA, and show no key byte.
import { createPublicKey, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { days, hours, minus, minutes, plus } from '../../../src/clock.ts';
import { printable } from '../../../src/errors.ts';
import { maxPoolBytes } from '../../../src/pool/pool-document.ts';
import { verifyPool } from '../../../src/pool/parse-pool.ts';
import {
  authorityKeyIdExtension,
  caBasicConstraintsExtension,
  extension,
  keyUsageExtension,
  serverAuthExtension,
} from '../../../src/x509/encode-extensions.ts';
import {
  contextConstructed,
  contextPrimitive,
  objectId,
  octetString,
  sequence,
  trueValue,
} from '../../../src/x509/forge-asn1.ts';
import { encodePem } from '../../../src/x509/pem.ts';
import { createKeyring, goodList, makeCa, makeKey, testNow } from '../../support/ca-workshop.ts';
import type { Blueprint, MadeCa } from '../../support/ca-workshop.ts';
import { base64, caFields, chainFields, pkcs8, poolBytes, testTerms } from '../../support/pool-workshop.ts';

const keyOf = createKeyring();
const ca = makeCa({ name: 'root' });
const fields = caFields('gateway', ca);
const keyDer = ca.key.export({ format: 'der', type: 'pkcs8' });
const keyPem = ca.key.export({ format: 'pem', type: 'pkcs8' }) as string;
const rootPem = encodePem('CERTIFICATE', ca.certificate.der);

const codesOf = (bytes: Uint8Array, terms = testTerms()) => verifyPool(bytes, terms).map(({ code }) => code);
const withRoot = (blueprint: Blueprint) => poolBytes([caFields('gateway', makeCa(blueprint))]);
const withFields = (over: object) => poolBytes([{ ...fields, ...over }]);
const without = (field: string) =>
  poolBytes([Object.fromEntries(Object.entries(fields).filter(([name]) => name !== field))]);

describe('a pool as a whole is refused', () => {
  test.each<[string, Uint8Array, string]>([
    ['that is empty', new Uint8Array(), 'pool-not-json'],
    ['that is cut off', poolBytes([fields]).subarray(0, -1), 'pool-not-json'],
    ['that is two documents', Buffer.concat([poolBytes([fields]), poolBytes([fields])]), 'pool-not-json'],
    ['that is PEM', Buffer.from(keyPem), 'pool-not-json'],
    ['that is not UTF-8', Buffer.from('{"CAs":[{"ID":"\xff"}]}', 'latin1'), 'pool-not-json'],
    ['that nests a hundred thousand deep', Buffer.alloc(100_000, '['), 'pool-not-json'],
    ['that is a list', Buffer.from('[]'), 'pool-not-a-pool'],
    ['that is null', Buffer.from('null'), 'pool-not-a-pool'],
    ['whose CAs are no list', Buffer.from('{"CAs":{}}'), 'pool-not-a-pool'],
    ['whose CAs are texts', Buffer.from('{"CAs":["a"]}'), 'pool-not-a-pool'],
    ['whose active CA is a number', Buffer.from('{"CAs":[],"ActiveForSigning":1}'), 'pool-not-a-pool'],
    ['without CAs', poolBytes([]), 'pool-empty'],
    ['with null for CAs, as Go writes an empty list', Buffer.from('{"CAs":null,"ActiveForSigning":""}'), 'pool-empty'],
    ['with 33 CAs', poolBytes(Array.from({ length: 33 }, (_, index) => ({ ID: `${index}` }))), 'pool-too-many-cas'],
    ['of 1 MiB and a byte', Buffer.alloc(maxPoolBytes + 1, ' '), 'pool-too-large'],
    ['whose active CA is not in it', poolBytes([fields], 'other'), 'pool-unknown-active'],
  ])('%s', (_, bytes, code) => {
    expect(codesOf(bytes)).toEqual([code]);
  });

  test('but not for having 32 CAs or 1 MiB', () => {
    const cas = Array.from({ length: 32 }, (_, index) => caFields(`${index}`, ca));
    const padded = Buffer.concat([poolBytes(cas), Buffer.alloc(maxPoolBytes, ' ')]).subarray(0, maxPoolBytes);
    expect(codesOf(padded)).toEqual([]);
  });
});

describe('the fields of a CA are refused', () => {
  test.each<[string, Uint8Array, string]>([
    ['without ID', without('ID'), 'pool-ca-field'],
    ['with a number for ID', withFields({ ID: 7 }), 'pool-ca-field'],
    ['with an ID of 254 characters', withFields({ ID: 'a'.repeat(254) }), 'pool-ca-field'],
    ['without a key', without('SigningKeyPKCS8'), 'pool-ca-field'],
    ['without a root', without('RootCertificateDER'), 'pool-ca-field'],
    ['with both forms of key', withFields({ SigningKeyPEM: keyPem }), 'pool-ca-field'],
    ['with both forms of root', withFields({ RootCertificatePEM: rootPem }), 'pool-ca-field'],
    ['with base64 of the URL kind', withFields({ RootCertificateDER: '-_-_' }), 'pool-ca-field'],
    [
      'with base64 broken by newlines',
      withFields({ RootCertificateDER: `${base64(ca.certificate.der).slice(0, 64)}\n` }),
      'pool-ca-field',
    ],
    ['with a number for a root', withFields({ RootCertificateDER: 7 }), 'pool-ca-field'],
    ['with intermediates that are no list', withFields({ IntermediateCertificatesDER: 'x' }), 'pool-ca-field'],
    ['with an intermediate that is no text', withFields({ IntermediateCertificatesDER: [7] }), 'pool-ca-field'],
    [
      'with nine intermediates',
      withFields({ IntermediateCertificatesDER: Array.from({ length: 9 }, () => 'AA==') }),
      'pool-ca-field',
    ],
    ['with a date in words', withFields({ AddedAt: 'yesterday' }), 'pool-ca-field'],
    ['with a date that does not exist', withFields({ ActivatedAt: '2026-13-01T00:00:00Z' }), 'pool-ca-field'],
    [
      'with two certificates in the root',
      withFields({ RootCertificateDER: '', RootCertificatePEM: rootPem + rootPem }),
      'pool-ca-field',
    ],
    [
      'with PEM cut off',
      withFields({ RootCertificateDER: '', RootCertificatePEM: rootPem.slice(0, -30) }),
      'pool-ca-field',
    ],
    [
      'with a public key for a root',
      withFields({ RootCertificateDER: '', RootCertificatePEM: encodePem('PUBLIC KEY', Buffer.from('x')) }),
      'pool-ca-field',
    ],
    ['with an encrypted key', withFields({ SigningKeyPKCS8: '', SigningKeyPEM: encrypted(ca.key) }), 'pool-ca-field'],
    [
      'with a root that is no certificate',
      withFields({ RootCertificateDER: 'AAAA' }),
      'pool-ca-certificate-unreadable',
    ],
    [
      'with a byte after the root',
      withFields({ RootCertificateDER: base64(Buffer.concat([ca.certificate.der, Buffer.alloc(1)])) }),
      'pool-ca-certificate-unreadable',
    ],
    [
      'with a byte after the key',
      withFields({ SigningKeyPKCS8: base64(Buffer.concat([keyDer, Buffer.alloc(1)])) }),
      'pool-ca-key-unreadable',
    ],
    [
      'with a key that is a certificate',
      withFields({ SigningKeyPKCS8: base64(ca.certificate.der) }),
      'pool-ca-key-unreadable',
    ],
    [
      'with the key as the root',
      withFields({ RootCertificateDER: base64(keyDer) }),
      'pool-ca-private-key-as-certificate',
    ],
    [
      'with the key as the root, in PEM',
      withFields({ RootCertificateDER: '', RootCertificatePEM: keyPem }),
      'pool-ca-private-key-as-certificate',
    ],
    [
      'with the key beside the root, in PEM',
      withFields({ RootCertificateDER: '', RootCertificatePEM: rootPem + keyPem }),
      'pool-ca-private-key-as-certificate',
    ],
    [
      'with the key as an intermediate',
      withFields({ IntermediateCertificatesDER: [base64(keyDer)] }),
      'pool-ca-private-key-as-certificate',
    ],
    ['with the key as its ID', withFields({ ID: base64(keyDer) }), 'pool-ca-private-key-as-id'],
    ['with a torn key as its ID', withFields({ ID: `a${base64(keyDer).slice(37)}` }), 'pool-ca-private-key-as-id'],
    ['with the key as its ID, in PEM', withFields({ ID: keyPem }), 'pool-ca-private-key-as-id'],
  ])('%s', (_, bytes, code) => {
    expect(codesOf(bytes)).toEqual([code]);
  });

  test('when the ID of the active CA stands twice: which of the two signs would be a guess', () => {
    expect(codesOf(poolBytes([fields, caFields('gateway')], 'gateway'))).toEqual([
      'pool-duplicate-id',
      'pool-duplicate-id',
    ]);
  });
});

describe('a root is refused', () => {
  const notCritical = extension('2.5.29.19', 'plain', sequence(trueValue()));
  const directory = extension(
    '2.5.29.30',
    'critical',
    sequence(contextConstructed(0, sequence(contextConstructed(4, sequence())))),
  );

  test.each<[string, Uint8Array, string]>([
    ['with the key of another', withFields({ SigningKeyPKCS8: pkcs8(makeKey()) }), 'pool-ca-key-mismatch'],
    ['of version 1', withRoot({ version: 1 }), 'pool-ca-version'],
    ['with a serial of zero', withRoot({ serial: Uint8Array.of(0) }), 'pool-ca-serial'],
    ['with a negative serial', withRoot({ serial: Uint8Array.of(0x80) }), 'pool-ca-serial'],
    ['with a serial of 21 octets', withRoot({ serial: new Uint8Array(21).fill(0x40) }), 'pool-ca-serial'],
    [
      'without CA:TRUE',
      withRoot({ extensions: (good) => [extension('2.5.29.19', 'critical', sequence()), ...goodList(good).slice(1)] }),
      'pool-ca-not-a-ca',
    ],
    ['without basic constraints', withRoot({ extensions: (good) => goodList(good).slice(1) }), 'pool-ca-not-a-ca'],
    [
      'whose basic constraints are not critical',
      withRoot({ extensions: (good) => [notCritical, ...goodList(good).slice(1)] }),
      'pool-ca-constraints-not-critical',
    ],
    [
      'without key usage',
      withRoot({ extensions: (good) => [good.basicConstraints, good.subjectKeyId] }),
      'pool-ca-no-key-usage',
    ],
    [
      'without keyCertSign',
      withRoot({
        extensions: (good) => [good.basicConstraints, keyUsageExtension('digitalSignature'), good.subjectKeyId],
      }),
      'pool-ca-no-cert-sign',
    ],
    [
      'without subject key id',
      withRoot({ extensions: (good) => [good.basicConstraints, good.keyUsage] }),
      'pool-ca-no-subject-key-id',
    ],
    [
      'with an empty subject key id',
      withRoot({
        extensions: (good) => [
          good.basicConstraints,
          good.keyUsage,
          extension('2.5.29.14', 'plain', octetString(new Uint8Array())),
        ],
      }),
      'pool-ca-no-subject-key-id',
    ],
    [
      'for mail only',
      withRoot({
        extensions: (good) => [
          ...goodList(good),
          extension('2.5.29.37', 'plain', sequence(objectId('1.3.6.1.5.5.7.3.4'))),
        ],
      }),
      'pool-ca-not-for-servers',
    ],
    [
      'with a critical extension that nobody knows',
      withRoot({
        extensions: (good) => [...goodList(good), extension('1.2.3.4', 'critical', octetString(new Uint8Array()))],
      }),
      'pool-ca-critical-extension',
    ],
    [
      'that constrains directory names',
      withRoot({ extensions: (good) => [...goodList(good), directory] }),
      'pool-ca-name-constraints',
    ],
    ['that is not self-signed', poolBytes([caFields('gateway', makeCa({ issuer: ca }))]), 'pool-ca-not-self-signed'],
    [
      'that names itself as issuer and is signed by another',
      poolBytes([caFields('gateway', forged())]),
      'pool-ca-not-self-signed',
    ],
    ['with a key on P-521', withRoot({ key: keyOf('P-521') }), 'pool-ca-key-kind'],
    ['with a key on secp256k1', withRoot({ key: keyOf('secp256k1') }), 'pool-ca-key-kind'],
    ['with a key of Ed448', withRoot({ key: keyOf('Ed448') }), 'pool-ca-key-kind'],
    ['with a key of 1024 bits', withRoot({ key: keyOf('RSA-1024') }), 'pool-ca-key-kind'],
    ['with a key of Ed25519, unless that is allowed', withRoot({ key: keyOf('Ed25519') }), 'pool-ca-ed25519'],
    ['that has expired', withRoot({ notAfter: minus(testNow, hours(1)) }), 'pool-ca-expired'],
    ['that is not valid yet', withRoot({ notBefore: plus(testNow, minutes(1)) }), 'pool-ca-not-yet-valid'],
    ['that ends within the shortest leaf', withRoot({ notAfter: plus(testNow, minutes(1)) }), 'pool-ca-ends-too-soon'],
  ])('%s', (_, bytes, code) => {
    expect(codesOf(bytes)).toEqual([code]);
    expect(verifyPool(bytes, testTerms())[0]?.fields['ca']).toBe('gateway');
  });

  test.each<[string, Uint8Array]>([
    [
      'a key usage that is not critical',
      withRoot({ extensions: (good) => [good.basicConstraints, plainKeyUsage(), good.subjectKeyId] }),
    ],
    ['a purpose of serverAuth', withRoot({ extensions: (good) => [...goodList(good), serverAuthExtension()] })],
    ['name constraints that can be checked', withRoot({ extensions: (good) => [...goodList(good), dnsConstraint()] })],
    [
      'an extension that nobody knows and that is not critical',
      withRoot({
        extensions: (good) => [...goodList(good), extension('1.2.3.4', 'plain', octetString(new Uint8Array()))],
      }),
    ],
    [
      'a path length of zero',
      withRoot({ extensions: (good) => [caBasicConstraintsExtension(0), ...goodList(good).slice(1)] }),
    ],
    ['SHA-1 in its own signature, which nobody verifies', withRoot({ digest: 'sha1' })],
  ])('but not for %s', (_, bytes) => {
    expect(codesOf(bytes)).toEqual([]);
  });

  // found by test/property/hostile-certificates.test.ts: node:crypto throws only once the key is asked for
  test('with a key that OpenSSL cannot read', () => {
    const der = Uint8Array.from(ca.certificate.der);
    const point = Buffer.from(der).indexOf(Buffer.from('03420004', 'hex'));
    der[point + 4]! ^= 0xff;
    expect(codesOf(withFields({ RootCertificateDER: base64(der) }))).toEqual([
      'pool-ca-key-kind',
      'pool-ca-not-self-signed',
      'pool-ca-key-mismatch',
    ]);
  });

  test('and Ed25519 signs where that is allowed', () => {
    expect(codesOf(withRoot({ key: keyOf('Ed25519') }), testTerms({ allowEd25519: true }))).toEqual([]);
  });

  test('and the refusal of Ed25519 says which clients refuse it and where it came from', () => {
    const [fault] = verifyPool(withRoot({ key: keyOf('Ed25519') }), testTerms());
    expect(`${fault?.message} ${fault?.remedy}`).toMatch(/NSS.*mbedTLS.*--allow-ed25519.*agent-substrate.*ECDSAP256/);
  });
});

describe('a chain is refused', () => {
  const below = (blueprint: Blueprint = {}) => makeCa({ name: 'below', issuer: ca, ...blueprint });
  const chain = (...parts: readonly MadeCa[]) => poolBytes([chainFields('gateway', ca, ...parts)]);
  const otherAuthority: Blueprint = {
    extensions: (good) => [...goodList(good).slice(0, 3), authorityKeyIdExtension(Buffer.from('another key'))],
  };
  const twoBelow = (blueprint: Blueprint): Uint8Array => {
    const middle = below(blueprint);
    return chain(middle, makeCa({ name: 'lowest', issuer: middle }));
  };
  const pathLength = (length: number): Blueprint => ({
    extensions: (good) => [caBasicConstraintsExtension(length), ...goodList(good).slice(1)],
  });

  test.each<[string, Uint8Array, readonly string[]]>([
    [
      'whose key is that of the root',
      poolBytes([{ ...chainFields('gateway', ca, below()), SigningKeyPKCS8: pkcs8(ca.key) }]),
      ['pool-ca-key-mismatch'],
    ],
    [
      'of another root',
      poolBytes([chainFields('gateway', makeCa({ name: 'other' }), below())]),
      ['pool-ca-chain-broken'],
    ],
    [
      'of a root with the same name and another key',
      poolBytes([chainFields('gateway', makeCa({ name: 'root' }), below())]),
      ['pool-ca-chain-broken'],
    ],
    [
      'without authority key id',
      chain(below({ extensions: (good) => [good.basicConstraints, good.keyUsage, good.subjectKeyId] })),
      ['pool-ca-chain-broken'],
    ],
    ['with the authority key id of another key', chain(below(otherAuthority)), ['pool-ca-chain-broken']],
    ['in the wrong order', reversed(), ['pool-ca-chain-broken', 'pool-ca-chain-broken', 'pool-ca-key-mismatch']],
    [
      'whose intermediate is no CA',
      chain(below({ extensions: (good) => goodList(good).slice(1) })),
      ['pool-ca-not-a-ca'],
    ],
    [
      'whose intermediate is for mail',
      chain(
        below({
          extensions: (good) => [
            ...goodList(good),
            extension('2.5.29.37', 'plain', sequence(objectId('1.3.6.1.5.5.7.3.4'))),
          ],
        }),
      ),
      ['pool-ca-not-for-servers'],
    ],
    [
      'whose intermediate has critical policies, which rustls refuses',
      chain(below({ extensions: (good) => [...goodList(good), extension('2.5.29.32', 'critical', sequence())] })),
      ['pool-ca-critical-extension'],
    ],
    ['whose intermediate has expired', chain(below({ notAfter: minus(testNow, days(1)) })), ['pool-ca-expired']],
    [
      'whose intermediate is not valid yet',
      chain(below({ notBefore: plus(testNow, days(1)) })),
      ['pool-ca-not-yet-valid'],
    ],
    ['that is longer than a path length allows', twoBelow(pathLength(0)), ['pool-ca-path-length']],
    ['that is signed with SHA-1', chain(below({ digest: 'sha1' })), ['pool-ca-weak-signature']],
  ])('%s', (_, bytes, codes) => {
    expect(codesOf(bytes)).toEqual(codes);
  });

  test('but not for a path length that allows just that many', () => {
    expect(codesOf(twoBelow(pathLength(1)))).toEqual([]);
    expect(codesOf(chain(below(pathLength(0))))).toEqual([]);
  });

  function reversed(): Uint8Array {
    const middle = below();
    const lowest = makeCa({ name: 'lowest', issuer: middle });
    const good = chainFields('gateway', ca, middle, lowest);
    return poolBytes([
      { ...good, IntermediateCertificatesDER: [middle, lowest].map(({ certificate }) => base64(certificate.der)) },
    ]);
  }
});

describe('no fault ever shows a byte of a key', () => {
  const secrets = [keyDer, Buffer.from(ca.key.export({ format: 'jwk' }).d!, 'base64url')];
  const hints = secrets.flatMap((bytes) => [
    base64(bytes).slice(40, 60),
    Buffer.from(bytes).toString('hex').slice(80, 100),
  ]);

  test.each<[string, Uint8Array]>([
    ['a key for a root', withFields({ RootCertificateDER: base64(keyDer) })],
    ['a key for an ID in a pool cut off', Buffer.from(`{"CAs":[{"ID":"a","SigningKeyPKCS8":"${base64(keyDer)}`)],
    ['a PEM key as the whole pool', Buffer.from(keyPem)],
    ['a key with junk after it', withFields({ SigningKeyPKCS8: `${base64(keyDer)}!` })],
    ['a PEM key with junk in it', withFields({ SigningKeyPKCS8: '', SigningKeyPEM: keyPem.replace('\n', '\n!') })],
    ['a key with a byte after it', withFields({ SigningKeyPKCS8: base64(Buffer.concat([keyDer, randomBytes(1)])) })],
  ])('%s', (_, bytes) => {
    const faults = verifyPool(bytes, testTerms());
    expect(faults.length).toBeGreaterThan(0);
    // a parser's own error quotes what it read
    for (const fault of faults) expect(fault.cause).toBeUndefined();
    const shown = faults
      .map((fault) => `${fault.stack} ${JSON.stringify(fault)} ${String(fault.cause)} ${printable(fault.remedy)}`)
      .join();
    for (const hint of hints.filter((text) => text.length > 10)) expect(shown).not.toContain(hint);
  });
});

function encrypted(key: KeyObject): string {
  return key.export({ format: 'pem', type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: 'x' }) as string;
}

/** its own name as issuer, no authority key id, and another key's signature */
function forged(): MadeCa {
  const key = makeKey();
  const subject = makeCa({ name: 'forged', key }).certificate.subjectDer;
  const made = makeCa({ key: makeKey(), publicKey: createPublicKey(key), subjectDer: subject });
  return { ...made, key };
}

function plainKeyUsage(): ReturnType<typeof extension> {
  const critical = keyUsageExtension('keyCertSignAndCrlSign');
  const members = Array.isArray(critical.value) ? critical.value : [];
  return sequence(...members.filter((_, index) => index !== 1));
}

function dnsConstraint(): ReturnType<typeof extension> {
  const base = sequence(contextPrimitive(2, Buffer.from('example.com')));
  return extension('2.5.29.30', 'critical', sequence(contextConstructed(0, base)));
}

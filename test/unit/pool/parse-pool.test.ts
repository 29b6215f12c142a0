import { createPublicKey, randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { days, hours, minus, minutes, plus } from '../../../src/clock.ts';
import type { LeafgateError } from '../../../src/errors.ts';
import { createPool } from '../../../src/pool/create-pool.ts';
import { describePool } from '../../../src/pool/inspect-pool.ts';
import { parsePool, verifyPool } from '../../../src/pool/parse-pool.ts';
import { encodePem } from '../../../src/x509/pem.ts';
import { makeCa, makeKey, testNow } from '../../support/ca-workshop.ts';
import { caFields, chainFields, pkcs8, poolBytes, testTerms } from '../../support/pool-workshop.ts';

const parse = (cas: readonly unknown[], active = '', terms = testTerms()) => parsePool(poolBytes(cas, active), terms);

describe('a pool that we create', () => {
  const bytes = createPool({ now: testNow, randomBytes });
  const pool = parsePool(bytes.reveal(), testTerms());

  test('can sign at once: one P-256 CA, active, for a year, without any fault', () => {
    expect(pool.cas).toHaveLength(1);
    expect(pool.active.anchor.keyKind).toBe('P-256');
    expect(pool.signer.notAfter).toBe(plus(testNow, days(365)));
    expect(pool.signer.chain).toEqual([]);
    expect(pool.active.addedAt).toBe(testNow);
    expect(pool.active.activatedAt).toBe(testNow);
    expect(verifyPool(bytes.reveal(), testTerms())).toEqual([]);
  });

  test('is JSON that other systems read, one ID that is active', () => {
    const document = JSON.parse(Buffer.from(bytes.reveal()).toString()) as { CAs: object[]; ActiveForSigning: string };
    expect(Object.keys(document)).toEqual(['CAs', 'ActiveForSigning']);
    expect(document.CAs[0]).toMatchObject({ ID: document.ActiveForSigning, AddedAt: '2026-11-30T12:00:00.000Z' });
  });

  test('has an ID that SDS versions of its leaves start with', () => {
    expect(pool.active.id).toBe(`ca-${pool.active.keyIdPrefix}`);
    expect(pool.active.keyIdPrefix).toMatch(/^[0-9a-f]{8}$/);
  });

  test('never shows its key when it is printed or described', () => {
    const secret = Buffer.from(pool.active.signingKey.export({ format: 'jwk' }).d!, 'base64url');
    const printed = [
      inspect(pool, { depth: 12 }),
      JSON.stringify(pool),
      JSON.stringify(describePool(pool, testNow)),
      String(bytes),
    ];
    for (const form of ['hex', 'base64', 'base64url'] as const) {
      for (const text of printed) expect(text).not.toContain(secret.toString(form).slice(2, 20));
    }
  });
});

describe('which CA signs', () => {
  const [first, second] = [makeCa(), makeCa()];

  test('is the one that is named', () => {
    expect(parse([caFields('a', first), caFields('b', second)], 'b').active.id).toBe('b');
  });

  test.each([
    ['empty', { ActiveForSigning: '' }],
    ['null', { ActiveForSigning: null }],
    ['absent', {}],
  ])('is the first one when the name is %s', (_, member) => {
    const bytes = Buffer.from(JSON.stringify({ CAs: [caFields('a', first), caFields('b', second)], ...member }));
    expect(parsePool(bytes, testTerms()).active.id).toBe('a');
  });

  test('is never guessed: an unknown name is an error', () => {
    expect(() => parse([caFields('a', first)], 'z')).toThrow(
      expect.objectContaining({ code: 'pool-unknown-active', fields: { active: 'z' } }),
    );
  });
});

describe('a chain', () => {
  const root = makeCa({ name: 'root' });
  const middle = makeCa({ name: 'middle', issuer: root });
  const issuing = makeCa({ name: 'issuing', issuer: middle, notAfter: plus(testNow, days(30)) });
  const pool = parse([chainFields('a', root, middle, issuing)]);

  test('is signed with by its lowest CA, and sent from there up, without the root', () => {
    expect(pool.signer.certificate.subject).toBe('O=test, CN=issuing');
    expect(pool.signer.chain.map(({ subject }) => subject)).toEqual(['O=test, CN=issuing', 'O=test, CN=middle']);
    expect(createPublicKey(pool.signer.key).equals(issuing.certificate.native.publicKey)).toBe(true);
    expect(pool.active.anchor.subject).toBe('O=test, CN=root');
  });

  test('ends with whatever in it ends first', () => {
    expect(pool.signer.notAfter).toBe(plus(testNow, days(30)));
    const shortRoot = makeCa({ name: 'short', notAfter: plus(testNow, days(2)) });
    const below = makeCa({ issuer: shortRoot });
    expect(parse([chainFields('a', shortRoot, below)]).signer.notAfter).toBe(plus(testNow, days(2)));
  });

  test('gives its versions the key id of what signs, not of the root', () => {
    expect(pool.active.keyIdPrefix).toBe(Buffer.from(issuing.keyId).toString('hex').slice(0, 8));
  });
});

describe('other ways to write the same', () => {
  const ca = makeCa();
  const rootPem = encodePem('CERTIFICATE', ca.certificate.der);
  const rsa = makeCa({ key: makeKey('RSA-2048') });

  test.each<[string, object]>([
    [
      'PEM for key and root',
      { SigningKeyPEM: ca.key.export({ format: 'pem', type: 'pkcs8' }), RootCertificatePEM: rootPem },
    ],
    ['a SEC 1 key', { SigningKeyPEM: ca.key.export({ format: 'pem', type: 'sec1' }), RootCertificatePEM: rootPem }],
    [
      'a PKCS#1 key',
      {
        SigningKeyPEM: rsa.key.export({ format: 'pem', type: 'pkcs1' }),
        RootCertificateDER: caFields('', rsa)['RootCertificateDER'],
      },
    ],
    [
      'null for what is not set',
      { ...caFields('x', ca), SigningKeyPEM: null, RootCertificatePEM: null, IntermediateCertificatesDER: null },
    ],
    [
      'empty text for what is not set',
      { ...caFields('x', ca), SigningKeyPEM: '', RootCertificatePEM: '', AddedAt: '' },
    ],
    ['members that nobody here knows', { ...caFields('x', ca), Comment: 'hello', Nested: { deep: [1] } }],
  ])('are read: %s', (_, fields) => {
    expect(parse([{ ...fields, ID: 'a' }]).active.id).toBe('a');
  });

  test('are read: dates with an offset and a fraction', () => {
    const { active } = parse([{ ...caFields('a', ca), AddedAt: '2026-11-30T13:00:00.5+01:00' }]);
    expect(active.addedAt).toBe(testNow + 500);
    expect(active.activatedAt).toBeUndefined();
  });

  test.each([
    ['P-384', 'P-384'],
    ['RSA-2048', 'RSA'],
    ['RSA-4096', 'RSA'],
  ] as const)('may have a %s key', (kind, keyKind) => {
    expect(parse([caFields('a', makeCa({ key: makeKey(kind) }))]).signer.certificate.keyKind).toBe(keyKind);
  });
});

describe('a fault in a CA that does not sign', () => {
  const good = makeCa();
  const bad = { ...caFields('bad'), SigningKeyPKCS8: pkcs8(makeKey()) };

  test('leaves the others alone: the bad one is left out and named', () => {
    const pool = parse([caFields('a', good), bad, caFields('c')], 'a');
    expect(pool.cas.map(({ id }) => id)).toEqual(['a', 'c']);
    expect(pool.faults).toEqual([
      expect.objectContaining({ code: 'pool-ca-key-mismatch', fields: { ca: 'bad', certificate: 'root' } }),
    ]);
  });

  test('stops the pool once that CA shall sign', () => {
    expect(() => parse([caFields('a', good), bad], 'bad')).toThrow(
      expect.objectContaining({ code: 'pool-ca-key-mismatch' }),
    );
  });

  test('may be an ID that stands twice, as long as neither signs', () => {
    const pool = parse([caFields('a', good), caFields('b'), caFields('b')], 'a');
    expect(pool.cas.map(({ id }) => id)).toEqual(['a']);
    expect(pool.faults.map(({ code }) => code)).toEqual(['pool-duplicate-id', 'pool-duplicate-id']);
  });

  test('is not that it is too young or of Ed25519: only what signs must be otherwise', () => {
    const young = makeCa({ notBefore: plus(testNow, hours(1)) });
    const ed25519 = makeCa({ key: makeKey('Ed25519') });
    const pool = parse([caFields('a', good), caFields('young', young), caFields('ed', ed25519)], 'a');
    expect(pool.cas).toHaveLength(3);
    expect(pool.faults).toEqual([]);
  });

  test('is that it has expired', () => {
    const old = makeCa({ notAfter: minus(testNow, hours(1)) });
    expect(parse([caFields('a', good), caFields('old', old)], 'a').faults.map(({ code }) => code)).toEqual([
      'pool-ca-expired',
    ]);
  });
});

describe('time', () => {
  const ending = (ms: number) => caFields('a', makeCa({ notAfter: plus(testNow, minutes(ms)) }));

  test('a CA with exactly the shortest leaf left signs, and with a second less it does not', () => {
    expect(parse([ending(2)]).active.id).toBe('a');
    expect(() => parse([ending(2)], '', testTerms({ now: plus(testNow, minutes(0.02)) }))).toThrow(
      expect.objectContaining({ code: 'pool-ca-ends-too-soon' }),
    );
  });

  test('the last second of validity counts as valid', () => {
    const terms = (now: number) => testTerms({ now: plus(testNow, minutes(now)), shortestLeafMs: minutes(0) });
    const thrown = (now: number) => verifyPool(poolBytes([ending(2)]), terms(now)).map(({ code }) => code);
    expect(thrown(2)).toEqual([]);
    expect(thrown(2 + 0.999 / 60)).toEqual(['pool-ca-ends-too-soon']);
    expect(thrown(2 + 1 / 60)).toEqual(['pool-ca-expired']);
  });
});

describe('verifying', () => {
  test('names every fault of every CA at once', () => {
    const lame = makeCa({ notAfter: minus(testNow, days(1)), extensions: () => [] });
    const bytes = poolBytes([caFields('a', lame), { ID: 'b' }, caFields('c')], 'a');
    const codes = verifyPool(bytes, testTerms()).map(({ code, fields }) => `${String(fields['ca'])} ${code}`);
    expect(codes).toEqual([
      'a pool-ca-not-a-ca',
      'a pool-ca-no-key-usage',
      'a pool-ca-no-subject-key-id',
      'a pool-ca-expired',
      'b pool-ca-field',
      'b pool-ca-field',
    ]);
  });

  test('and parsing says all that is wrong with the active CA, in one error', () => {
    const lame = makeCa({ extensions: () => [] });
    let thrown: LeafgateError | undefined;
    try {
      parse([caFields('a', lame)]);
    } catch (error) {
      thrown = error as LeafgateError;
    }
    expect(thrown?.code).toBe('several-problems');
    expect(thrown?.problems.map(({ code }) => code)).toEqual([
      'pool-ca-not-a-ca',
      'pool-ca-no-key-usage',
      'pool-ca-no-subject-key-id',
    ]);
  });
});

describe('a description', () => {
  test('tells each CA by what a person needs: which signs, its key, its anchor, its days', () => {
    const root = makeCa({ name: 'root' });
    const issuing = makeCa({
      name: 'issuing',
      issuer: root,
      key: makeKey('RSA-2048'),
      notAfter: plus(testNow, days(10)),
    });
    const pool = parse([chainFields('a', root, issuing), caFields('b'), { ID: 'bad' }], 'a');
    const description = describePool(pool, testNow);
    expect(description.cas[0]).toEqual({
      id: 'a',
      isActive: true,
      subject: 'O=test, CN=root',
      key: 'RSA 2048',
      keyIdPrefix: pool.active.keyIdPrefix,
      anchorSha256: root.certificate.native.fingerprint256.replaceAll(':', '').toLowerCase(),
      notBefore: new Date(minus(testNow, hours(1))).toISOString(),
      notAfter: new Date(plus(testNow, days(10))).toISOString(),
      daysLeft: 10,
      intermediates: 1,
    });
    expect(description.cas[1]).toMatchObject({ id: 'b', isActive: false, key: 'P-256', intermediates: 0 });
    expect(description.faults.map(({ code }) => code)).toEqual(['pool-ca-field', 'pool-ca-field']);
  });
});

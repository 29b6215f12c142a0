// One pool for each reason of CAPoolReady: what is said, and which anchors may be published. No word ever holds a key.
import { describe, expect, test } from 'vitest';
import { days, hours, minus, minutes, plus } from '../../../src/clock.ts';
import { bundleText } from '../../../src/x509/bundle-text.ts';
import { judgePool, type PoolJudgement, type PoolJudgeTerms } from '../../../src/controller/judge-pool.ts';
import type { Observed, SecretContent } from '../../../src/controller/controller-types.ts';
import { encodePem } from '../../../src/x509/pem.ts';
import { goodList, makeCa, makeKey, testNow, type Blueprint, type MadeCa } from '../../support/ca-workshop.ts';
import { findKeyTraces } from '../../support/key-traces.ts';
import { absent, foundSecret, testNamespace, unavailable } from '../../support/observed-objects.ts';
import { base64, caFields, chainFields, pkcs8, poolBytes, type PoolCaFields } from '../../support/pool-workshop.ts';

const terms: PoolJudgeTerms = {
  secret: { namespace: testNamespace, name: 'pool' },
  now: testNow,
  allowEd25519: false,
  shortestLeafMs: minutes(2),
};
const one = makeCa({ name: 'one' });
const two = makeCa({ name: 'two' });
const ed25519 = makeCa({ name: 'ed', key: makeKey('Ed25519') });

const poolOf = (cas: readonly unknown[], active = '') => foundSecret('pool', { pool: poolBytes(cas, active) });
const ofRoot = (blueprint: Blueprint) => poolOf([caFields('a', makeCa(blueprint))]);
const withFields = (over: object) => poolOf([{ ...caFields('a', one), ...over }]);
const idsOf = ({ anchors }: PoolJudgement) => anchors.map(({ id }) => id);
const sha256Of = ({ certificate }: MadeCa) => certificate.sha256;

describe('a pool is ready', () => {
  test('when its active CA can sign, and all its anchors are published', () => {
    const judged = judgePool(poolOf([caFields('a', one), caFields('b', two)], 'b'), terms);
    expect(judged.judgement).toEqual({
      status: 'True',
      reason: 'Ready',
      message: 'CA b signs, until 2027-11-30T12:00:00Z',
    });
    expect(judged.anchors.map(({ certificate }) => certificate.sha256)).toEqual([one, two].map(sha256Of));
    expect(judged).toMatchObject({ isPublishable: true, activeId: 'b' });
  });

  test('in a Secret of any type: the key is what counts', () => {
    const observed = foundSecret('pool', { pool: poolBytes([caFields('a', one)]) }, 'Opaque');
    expect(judgePool(observed, terms).judgement.reason).toBe('Ready');
  });

  test('with 32 CAs, of which those of one certificate are published once', () => {
    const cas = Array.from({ length: 32 }, (_, index) => caFields(`ca-${index}`, index < 16 ? one : two));
    expect(idsOf(judgePool(poolOf(cas), terms))).toEqual(['ca-0', 'ca-16']);
  });

  test('with a warning when the active CA ends within 30 days, and with none a second before', () => {
    const until = (notAfter: typeof testNow) => judgePool(ofRoot({ notAfter }), terms).judgement.message;
    expect(until(plus(testNow, days(30)))).toBe('CA a signs, until 2026-12-30T12:00:00Z');
    expect(until(minus(plus(testNow, days(30)), minutes(1)))).toMatch(/^CA a signs only until .*another CA take over/);
  });

  test('with an intermediate that ends soon: the warning is about the earliest end', () => {
    const below = makeCa({ issuer: one, notAfter: plus(testNow, days(3)) });
    const { judgement } = judgePool(poolOf([chainFields('a', one, below)]), terms);
    expect(judgement.message).toContain('signs only until 2026-12-03');
  });

  test('and names CAs that are of no use, whose anchors are published as well', () => {
    const old = makeCa({ name: 'old', notBefore: minus(testNow, days(9)), notAfter: minus(testNow, days(1)) });
    const judged = judgePool(poolOf([caFields('a', one), caFields('old', old)]), terms);
    expect(judged.judgement.reason).toBe('Ready');
    expect(judged.judgement.message).toContain('CA old: the root expired at 2026-11-29');
    expect(idsOf(judged)).toEqual(['a', 'old']);
  });
});

describe('an active CA that cannot sign keeps its anchors published', () => {
  test.each<[string, Observed<SecretContent>, string, RegExp]>([
    ['Ed25519', poolOf([caFields('ed', ed25519), caFields('b', two)]), 'SignerNotUsable', /spec\.sds\.allowEd25519/],
    ['a key of another', withFields({ SigningKeyPKCS8: pkcs8(two.key) }), 'SignerNotUsable', /does not belong/],
    ['a key that is none', withFields({ SigningKeyPKCS8: 'AAAA' }), 'SignerNotUsable', /SigningKeyPKCS8/],
    ['too little life', ofRoot({ notAfter: plus(testNow, minutes(1)) }), 'SignerNotUsable', /sooner than the shortest/],
    ['a start in the future', ofRoot({ notBefore: plus(testNow, hours(1)) }), 'SignerNotUsable', /not valid before/],
    ['P-521', ofRoot({ key: makeKey('P-521') }), 'SignerNotUsable', /P-521/],
    [
      'no keyUsage',
      ofRoot({ extensions: (good) => [good.basicConstraints, good.subjectKeyId] }),
      'SignerNotUsable',
      /no keyUsage/,
    ],
    ['an end in the past', ofRoot({ notAfter: minus(testNow, minutes(1)) }), 'Expired', /expired at 2026-11-30/],
  ])('%s', (_, observed, reason, message) => {
    const judged = judgePool(observed, terms);
    expect(judged.judgement).toMatchObject({ status: 'False', reason });
    expect(judged.judgement.message).toMatch(message);
    expect(judged.isPublishable).toBe(true);
    expect(judged.anchors.length).toBeGreaterThan(0);
  });

  test('and Ed25519 signs where the gateway allows it', () => {
    const judged = judgePool(poolOf([caFields('ed', ed25519)]), { ...terms, allowEd25519: true });
    expect(judged.judgement.reason).toBe('Ready');
  });
});

describe('nothing is published of a pool', () => {
  const keyDer = base64(one.key.export({ format: 'der', type: 'pkcs8' }));
  const keyPem = one.key.export({ format: 'pem', type: 'pkcs8' });
  const rootless: PoolCaFields = { ID: 'b', SigningKeyPKCS8: pkcs8(two.key) };

  test.each<[string, Observed<SecretContent>, string, RegExp]>([
    ['whose Secret is absent', absent, 'NotFound', /`leafgate pool create --secret egress\/pool`/],
    ['that cannot be read', unavailable('secrets "pool" is forbidden'), 'Unavailable', /secrets "pool" is forbidden/],
    ['whose Secret has other keys', foundSecret('pool', { 'tls.crt': 'a' }), 'Malformed', /the key pool/],
    ['that is empty', foundSecret('pool', { pool: '' }), 'Malformed', /the key pool/],
    ['that is not JSON', foundSecret('pool', { pool: '{' }), 'Malformed', /Secret egress\/pool is not JSON/],
    ['without CAs', poolOf([]), 'Malformed', /no CA/],
    ['with 33 CAs', poolOf(Array.from({ length: 33 }, () => ({}))), 'Malformed', /33 CAs/],
    ['with an active CA that it has not', poolOf([caFields('a', one)], 'b'), 'NoActiveSigner', /ActiveForSigning is b/],
    ['with a CA without root', poolOf([caFields('a', one), rootless]), 'Malformed', /CA b: RootCertificateDER/],
    ['with a CA without ID', poolOf([caFields('a', one), caFields('', two)]), 'Malformed', /CA number 2: ID/],
    ['with an ID twice', poolOf([caFields('a', one), caFields('a', two)]), 'Malformed', /more than once/],
    ['with a key for an ID', poolOf([caFields(keyDer, one)]), 'Malformed', /CA number 1: ID holds a private key/],
    ['with a key in PEM for an ID', poolOf([caFields(String(keyPem), one)]), 'Malformed', /ID holds a private key/],
    ['with a key that is to sign', poolOf([caFields('a', one)], keyDer), 'NoActiveSigner', /no ID, and no CA/],
    ['with a key for a root', withFields({ RootCertificateDER: keyDer }), 'Malformed', /holds a private key/],
    [
      'with a key in PEM for a root',
      poolOf([{ ID: 'a', SigningKeyPKCS8: pkcs8(one.key), RootCertificatePEM: keyPem }]),
      'Malformed',
      /holds a private key/,
    ],
    [
      'with a key for an intermediate',
      withFields({ IntermediateCertificatesDER: [keyDer] }),
      'Malformed',
      /private key/,
    ],
    ['with a root that is no CA', ofRoot({ extensions: (good) => goodList(good).slice(1) }), 'Malformed', /no CA cert/],
    ['with a root of version 1', ofRoot({ version: 1 }), 'Malformed', /no CA certificate/],
    ['with a negative serial', ofRoot({ serial: Uint8Array.of(0x80, 1) }), 'Malformed', /negative serial/],
    ['with a curve that Go has not', ofRoot({ key: makeKey('secp256k1') }), 'Malformed', /curve secp256k1/],
    ['with a root that another signed', ofRoot({ issuer: two }), 'Malformed', /not signed by its own key/],
  ])('%s', (_, observed, reason, message) => {
    const judged = judgePool(observed, terms);
    expect(judged.judgement).toMatchObject({ status: 'False', reason });
    expect(judged.judgement.message).toMatch(message);
    expect(judged).toMatchObject({ isPublishable: false, anchors: [] });
    expect(findKeyTraces(judged.judgement, [one.key, two.key])).toEqual([]);
  });

  test('with 32 faults, all of which one message names', () => {
    const ids = Array.from({ length: 32 }, (_, index) => `ca-${index}`);
    const cas = ids.map((id) => ({ ...caFields(id, one), RootCertificateDER: '' }));
    const { message } = judgePool(poolOf(cas), terms).judgement;
    for (const id of ids) expect(message).toContain(`CA ${id}:`);
    expect(message.length).toBeLessThanOrEqual(4097);
  });
});

test('the search for keys finds them in the pool itself, so that it would find them elsewhere', () => {
  const der = one.key.export({ format: 'der', type: 'pkcs8' });
  const shapes = [der.toString('latin1'), der.toString('hex'), { a: der.toString('base64') }];
  for (const shape of [...shapes, `a: ${one.key.export({ format: 'pem', type: 'pkcs8' }).toString()}`]) {
    expect(findKeyTraces(shape, [one.key])).not.toEqual([]);
  }
});

describe('hostile words in a pool', () => {
  test('come out printable, and a condition takes them', () => {
    const id = `\u001b[31m\ud800\u202e${'x'.repeat(200)}`;
    const { message } = judgePool(poolOf([{ ...caFields(id, one), SigningKeyPKCS8: '' }]), terms).judgement;
    expect(message).toMatch(/^CA \\u001b\[31m/);
    expect(message.isWellFormed()).toBe(true);
  });
});

describe('the text of a bundle', () => {
  test('is the same for the same set in another order, and for an anchor given twice', () => {
    const [a, b] = [one.certificate, two.certificate];
    expect(bundleText([b, a, b])).toBe(bundleText([a, b]));
  });

  test('has nothing but CERTIFICATE blocks of the anchors', () => {
    const blocks = [one, two].map(({ certificate }) => encodePem('CERTIFICATE', certificate.der));
    const text = bundleText([one.certificate, two.certificate]);
    expect([blocks.join(''), blocks.toReversed().join('')]).toContain(text);
    expect(findKeyTraces(text, [one.key, two.key])).toEqual([]);
  });
});

// Open connections under CAs that have changed.
import { describe, expect, test } from 'vitest';
import { hasEnded, isVerifiedBy } from '../../../src/channel/verify-again.ts';
import { days, epoch, hours, plus, systemClock } from '../../../src/clock.ts';
import type { Certificate } from '../../../src/x509/certificate-types.ts';
import { caBasicConstraintsExtension, extension } from '../../../src/x509/encode-extensions.ts';
import { contextConstructed, contextPrimitive, sequence } from '../../../src/x509/forge-asn1.ts';
import { objectIds } from '../../../src/x509/object-ids.ts';
import { parseCertificateBundle } from '../../../src/x509/pem.ts';
import { goodList, makeCa, type MadeCa } from '../../support/ca-workshop.ts';
import { hoursAgo, issueCredential, makeCurrentCa } from '../../support/credential-workshop.ts';

const now = systemClock.now();
const validNow = { notBefore: hoursAgo(1), notAfter: plus(epoch(Date.now()), days(30)) };
const one = makeCurrentCa('one');
const two = makeCurrentCa('two');
const between = makeCa({ name: 'between', issuer: one, ...validNow });

function leafOf(issuer: MadeCa, request: Parameters<typeof issueCredential>[1] = {}): Certificate {
  const [leaf] = parseCertificateBundle(issueCredential(issuer, request).certificatePem, 'test');
  if (leaf === undefined) throw new Error('no certificate');
  return leaf;
}

const verified = (roots: readonly MadeCa[], leaf: Certificate, sent: readonly MadeCa[] = []): boolean =>
  isVerifiedBy(
    roots.map(({ certificate }) => certificate),
    { leaf, sent: sent.map(({ certificate }) => certificate) },
    now,
  );

test('a peer stays while its CA is among them', () => {
  expect(verified([one], leafOf(one))).toBe(true);
  expect(verified([two, one], leafOf(one))).toBe(true);
});

test('a peer stays by the intermediate that it sent, whatever else it sent, in any order', () => {
  expect(verified([one], leafOf(between), [between])).toBe(true);
  expect(verified([one], leafOf(between), [two, one, between])).toBe(true);
  expect(verified([one], leafOf(between))).toBe(false);
});

test('a peer stays by an intermediate that stands in ca.crt, where it sends its leaf alone', () => {
  expect(verified([one, between], leafOf(between))).toBe(true);
  expect(verified([between], leafOf(between))).toBe(false);
  expect(verified([two, between], leafOf(between))).toBe(false);
});

test('a peer goes with its CA, also when it sends that CA itself', () => {
  expect(verified([two], leafOf(one))).toBe(false);
  expect(verified([two], leafOf(one), [one])).toBe(false);
  expect(verified([two], leafOf(between), [between, one])).toBe(false);
  expect(verified([], leafOf(one))).toBe(false);
});

test('a CA that was renewed with its key keeps its peers, one of the same name with another key does not', () => {
  const renewed = makeCa({ name: 'one', key: one.key, subjectDer: one.certificate.subjectDer, ...validNow });
  const impostor = makeCa({ name: 'one', subjectDer: one.certificate.subjectDer, ...validNow });
  expect(verified([renewed], leafOf(one))).toBe(true);
  expect(verified([impostor], leafOf(one))).toBe(false);
});

test('a certificate that is no CA issues nothing, and neither does one whose time is over', () => {
  const asked = issueCredential(one, {});
  const [notCa] = parseCertificateBundle(asked.certificatePem, 'test');
  if (notCa === undefined) throw new Error('no certificate');
  const past = makeCa({ name: 'past', notBefore: hoursAgo(9), notAfter: hoursAgo(1) });
  expect(verified([past], leafOf(past))).toBe(false);
  expect(isVerifiedBy([notCa], { leaf: notCa, sent: [] }, now)).toBe(false);
  expect(verified([one], leafOf(one, { notBefore: hoursAgo(9), notAfter: hoursAgo(1) }))).toBe(false);
  expect(verified([between], leafOf(between), [between])).toBe(false);
});

test('a path length is kept', () => {
  const short = makeCa({
    ...{ name: 'short', ...validNow },
    extensions: (good) => [caBasicConstraintsExtension(0), good.keyUsage, good.subjectKeyId],
  });
  const below = makeCa({ name: 'below', issuer: short, ...validNow });
  expect(verified([short], leafOf(short))).toBe(true);
  expect(verified([short], leafOf(below), [below])).toBe(false);
});

test('eight signatures are looked at, and who would need more comes again', () => {
  const { subjectDer } = between.certificate;
  const likeIt = Array.from({ length: 8 }, () => makeCa({ subjectDer, issuer: one, ...validNow }));
  expect(verified([one], leafOf(between), [...likeIt.slice(0, 6), between])).toBe(true);
  expect(verified([one], leafOf(between), [...likeIt.slice(0, 7), between])).toBe(false);
});

test('a chain that leads in circles ends', () => {
  const [keyA, keyB] = [makeCa({ name: 'a', ...validNow }), makeCa({ name: 'b', ...validNow })];
  const aByB = makeCa({ key: keyA.key, subjectDer: keyA.certificate.subjectDer, issuer: keyB, ...validNow });
  const bByA = makeCa({ key: keyB.key, subjectDer: keyB.certificate.subjectDer, issuer: keyA, ...validNow });
  const many = Array.from({ length: 40 }, () => [aByB, bByA]).flat();
  expect(verified([one], leafOf(keyA), many)).toBe(false);
});

describe('the end of a certificate', () => {
  const since = now;
  const later = plus(now, hours(2));
  const atOnce = { notBefore: hoursAgo(1), notAfter: plus(now, hours(1)) };
  const long = { notBefore: hoursAgo(1), notAfter: plus(now, hours(3)) };
  const longLeaf = (issuer: MadeCa): Certificate => leafOf(issuer, long);
  const ended = (roots: readonly MadeCa[], leaf: Certificate, sent: readonly MadeCa[] = []): boolean =>
    hasEnded(
      roots.map(({ certificate }) => certificate),
      { leaf, sent: sent.map(({ certificate }) => certificate), since },
      later,
    );
  const ending = makeCa({ name: 'ending', ...atOnce });
  const permittedTest = sequence(contextConstructed(0, sequence(contextPrimitive(2, Buffer.from('test')))));
  /** what `isVerifiedBy` cannot tell: a CA with name constraints */
  const constrained = makeCa({
    ...{ name: 'constrained', ...validNow },
    extensions: (good) => [...goodList(good), extension(objectIds.nameConstraints, 'critical', permittedTest)],
  });

  test('of its own counts, and of a root or of a CA between that it needs', () => {
    expect(ended([one], leafOf(one, atOnce))).toBe(true);
    expect(ended([ending], longLeaf(ending))).toBe(true);
    expect(ended([one, ending], longLeaf(ending))).toBe(true);
    const endingBetween = makeCa({ name: 'between', issuer: one, ...atOnce });
    expect(ended([one], longLeaf(endingBetween), [endingBetween])).toBe(true);
    expect(ended([one, endingBetween], longLeaf(endingBetween))).toBe(true);
    expect(ended([ending], longLeaf(makeCa({ name: 'below', issuer: ending, ...long })))).toBe(true);
  });

  test('of a root that it does not need changes nothing', () => {
    expect(ended([ending, one], longLeaf(one))).toBe(false);
    const renewed = makeCa({ key: ending.key, subjectDer: ending.certificate.subjectDer, ...long });
    expect(ended([ending, renewed], longLeaf(ending))).toBe(false);
  });

  test('of a root before the peer came ends nobody again and again whom only a handshake can judge', () => {
    const past = makeCa({ name: 'past', notBefore: hoursAgo(9), notAfter: hoursAgo(1) });
    expect(ended([past, constrained], longLeaf(constrained))).toBe(false);
    expect(ended([ending, constrained], longLeaf(constrained))).toBe(true);
  });
});

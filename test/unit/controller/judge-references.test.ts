// CA bundles in ConfigMaps, and client certificates for origins: one case for each reason.
import { createPrivateKey } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { epoch } from '../../../src/clock.ts';
import type { ConfigMapContent, Observed, SecretContent } from '../../../src/controller/controller-types.ts';
import { judgeCaBundle } from '../../../src/controller/judge-ca-bundle.ts';
import { judgeClientCertificates } from '../../../src/controller/judge-client-certificates.ts';
import { makeCa } from '../../support/ca-workshop.ts';
import { caPem, hoursAgo, issueCredential, makeCurrentCa } from '../../support/credential-workshop.ts';
import { findKeyTraces } from '../../support/key-traces.ts';
import { absent, foundConfigMap, foundSecret, testNamespace, unavailable } from '../../support/observed-objects.ts';

const now = epoch(Date.now());
const [one, two] = [makeCurrentCa('one'), makeCurrentCa('two')];
const credential = issueCredential(one, { dnsNames: ['a.test'] });
const keys = [one.key, createPrivateKey(credential.keyPem)];
const keyOf = one.key.export({ format: 'pem', type: 'pkcs8' }).toString();

describe('a CA bundle in a ConfigMap', () => {
  const configMap = { namespace: testNamespace, name: 'roots' };
  const judgeIt = (observed: Observed<ConfigMapContent>) =>
    judgeCaBundle(observed, { condition: 'OriginCABundleResolved', configMap, key: 'ca.crt', now });
  const ofText = (text: string) => foundConfigMap('roots', { 'ca.crt': text });
  const cutOff = caPem(two).slice(0, -40);

  test('is resolved to its certificates in their order, with text between them', () => {
    const judged = judgeIt(ofText(`# one\n${caPem(one)}two:\n${caPem(two)}\n\n`));
    expect(judged.judgement).toEqual({
      status: 'True',
      reason: 'Resolved',
      message: 'ConfigMap egress/roots, key ca.crt has 2 certificates',
    });
    expect(judged.certificates.map(({ sha256 }) => sha256)).toEqual(
      [one, two].map(({ certificate }) => certificate.sha256),
    );
  });

  test('may stand in binaryData', () => {
    const binaryData = { 'ca.crt': Buffer.from(caPem(one)).toString('base64') };
    const observed = { kind: 'found', value: { ...configMap, data: {}, binaryData } } as const;
    expect(judgeIt(observed).judgement.reason).toBe('Resolved');
  });

  test.each<[string, Observed<ConfigMapContent>, string, RegExp]>([
    ['that is absent', absent, 'ConfigMapNotFound', /ConfigMap egress\/roots does not exist/],
    ['that cannot be read', unavailable(), 'ConfigMapUnavailable', /shutting down; it is tried again/],
    ['without the key', foundConfigMap('roots', { b: '', a: '' }), 'KeyNotFound', /no key ca\.crt; it has a, b$/],
    ['without any key', foundConfigMap('roots', {}), 'KeyNotFound', /no key at all/],
    ['with an empty key', ofText(''), 'InvalidCABundle', /has no certificate/],
    [
      'with a private key after a certificate',
      ofText(caPem(one) + keyOf),
      'InvalidCABundle',
      /private key.*\(block 2\)/,
    ],
    ['with a private key before it', ofText(keyOf + caPem(one)), 'InvalidCABundle', /private key.*\(block 1\)/],
    ['with a certificate that is cut off', ofText(caPem(one) + cutOff), 'InvalidCABundle', /cut off.*\(block 2\)/],
    ['with a block that is no certificate', ofText(caPem(one).replace('MII', 'MIJ')), 'InvalidCABundle', /\(block 1\)/],
    [
      'with a certificate request',
      ofText(caPem(one).replaceAll('CERTIFICATE', 'CERTIFICATE REQUEST')),
      'InvalidCABundle',
      /CERTIFICATE REQUEST.*\(block 1\)/,
    ],
    ['with a leaf alone', ofText(credential.certificatePem), 'InvalidCABundle', /no CA certificate that is valid now/],
    [
      'with an expired CA alone',
      ofText(caPem(makeCa({ notAfter: hoursAgo(1), notBefore: hoursAgo(2) }))),
      'InvalidCABundle',
      /valid now/,
    ],
  ])('%s is not', (_, observed, reason, message) => {
    const judged = judgeIt(observed);
    expect(judged.judgement).toMatchObject({ status: 'False', reason });
    expect(judged.judgement.message).toMatch(message);
    expect(judged.certificates).toEqual([]);
    expect(findKeyTraces(judged.judgement, keys)).toEqual([]);
  });
});

describe('client certificates for origins', () => {
  const place = (name: string) => ({ namespace: testNamespace, name });
  const given = (name: string, observed: Observed<SecretContent>) => ({ secret: place(name), observed });
  const good = foundSecret('good', { 'tls.crt': credential.certificatePem, 'tls.key': credential.keyPem });
  const server = issueCredential(one, { purposes: ['server'] });
  const old = issueCredential(one, { notBefore: hoursAgo(9), notAfter: hoursAgo(1) });
  const dataOf = (pair: typeof server) => ({ 'tls.crt': pair.certificatePem, 'tls.key': pair.keyPem });

  test('are ready when all are', () => {
    const all = [given('good', good), given('other', good)];
    expect(judgeClientCertificates(all, now).judgement).toEqual({
      status: 'True',
      reason: 'SecretsReady',
      message: 'good: Secret egress/good, Secret egress/other',
    });
  });

  test.each<[string, Observed<SecretContent>, string, RegExp]>([
    ['is absent', absent, 'SecretNotFound', /Secret egress\/a does not exist/],
    ['cannot be read', unavailable(), 'SecretUnavailable', /just now/],
    ['is Opaque', foundSecret('a', dataOf(credential), 'Opaque'), 'SecretMalformed', /type Opaque/],
    ['is for servers only', foundSecret('a', dataOf(server)), 'SecretMalformed', /not for clientAuth/],
    ['has expired', foundSecret('a', dataOf(old)), 'SecretExpired', /expired at/],
    [
      'has another key',
      foundSecret('a', { ...dataOf(old), 'tls.crt': credential.certificatePem }),
      'SecretKeyMismatch',
      /not the key/,
    ],
  ])('are not when one of them %s', (_, observed, reason, message) => {
    const judged = judgeClientCertificates([given('good', good), given('a', observed)], now);
    expect(judged.judgement).toMatchObject({ status: 'False', reason });
    expect(judged.judgement.message).toMatch(message);
    expect(findKeyTraces(judged.judgement, keys)).toEqual([]);
    expect([...judged.good]).toEqual(['good']);
  });

  test('have the problems of all Secrets in one message', () => {
    const { judgement: judged } = judgeClientCertificates(
      [given('a', absent), given('b', unavailable('no rule')), given('good', good)],
      now,
    );
    expect(judged.reason).toBe('SecretNotFound');
    expect(judged.message).toMatch(/egress\/a does not exist; Secret egress\/b cannot be read just now: no rule/);
  });
});

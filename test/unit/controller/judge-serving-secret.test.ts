// The ten cases of sei-k8s-controller by their names, the two reasons that we add, and what hostile Secrets come to.
import { createPrivateKey } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { epoch, hours, plus } from '../../../src/clock.ts';
import type { Observed, SecretContent } from '../../../src/controller/controller-types.ts';
import { judgeServingSecret } from '../../../src/controller/judge-serving-secret.ts';
import { requiredDnsNames } from '../../../src/controller/required-dns-names.ts';
import {
  caPem,
  hoursAgo,
  issueCredential,
  makeCurrentCa,
  type TestCredential,
} from '../../support/credential-workshop.ts';
import { findKeyTraces } from '../../support/key-traces.ts';
import { absent, foundSecret, testNamespace, unavailable } from '../../support/observed-objects.ts';

const names = requiredDnsNames('gateway', testNamespace, 'cluster.local');
const [short = '', long = ''] = names;
const ca = makeCurrentCa('test');
const now = epoch(Date.now());
const good = issueCredential(ca, { dnsNames: names });
const keys = [createPrivateKey(good.keyPem)];

const secretOf = ({ certificatePem, keyPem }: TestCredential, type?: string) =>
  foundSecret('serving', { 'tls.crt': certificatePem, 'tls.key': keyPem }, type);
const withNames = (...dnsNames: readonly string[]) => secretOf(issueCredential(ca, { dnsNames }));
const judgeIt = (observed: Observed<SecretContent>) =>
  judgeServingSecret(observed, { secret: { namespace: testNamespace, name: 'serving' }, requiredDnsNames: names, now })
    .judgement;
const rubbish = `-----BEGIN CERTIFICATE-----\n${Buffer.from('no certificate').toString('base64')}\n-----END CERTIFICATE-----\n`;

test('the required names are those of the Service, with and without the domain of the cluster', () => {
  expect(names).toEqual(['gateway.egress.svc', 'gateway.egress.svc.cluster.local']);
});

describe('the cases of sei-k8s-controller', () => {
  test.each<[string, Observed<SecretContent>, string, RegExp]>([
    [
      'Ready',
      secretOf(good),
      'TLSSecretReady',
      /Secret egress\/serving is good for gateway\.egress\.svc, .*, until 20\d\d-/,
    ],
    ['NotFound', absent, 'TLSSecretNotFound', /does not exist: create it for gateway\.egress\.svc/],
    ['WrongType', secretOf(good, 'Opaque'), 'TLSSecretMalformed', /has the type Opaque/],
    ['EmptyCert', secretOf({ ...good, certificatePem: '' }), 'TLSSecretMalformed', /tls\.crt of .* is empty/],
    ['EmptyKey', secretOf({ ...good, keyPem: '' }), 'TLSSecretMalformed', /tls\.key of .* is empty/],
    ['NotPEM', secretOf({ ...good, certificatePem: 'not pem' }), 'TLSSecretMalformed', /tls\.crt of .*no certificate/],
    ['PEMButUnparseable', secretOf({ ...good, certificatePem: rubbish }), 'TLSSecretMalformed', /not a certificate/],
    ['SANsMismatch', withNames('a.test'), 'TLSSecretSANsMismatch', /missing: gateway.*, gateway.*; present: a\.test;/],
    [
      'PartialSANsMismatch',
      withNames(short),
      'TLSSecretSANsMismatch',
      /missing: gateway\.egress\.svc\.cluster\.local;/,
    ],
    ['SupersetSANsOK', withNames('a.test', long, short), 'TLSSecretReady', /good/],
  ])('%s', (_, observed, reason, message) => {
    const judged = judgeIt(observed);
    expect(judged).toMatchObject({ status: reason === 'TLSSecretReady' ? 'True' : 'False', reason });
    expect(judged.message).toMatch(message);
    expect(findKeyTraces(judged, keys)).toEqual([]);
  });
});

describe('a serving Secret is refused as well', () => {
  test.each<[string, Observed<SecretContent>, string, RegExp]>([
    [
      'that has expired',
      secretOf(issueCredential(ca, { dnsNames: names, notBefore: hoursAgo(9), notAfter: hoursAgo(1) })),
      'TLSSecretExpired',
      /expired at /,
    ],
    [
      'that is not valid yet',
      secretOf(issueCredential(ca, { dnsNames: names, notBefore: plus(now, hours(1)), notAfter: plus(now, hours(2)) })),
      'TLSSecretExpired',
      /valid from /,
    ],
    [
      'with the key of another certificate',
      secretOf({ ...good, keyPem: issueCredential(ca, {}).keyPem }),
      'TLSSecretKeyMismatch',
      /is not the key of/,
    ],
    ['with neither key', foundSecret('serving', {}), 'TLSSecretMalformed', /tls\.crt .* empty; tls\.key .* empty/],
    [
      'for clients only',
      secretOf(issueCredential(ca, { dnsNames: names, purposes: ['client'] })),
      'TLSSecretMalformed',
      /not for serverAuth/,
    ],
    [
      'with its key in tls.crt',
      secretOf({ ...good, certificatePem: good.keyPem }),
      'TLSSecretMalformed',
      /private key/,
    ],
    [
      'with the CA before the certificate',
      secretOf({ ...good, certificatePem: caPem(ca) + good.certificatePem }),
      'TLSSecretSANsMismatch',
      /present: none/,
    ],
    [
      'with a wildcard',
      withNames('*.egress.svc', '*.egress.svc.cluster.local'),
      'TLSSecretSANsMismatch',
      /present: \*/,
    ],
    ['with names in capitals', withNames(short.toUpperCase(), long), 'TLSSecretSANsMismatch', /GATEWAY/],
    ['without names', withNames(), 'TLSSecretSANsMismatch', /present: none/],
  ])('%s', (_, observed, reason, message) => {
    const judged = judgeIt(observed);
    expect(judged).toMatchObject({ status: 'False', reason });
    expect(judged.message).toMatch(message);
    expect(findKeyTraces(judged, keys)).toEqual([]);
  });

  test('that cannot be read, in words that say it is for the moment', () => {
    const judged = judgeIt(unavailable('etcdserver: request timed out'));
    expect(judged).toMatchObject({ status: 'False', reason: 'TLSSecretUnavailable' });
    expect(judged.message).toMatch(/cannot be read just now: etcdserver: request timed out; it is tried again/);
  });

  test('with all its problems in one message, the gravest first', () => {
    const expired = issueCredential(ca, { dnsNames: ['a.test'], notBefore: hoursAgo(9), notAfter: hoursAgo(1) });
    const judged = judgeIt(secretOf({ ...expired, keyPem: good.keyPem }));
    expect(judged.reason).toBe('TLSSecretSANsMismatch');
    expect(judged.message).toMatch(/missing: .*is not the key.*expired at/);
  });

  test('with a thousand names, of which a message lists twenty', () => {
    const judged = judgeIt(withNames(...Array.from({ length: 1000 }, (_, index) => `n${index}.test`)));
    expect(judged.message).toContain('n19.test, and 980 more');
  });

  test('with a name that disturbs terminals, which comes out printable', () => {
    expect(judgeIt(withNames('a\u001b[2J.test')).message).toContain('a\\u001b[2J.test');
  });
});

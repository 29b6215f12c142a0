// Who may ask for leaves, by the names of a certificate alone.
import { describe, expect, test } from 'vitest';
import { judgePeer } from '../../../src/channel/judge-peer.ts';
import type { AllowedClients } from '../../../src/settings/sds-server-settings.ts';
import type { Certificate } from '../../../src/x509/certificate-types.ts';
import { encodeAsn1, objectId, sequence, utf8String } from '../../../src/x509/forge-asn1.ts';
import { derValue } from '../../../src/x509/der-writer.ts';
import { derTags } from '../../../src/x509/der-reader.ts';
import { objectIds } from '../../../src/x509/object-ids.ts';
import { parseCertificateBundle } from '../../../src/x509/pem.ts';
import { issueCredential, makeCurrentCa, type CredentialRequest } from '../../support/credential-workshop.ts';

const ca = makeCurrentCa('clients');

function certificateOf(request: CredentialRequest): Certificate {
  const [leaf] = parseCertificateBundle(issueCredential(ca, request).certificatePem, 'test');
  if (leaf === undefined) throw new Error('no certificate');
  return leaf;
}

const listed = (...names: readonly string[]): AllowedClients => ({ kind: 'listed', names: new Set(names) });

function subjectWith(...commonNames: readonly string[]): Uint8Array {
  const sets = commonNames.map((name) =>
    derValue(derTags.set, encodeAsn1(sequence(objectId(objectIds.commonName), utf8String(name)))),
  );
  return derValue(derTags.sequence, ...sets);
}

const spiffe = 'spiffe://cluster.local/ns/egress/sa/envoy';

describe('a peer is allowed', () => {
  test.each<[string, CredentialRequest, string, string]>([
    ['by a DNS name', { dnsNames: ['other.test', 'envoy.test'] }, 'envoy.test', 'dns'],
    ['by a URI', { uris: [spiffe] }, spiffe, 'uri'],
    ['by a URI when its DNS name is not listed', { dnsNames: ['other.test'], uris: [spiffe] }, spiffe, 'uri'],
    ['by its common name when it has neither', { commonName: 'envoy.test' }, 'envoy.test', 'common-name'],
    ['by a wildcard name that is listed as it stands there', { dnsNames: ['*.envoy.test'] }, '*.envoy.test', 'dns'],
    ['when it is for any purpose', { dnsNames: ['envoy.test'], purposes: [] }, 'envoy.test', 'dns'],
  ])('%s', (_, request, name, by) => {
    expect(judgePeer(certificateOf(request), listed('absent.test', name))).toEqual({ kind: 'allowed', by, name });
  });

  test('by the DNS name where the URI would do as well', () => {
    const certificate = certificateOf({ dnsNames: ['envoy.test'], uris: [spiffe] });
    expect(judgePeer(certificate, listed(spiffe, 'envoy.test'))).toMatchObject({ by: 'dns', name: 'envoy.test' });
  });

  test('whatever its name where any client is, as long as it is for clients', () => {
    expect(judgePeer(certificateOf({ dnsNames: ['x.test'] }), { kind: 'any' })).toMatchObject({
      by: 'any',
      name: 'x.test',
    });
    expect(judgePeer(certificateOf({ subjectDer: subjectWith() }), { kind: 'any' })).toMatchObject({ kind: 'allowed' });
    expect(judgePeer(certificateOf({ dnsNames: ['x.test'], purposes: ['server'] }), { kind: 'any' })).toMatchObject({
      kind: 'refused',
      reason: 'not-for-clients',
    });
  });

  test('among ten thousand names that it does not need', () => {
    const dnsNames = Array.from({ length: 2000 }, (_, index) => `n${index}.test`);
    expect(judgePeer(certificateOf({ dnsNames }), listed('n1999.test'))).toMatchObject({ kind: 'allowed' });
  });
});

describe('a peer is not allowed', () => {
  test.each<[string, CredentialRequest, string]>([
    ['by the suffix of a name', { dnsNames: ['x.envoy.test'] }, 'envoy.test'],
    ['by a wildcard that would match', { dnsNames: ['*.test'] }, 'envoy.test'],
    ['by a name that a listed wildcard would match', { dnsNames: ['x.envoy.test'] }, '*.envoy.test'],
    ['by another case', { dnsNames: ['ENVOY.test'] }, 'envoy.test'],
    ['by a name with a NUL byte after the listed one', { dnsNames: ['envoy.test\0.evil.test'] }, 'envoy.test'],
    ['by a name that ends in a NUL byte', { dnsNames: ['envoy.test\0'] }, 'envoy.test'],
    ['by a name that writes another one behind a comma', { dnsNames: ['evil.test, DNS:envoy.test'] }, 'envoy.test'],
    ['by a URI that writes a DNS name behind a comma', { uris: ['http://evil.test/, DNS:envoy.test'] }, 'envoy.test'],
    ['by a name in quotes', { dnsNames: ['"envoy.test"'] }, 'envoy.test'],
    ['by a URI that a listed one begins', { uris: [`${spiffe}/more`] }, spiffe],
    ['by its common name when it has a DNS name', { commonName: 'envoy.test', dnsNames: ['other.test'] }, 'envoy.test'],
    ['by its common name when it has a URI', { commonName: 'envoy.test', uris: [spiffe] }, 'envoy.test'],
    ['by one of several common names', { subjectDer: subjectWith('envoy.test', 'envoy.test') }, 'envoy.test'],
    ['by a common name with a NUL byte', { subjectDer: subjectWith('envoy.test\0') }, 'envoy.test'],
    ['by nothing', { subjectDer: subjectWith() }, 'envoy.test'],
  ])('%s', (_, request, name) => {
    expect(judgePeer(certificateOf(request), listed(name))).toMatchObject({ kind: 'refused', reason: 'not-listed' });
  });

  test('with a listed name and a certificate for servers alone', () => {
    const certificate = certificateOf({ dnsNames: ['envoy.test'], purposes: ['server'] });
    expect(judgePeer(certificate, listed('envoy.test'))).toEqual({
      ...{ kind: 'refused', reason: 'not-for-clients', names: ['envoy.test'] },
    });
  });

  test('when nobody is', () => {
    expect(judgePeer(certificateOf({ dnsNames: ['envoy.test'] }), listed())).toMatchObject({ kind: 'refused' });
  });
});

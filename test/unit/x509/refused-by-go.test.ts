// What Go does not read is said before an API server says it. That the two agree, the cluster suite holds against Go itself.
import { X509Certificate } from 'node:crypto';
import { rootCertificates } from 'node:tls';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LeafgateError } from '../../../src/errors.ts';
import { readCertificate } from '../../../src/x509/read-certificate.ts';
import { refusedByGo } from '../../../src/x509/refused-by-go.ts';
import { encodeBlueprint, makeKey } from '../../support/ca-workshop.ts';
import { damageRoot } from '../../support/damaged-roots.ts';
import { oddRoots } from '../../support/odd-roots.ts';

const key = makeKey();

test('the roots of the web are read', () => {
  const refused = rootCertificates.map((pem) => refusedByGo(readCertificate(new X509Certificate(pem).raw)));
  expect(refused.length).toBeGreaterThan(100);
  expect(refused.filter((reason) => reason !== undefined)).toEqual([]);
});

test.each([
  ['nothing odd', undefined],
  ['an unknown critical extension', undefined],
  ['constraint: a DNS name', undefined],
  ['constraint: an address range', undefined],
  ['a URI without a host', undefined],
  ['a subject with an asterisk', undefined],
  ['a subject with an ampersand', undefined],
  ['a subject with an underscore', 'a subject with a character that a PrintableString does not have'],
  ['a subject with an at sign', 'a subject with a character that a PrintableString does not have'],
  ['key id critical', 'a subject key id, marked as critical'],
  ['authority information, critical', 'an authority information access, marked as critical'],
  ['an address of 3 bytes', 'subject alternative names that Go does not read'],
  ['a URI that is none', 'subject alternative names that Go does not read'],
  ['constraint: none', 'name constraints that Go does not read'],
  ['constraint: a mask with holes', 'name constraints that Go does not read'],
  ['a policy twice', 'certificate policies that Go does not read'],
  ['policy mappings that are none', 'policy mappings that Go does not read'],
  ['no other policies, as text', 'a limit of policies that Go does not read'],
  ['lists of revoked ones that are none', 'distribution points of revocation lists that Go does not read'],
])('a root with %s: %s', (oddness, expected) => {
  const der = encodeBlueprint({
    issuerDer: readCertificate(encodeBlueprint({ key })).subjectDer,
    ...oddRoots[oddness],
    key,
  });
  expect(refusedByGo(readCertificate(der))).toBe(expected);
});

test('whatever bytes a root has, there is an answer', () => {
  const ders = Object.values(oddRoots).map((blueprint) => encodeBlueprint({ ...blueprint, key }));
  const damage = fc.record({ at: fc.nat(500), byte: fc.nat(255) });
  fc.assert(
    fc.property(fc.constantFrom(...ders), fc.array(damage, { maxLength: 3 }), (der, damages) => {
      const damaged = damageRoot(der, key, damages);
      try {
        const answer = refusedByGo(readCertificate(damaged));
        expect(['string', 'undefined']).toContain(typeof answer);
      } catch (thrown) {
        expect(thrown instanceof LeafgateError && thrown.code).toBe('certificate-unreadable');
      }
    }),
    { numRuns: 500 },
  );
});

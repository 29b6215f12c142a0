// B26 of the bundle cases: the gateway's own CA is never among the roots that origins are verified with, in whichever
// certificate somebody has put it there. The roots of a laptop, of a pod and of `--origin-ca` all go through here.
import { expect, test } from 'vitest';
import { checkOriginCas } from '../../../src/cli/envoy-files.ts';
import { days, plus } from '../../../src/clock.ts';
import { createCommonRoots } from '../../../src/controller/common-roots.ts';
import { originRoots } from '../../../src/pool/origin-roots.ts';
import type { Pool } from '../../../src/pool/pool-types.ts';
import { encodeCertificatesPem } from '../../../src/x509/pem.ts';
import { makeCa, makeKey, testNow } from '../../support/ca-workshop.ts';

const key = makeKey();
const own = makeCa({ name: 'own', key });
const before = makeCa({ name: 'before' });
const [foreign, namesake] = [makeCa({ name: 'foreign' }), makeCa({ name: 'own' })].map(
  ({ certificate }) => certificate,
);
if (foreign === undefined || namesake === undefined) throw new Error('too few certificates');

/** the pool is asked for its certificates only */
const pool = { cas: [{ anchor: own.certificate, intermediates: [] }] } as unknown as Pool;

test.each([
  ['as it is', own.certificate],
  ['renewed with the same key', makeCa({ name: 'own', key, notAfter: plus(testNow, days(1)) }).certificate],
  ['under another name', makeCa({ name: 'innocent', key }).certificate],
  ['cross-certified by another CA', makeCa({ name: 'own', key, issuer: before }).certificate],
])('the gateway’s own CA, %s, verifies no origin', (_, planted) => {
  const roots = [foreign, planted, namesake];
  expect(originRoots(roots, [own.certificate])).toEqual([foreign, namesake]);
  const expected = encodeCertificatesPem([foreign, namesake]);
  expect(createCommonRoots(roots).pemWith([], [own.certificate])).toBe(expected);
  expect(createCommonRoots([foreign, namesake]).pemWith([planted], [own.certificate])).toBe(expected);
  expect(() => checkOriginCas([foreign, planted], 'roots.pem', pool)).toThrow('roots.pem');
  expect(() => checkOriginCas([foreign, namesake], 'roots.pem', pool)).not.toThrow();
});

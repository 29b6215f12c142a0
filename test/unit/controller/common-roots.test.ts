import { expect, test } from 'vitest';
import { createCommonRoots } from '../../../src/controller/common-roots.ts';
import { originRoots } from '../../../src/pool/origin-roots.ts';
import type { Certificate } from '../../../src/x509/certificate-types.ts';
import { encodeCertificatesPem } from '../../../src/x509/pem.ts';
import { makeCa } from '../../support/ca-workshop.ts';

const [one, two, three, four] = Array.from({ length: 4 }, () => makeCa().certificate) as [
  Certificate,
  Certificate,
  Certificate,
  Certificate,
];
const common = createCommonRoots([one, two, one]);

test.each<[string, { more: readonly Certificate[]; own: readonly Certificate[] }]>([
  ['nothing else', { more: [], own: [] }],
  ['a CA of the gateway that is none of them', { more: [], own: [four] }],
  ['a CA of the gateway that somebody has put among them', { more: [], own: [one] }],
  ['roots of the gateway’s choice', { more: [three, three], own: [] }],
  ['one that is common already', { more: [two, three], own: [] }],
  ['one that is the gateway’s own CA', { more: [four, three], own: [four, two] }],
])('the text beside %s is that of all roots but the gateway’s own, each once', (_name, { more, own }) => {
  expect(common.pemWith(more, own)).toBe(encodeCertificatesPem(originRoots([one, two, ...more], own)));
});

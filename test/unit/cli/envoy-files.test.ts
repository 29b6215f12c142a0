import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readOriginCas } from '../../../src/cli/envoy-files.ts';
import { encodeCertificatesPem } from '../../../src/x509/pem.ts';
import { makeCa } from '../../support/ca-workshop.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';

describe('--origin-ca', () => {
  let temp: TempFolder;
  beforeEach(() => (temp = createTempFolder()));
  afterEach(() => temp.remove());
  const [one, other] = [makeCa().certificate, makeCa().certificate];

  test('takes files as distributions write them, with text between the certificates', () => {
    writeFileSync(
      temp.file('ca.pem'),
      `Corp\n${encodeCertificatesPem([one])}\nOther\n${encodeCertificatesPem([other])}`,
    );
    expect(readOriginCas([temp.file('ca.pem')]).map(({ sha256 }) => sha256)).toEqual([one.sha256, other.sha256]);
  });

  test.each([
    ['is not there', 'none', 'no such file or folder'],
    ['is a folder', '.', 'it is a folder'],
  ])('tells in words that a file %s', (_, name, reason) => {
    const file = temp.file(name);
    expect(() => readOriginCas([file])).toThrow(
      expect.objectContaining({ code: 'origin-ca-unreadable', fields: { file, detail: reason } }),
    );
  });

  test('names file and line of a key', () => {
    writeFileSync(temp.file('ca.pem'), 'Corp\n-----BEGIN PRIVATE KEY-----\nMIGH\n-----END PRIVATE KEY-----\n');
    expect(() => readOriginCas([temp.file('ca.pem')])).toThrow(
      `--origin-ca ${temp.file('ca.pem')}, line 2: a private key`,
    );
  });
});

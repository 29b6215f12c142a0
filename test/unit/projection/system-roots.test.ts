import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseRoots, readSystemRoots } from '../../../src/projection/system-roots.ts';
import { encodeCertificatesPem } from '../../../src/x509/pem.ts';
import { makeCa } from '../../support/ca-workshop.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';

const [one, other] = [makeCa().certificate, makeCa().certificate];
const pem = (...certificates: (typeof one)[]): string => encodeCertificatesPem(certificates);
const names = (certificates: readonly { readonly sha256: string }[]): readonly string[] =>
  certificates.map(({ sha256 }) => sha256);

describe('parseRoots', () => {
  test.each<[string, string, readonly string[], number]>([
    ['a plain bundle', pem(one, other), names([one, other]), 0],
    ['comments and text between blocks', `# Corp\n${pem(one)}\nCorp root 2\n${pem(other)}`, names([one, other]), 0],
    ['Windows line ends', pem(one).replaceAll('\n', '\r\n'), names([one]), 0],
    ['the older label', pem(one).replaceAll('CERTIFICATE', 'X509 CERTIFICATE'), names([one]), 0],
    ['a broken block among good ones', pem(one) + pem(other).replace(/MI/, '!!') + pem(other), names([one, other]), 1],
    ['a block cut off at the end', pem(one) + pem(other).slice(0, 200), names([one]), 0],
    ["OpenSSL's trusted form, which says more than a root", pem(one).replaceAll('CERT', 'TRUSTED CERT'), [], 1],
    ['a certificate twice', pem(one, one), names([one]), 0],
    ['a key', '-----BEGIN PRIVATE KEY-----\nMIGH\n-----END PRIVATE KEY-----\n', [], 0],
    ['nothing', '', [], 0],
  ])('reads %s', (_, text, expected, skipped) => {
    const roots = parseRoots(text);
    expect(names(roots.certificates)).toEqual(expected);
    expect(roots.skipped).toBe(skipped);
  });
});

describe('readSystemRoots', () => {
  let folder: TempFolder;
  beforeEach(() => (folder = createTempFolder()));
  afterEach(() => folder.remove());
  const file = (name: string, text: string): string => {
    writeFileSync(folder.file(name), text);
    return folder.file(name);
  };

  test('takes the first file that holds a certificate', async () => {
    const files = [folder.file('none'), file('empty', '# nothing\n'), file('b', pem(one)), file('c', pem(other))];
    const roots = await readSystemRoots(files);
    expect(roots.path).toBe(folder.file('b'));
    expect(names(roots.certificates)).toEqual(names([one]));
  });

  test("takes Node's own roots on a machine without a file", async () => {
    const roots = await readSystemRoots([]);
    expect(roots.path).toBeUndefined();
    expect(roots.certificates.length).toBeGreaterThan(50);
  });
});

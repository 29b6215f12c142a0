import { chmodSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { bundleText } from '../../../src/x509/bundle-text.ts';
import { trustFilePaths, writeTrustFiles } from '../../../src/projection/trust-files.ts';
import { parseCertificateBundle } from '../../../src/x509/pem.ts';
import { encodePkcs12TrustStore } from '../../../src/x509/pkcs12-trust-store.ts';
import { makeCa } from '../../support/ca-workshop.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';

const [anchor, oldAnchor, root, otherRoot] = [makeCa(), makeCa(), makeCa(), makeCa()].map((ca) => ca.certificate);
if (anchor === undefined || oldAnchor === undefined || root === undefined || otherRoot === undefined) throw new Error();

describe('the trust files', () => {
  let folder: TempFolder;
  let dir: string;
  beforeEach(() => {
    folder = createTempFolder();
    dir = folder.file('trust');
  });
  afterEach(() => folder.remove());

  const hashesIn = (path: string): readonly string[] =>
    parseCertificateBundle(readFileSync(path), path).map(({ sha256 }) => sha256);
  const sorted = (...certificates: { readonly sha256: string }[]): readonly string[] =>
    certificates.map(({ sha256 }) => sha256).sort();

  test('are the anchors alone, and the anchors with the system roots', async () => {
    const files = await writeTrustFiles({ dir, anchors: [anchor, oldAnchor], systemRoots: [root, otherRoot] });
    expect(hashesIn(files.caFile)).toEqual(sorted(anchor, oldAnchor));
    expect(hashesIn(files.mergedFile)).toEqual(sorted(anchor, oldAnchor, root, otherRoot));
    expect(readdirSync(dir).sort()).toEqual([
      'apt.conf',
      'ca-and-system.p12',
      'ca-and-system.pem',
      'ca.pem',
      'php',
      'wgetrc',
    ]);
  });

  test('hold nothing but certificate blocks: Java and strict readers refuse comments', async () => {
    const { mergedFile } = await writeTrustFiles({ dir, anchors: [anchor], systemRoots: [root] });
    const outside = readFileSync(mergedFile, 'utf8').replace(
      /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----\n/g,
      '',
    );
    expect(outside).toBe('');
  });

  test('are the same bytes whatever the order and however often a certificate is given', () => {
    expect(bundleText([anchor, root, oldAnchor])).toBe(bundleText([root, oldAnchor, root, anchor, anchor]));
  });

  test('that would not change are not touched', async () => {
    const files = await writeTrustFiles({ dir, anchors: [anchor], systemRoots: [root] });
    utimesSync(files.caFile, 1, 1);
    utimesSync(files.mergedFile, 1, 1);
    await writeTrustFiles({ dir, anchors: [anchor], systemRoots: [root, otherRoot] });
    expect(statSync(files.caFile).mtimeMs).toBe(1000);
    expect(statSync(files.mergedFile).mtimeMs).toBeGreaterThan(1000);
  });

  test('are replaced, never written into: who has one open goes on reading a whole one', async () => {
    const files = await writeTrustFiles({ dir, anchors: [anchor], systemRoots: [root] });
    const before = statSync(files.caFile).ino;
    await writeTrustFiles({ dir, anchors: [oldAnchor], systemRoots: [root] });
    expect(statSync(files.caFile).ino).not.toBe(before);
  });

  test('that cannot be written are one error, and the old ones stay', async () => {
    const files = await writeTrustFiles({ dir, anchors: [anchor], systemRoots: [root] });
    const kept = readFileSync(files.mergedFile, 'utf8');
    // a folder where the file should go
    rmSync(files.caFile);
    mkdirSync(files.caFile);
    await expect(writeTrustFiles({ dir, anchors: [oldAnchor], systemRoots: [] })).rejects.toMatchObject({
      code: 'trust-files-not-written',
      message: expect.stringContaining('it is a folder') as unknown,
    });
    expect(readFileSync(files.mergedFile, 'utf8')).toBe(kept);
    expect(readdirSync(dir).sort()).toEqual([
      'apt.conf',
      'ca-and-system.p12',
      'ca-and-system.pem',
      'ca.pem',
      'php',
      'wgetrc',
    ]);
  });

  test('are whole when two writers are at them at once', async () => {
    const one = { dir, anchors: [anchor], systemRoots: [] };
    const other = { dir, anchors: [oldAnchor], systemRoots: [root] };
    for (let round = 0; round < 20; round += 1) {
      await Promise.all([writeTrustFiles(one), writeTrustFiles(other)]);
      const { caFile } = trustFilePaths(dir);
      expect([bundleText([anchor]), bundleText([oldAnchor])]).toContain(readFileSync(caFile, 'utf8'));
    }
  });

  test('are also a trust store for Java, of anchors and system roots', async () => {
    const { p12File } = await writeTrustFiles({ dir, anchors: [anchor], systemRoots: [root] });
    const expected = encodePkcs12TrustStore([anchor.der, root.der]);
    expect(Buffer.compare(readFileSync(p12File), expected)).toBe(0);
  });

  test('tell wget, apt and PHP where the merged bundle is', async () => {
    const { mergedFile, ...files } = await writeTrustFiles({ dir, anchors: [anchor], systemRoots: [root] });
    for (const path of [files.wgetrcFile, files.aptConfFile, `${files.phpFolder}/php.ini`]) {
      expect(readFileSync(path, 'utf8')).toContain(mergedFile);
    }
  });

  test.runIf(process.getuid?.() === 0)('let apt fetch as root where nobody else can come to them', async () => {
    const { aptConfFile } = await writeTrustFiles({ dir, anchors: [anchor], systemRoots: [root] });
    // temporary folders of tests are for their user alone
    expect(readFileSync(aptConfFile, 'utf8')).toContain('APT::Sandbox::User "root"');
    chmodSync(folder.path, 0o755);
    await writeTrustFiles({ dir, anchors: [anchor], systemRoots: [root] });
    expect(readFileSync(aptConfFile, 'utf8')).not.toContain('Sandbox');
  });

  test('need a folder, which is made', async () => {
    writeFileSync(folder.file('in-the-way'), '');
    await expect(
      writeTrustFiles({ dir: folder.file('in-the-way/trust'), anchors: [anchor], systemRoots: [] }),
    ).rejects.toMatchObject({ code: 'trust-files-not-written' });
    await writeTrustFiles({ dir: folder.file('a/b/c'), anchors: [anchor], systemRoots: [] });
  });
});

// System roots are those of this machine, or of a root file system that an actor fills, where it keeps them; they are
// followed, and whatever stands there costs little.
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import type { Backing } from '../../../src/projection/backing.ts';
import { followSystemRoots } from '../../../src/projection/follow-system-roots.ts';
import { parseRoots, readSystemRoots } from '../../../src/projection/system-roots.ts';
import { encodeCertificatesPem } from '../../../src/x509/pem.ts';
import { makeCa } from '../../support/ca-workshop.ts';
import { createListeningLog } from '../../support/kube-world.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';
import { waitFor } from '../../support/wait-for.ts';

const [a, b] = [makeCa().certificate, makeCa().certificate];
const odd = makeCa({ version: 1 }).certificate;
const pem = encodeCertificatesPem;

let folder: TempFolder;
let backing: Backing | undefined;
let log: ReturnType<typeof createListeningLog>;
beforeEach(() => {
  folder = createTempFolder();
  log = createListeningLog();
});
afterEach(async () => {
  await backing?.close();
  folder.remove();
});

function put(path: string, text: string): void {
  mkdirSync(dirname(join(folder.path, path)), { recursive: true });
  writeFileSync(join(folder.path, path), text);
}

function follow(root?: string): void {
  backing = followSystemRoots({ root, clock: systemClock, log, changed: () => undefined });
}

function digests(): readonly string[] {
  const state = backing?.state();
  return state?.kind === 'certificates' ? state.certificates.map(({ sha256 }) => sha256).toSorted() : [];
}

const are = (...roots: readonly { readonly sha256: string }[]): Promise<unknown> => {
  const expected = roots.map(({ sha256 }) => sha256).toSorted();
  return waitFor(`${roots.length} roots`, () => digests().join() === expected.join());
};

describe.skipIf(process.platform !== 'linux')('the roots of a root file system', () => {
  test.each([
    ['Debian', '/etc/ssl/certs/ca-certificates.crt'],
    ['Fedora', '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem'],
    ['older RHEL', '/etc/pki/tls/certs/ca-bundle.crt'],
    ['openSUSE', '/etc/ssl/ca-bundle.pem'],
    ['Alpine', '/etc/ssl/cert.pem'],
  ])('are found where %s keeps them', async (_, path) => {
    put(path, `# roots\n${pem([a])}${pem([odd])}`);
    follow(folder.path);
    await are(a, odd);
    expect(log.lines).toEqual([]);
  });

  it('are found through links that are absolute in the tree', async () => {
    put('/etc/pki/all.pem', pem([a]));
    mkdirSync(folder.file('etc/ssl'));
    symlinkSync('/etc/pki/all.pem', folder.file('etc/ssl/cert.pem'));
    follow(folder.path);
    await are(a);
  });

  it('are taken from a folder of them where there is no file of all', async () => {
    put('/etc/ssl/certs/a.pem', pem([a]));
    put('/etc/ssl/certs/b.crt', pem([b]));
    put('/etc/ssl/certs/README', 'nothing');
    symlinkSync('a.pem', folder.file('etc/ssl/certs/3513523f.0'));
    symlinkSync('/etc/ssl/certs', folder.file('etc/ssl/certs/loop'));
    follow(folder.path);
    await are(a, b);
  });

  it('are followed when a package replaces them', async () => {
    put('/etc/ssl/cert.pem', pem([a]));
    follow(folder.path);
    await are(a);
    put('/etc/ssl/draft', pem([a, b]));
    renameSync(folder.file('etc/ssl/draft'), folder.file('etc/ssl/cert.pem'));
    await are(a, b);
  });

  it("are leafgate's own where there is none, which the log says", async () => {
    put('/etc/ssl/cert.pem', 'no roots here\n');
    follow(folder.path);
    await waitFor('the roots', () => digests().length > 50);
    expect(log.lines).toMatchObject([{ level: 'warn', fields: { path: folder.path } }]);
  });
});

it("the machine's own roots are followed where no other root is given", async () => {
  const { certificates } = await readSystemRoots();
  follow();
  await are(...certificates);
});

test.each([
  ['BEGIN lines without an end', '-----BEGIN CERTIFICATE-----\n'.repeat(150_000)],
  ['empty blocks', '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n'.repeat(75_000)],
  [
    'one block of everything',
    `-----BEGIN CERTIFICATE-----\n${'-----BEGIN X509 CERTIFICATE-----\n'.repeat(120_000)}-----END CERTIFICATE-----`,
  ],
])('four mebibytes of %s are read to no root', (_, text) => {
  const { certificates, skipped } = parseRoots(text);
  expect(certificates).toEqual([]);
  expect(skipped).toBeLessThanOrEqual(4000);
});

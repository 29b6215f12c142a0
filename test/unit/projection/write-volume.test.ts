import {
  chmodSync,
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  openVolumeWriter,
  type VolumeWriter,
  type VolumeWriterOptions,
  type WantedFile,
} from '../../../src/projection/write-volume.ts';
import { encodeCertificatesPem, readPemBlocks } from '../../../src/x509/pem.ts';
import { encodePkcs12TrustStore } from '../../../src/x509/pkcs12-trust-store.ts';
import { makeCa } from '../../support/ca-workshop.ts';
import type { Pem } from '../../../src/x509/certificate-types.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';
import { bundleOf, draftName, everythingIn } from '../../support/volume-samples.ts';

let folder: TempFolder;
let dir: string;
beforeEach(() => {
  folder = createTempFolder();
  dir = folder.file('volume');
});
afterEach(() => folder.remove());

const writer = (options: Partial<VolumeWriterOptions> = {}): VolumeWriter => openVolumeWriter({ dir, ...options });
const file = (path: string, content = 1): WantedFile => ({ path, pemBundle: bundleOf(content), form: 'PEM' });
const modeOf = (path: string): number => statSync(join(dir, path)).mode & 0o7777;
const kinds = async (write: ReturnType<VolumeWriter['write']>): Promise<readonly string[]> =>
  (await write).map(({ kind }) => kind);

describe('a volume is written', () => {
  test('with the folders that it needs, for all to read and for nobody else to write', async () => {
    expect(await kinds(writer().write([file('certs/mitm/ca.pem'), file('ca.pem', 2)]))).toEqual(['written', 'written']);
    expect(everythingIn(dir)).toEqual(['.leafgate-volume', 'ca.pem', 'certs/', 'certs/mitm/', 'certs/mitm/ca.pem']);
    expect(readFileSync(join(dir, 'certs/mitm/ca.pem'), 'utf8')).toBe(bundleOf(1));
    expect(readFileSync(join(dir, 'ca.pem'), 'utf8')).toBe(bundleOf(2));
    expect(['.', 'certs', 'certs/mitm', 'ca.pem', 'certs/mitm/ca.pem'].map(modeOf)).toEqual([
      0o755, 0o755, 0o755, 0o644, 0o644,
    ]);
  });

  test('with the modes that are asked for, whatever the umask', async () => {
    const umask = process.umask(0o077);
    try {
      await writer({ fileMode: 0o664, folderMode: 0o775 }).write([file('certs/ca.pem')]);
    } finally {
      process.umask(umask);
    }
    expect(['.', 'certs', 'certs/ca.pem'].map(modeOf)).toEqual([0o775, 0o775, 0o664]);
  });

  test('once: a file that has the right bytes is left alone, also by the next process', async () => {
    await writer().write([file('ca.pem')]);
    utimesSync(join(dir, 'ca.pem'), 1, 1);
    expect(await kinds(writer().write([file('ca.pem')]))).toEqual(['unchanged']);
    expect(statSync(join(dir, 'ca.pem')).mtimeMs).toBe(1000);
  });

  test('anew where a file has the right bytes and the wrong mode, or a second name elsewhere', async () => {
    await writer().write([file('ca.pem')]);
    chmodSync(join(dir, 'ca.pem'), 0o666);
    expect(await kinds(writer().write([file('ca.pem')]))).toEqual(['written']);
    expect(modeOf('ca.pem')).toBe(0o644);
    linkSync(join(dir, 'ca.pem'), folder.file('second-name'));
    expect(await kinds(writer().write([file('ca.pem')]))).toEqual(['written']);
    expect(statSync(join(dir, 'ca.pem')).nlink).toBe(1);
  });

  test('by replacing: who has the old file open goes on reading it, and a second name keeps the old content', async () => {
    await writer().write([file('ca.pem')]);
    linkSync(join(dir, 'ca.pem'), folder.file('second-name'));
    const held = openSync(join(dir, 'ca.pem'), 'r');
    await writer().write([file('ca.pem', 2)]);
    expect(readFileSync(held, 'utf8')).toBe(bundleOf(1));
    closeSync(held);
    expect(readFileSync(folder.file('second-name'), 'utf8')).toBe(bundleOf(1));
    expect(readFileSync(join(dir, 'ca.pem'), 'utf8')).toBe(bundleOf(2));
  });

  test('whatever the size, and whatever the present file is like', async () => {
    const huge = bundleOf(1, 20 * 1024 * 1024);
    await writer().write([{ ...file('ca.pem'), pemBundle: huge }]);
    expect(readFileSync(join(dir, 'ca.pem'), 'utf8')).toBe(huge);
    for (const present of ['', huge, bundleOf(2)]) {
      writeFileSync(join(dir, 'ca.pem'), present);
      expect(await kinds(writer().write([file('ca.pem')]))).toEqual(['written']);
      expect(readFileSync(join(dir, 'ca.pem'), 'utf8')).toBe(bundleOf(1));
    }
  });

  test('into a folder of somebody else, which keeps its mode and everything that is in it', async () => {
    mkdirSync(join(dir, 'certs'), { recursive: true });
    chmodSync(dir, 0o777);
    chmodSync(join(dir, 'certs'), 0o700);
    writeFileSync(join(dir, 'certs', 'theirs.pem'), 'theirs');
    await writer().write([file('certs/ca.pem')]);
    expect([modeOf('.'), modeOf('certs')]).toEqual([0o777, 0o700]);
    await writer().remove();
    expect(everythingIn(dir)).toEqual(['certs/', 'certs/theirs.pem']);
  });

  test('never with an empty file, nor where the path is none below the folder', async () => {
    const paths = ['/etc/ca.pem', '../ca.pem', 'a/../../ca.pem', 'a//b', './a', 'a/.', '', 'a\0b', 'x'.repeat(256)];
    const odd = [Array(17).fill('a').join('/'), '.leafgate-volume', '.leafgate-volume/a', `a/${draftName}`];
    for (const path of [...paths, ...odd]) {
      expect(await writer().write([file(path)]), path).toMatchObject([{ error: { code: 'volume-path-refused' } }]);
    }
    for (const text of ['', '\n', '  ']) {
      const empty = { ...file('ca.pem'), pemBundle: text as Pem };
      expect(await writer().write([empty])).toMatchObject([{ error: { code: 'volume-file-empty' } }]);
    }
    expect(existsSync(dir)).toBe(false);
    expect(await kinds(writer().write([file('../ca.pem'), file('ca.pem')]))).toEqual(['failed', 'written']);
  });

  test('in the order of the calls, also when they come at once', async () => {
    const one = writer();
    await Promise.all(Array.from({ length: 30 }, (_, index) => one.write([file('certs/ca.pem', index)])));
    expect(readFileSync(join(dir, 'certs/ca.pem'), 'utf8')).toBe(bundleOf(29));
  });

  test('by two writers at once without harm: always one of the two whole files, and nothing beside them', async () => {
    for (let round = 0; round < 30; round += 1) {
      const [one, other] = [writer(), writer()];
      const outcomes = await Promise.all([
        one.write([file('a/b/ca.pem', 1)]),
        other.sweep(),
        other.write([file('a/b/ca.pem', 2)]),
        one.sweep(),
      ]);
      expect([...outcomes[0], ...outcomes[2]]).not.toContainEqual(expect.objectContaining({ kind: 'failed' }));
      expect([bundleOf(1), bundleOf(2)]).toContain(readFileSync(join(dir, 'a/b/ca.pem'), 'utf8'));
      expect(everythingIn(dir)).toEqual(['.leafgate-volume', 'a/', 'a/b/', 'a/b/ca.pem']);
      if (round % 2 === 0) rmSync(dir, { recursive: true });
    }
  });

  test('with no descriptor left open, also after a failure', async () => {
    const open = (): number => readdirSync('/proc/self/fd').length;
    await writer().write([file('a/b/ca.pem')]);
    const before = open();
    mkdirSync(join(dir, 'folder'));
    await writer().write([file('a/b/ca.pem', 2), file('folder'), file('a/b/ca.pem/x')]);
    await writer().removeOthers([]);
    await writer().remove();
    expect(open()).toBe(before);
  });
});

describe('what is no longer asked for', () => {
  test('is removed with the folders that were made for it, by whichever process comes next, and nothing else is', async () => {
    await writer().write([file('ca.pem'), file('a/b/one.pem'), file('a/two.pem'), file('c/three.pem')]);
    writeFileSync(join(dir, 'c/theirs.pem'), 'theirs');
    expect([...(await writer().removeOthers(['ca.pem', 'a/two.pem']))].sort()).toEqual(['a/b/one.pem', 'c/three.pem']);
    expect(everythingIn(dir)).toEqual(['.leafgate-volume', 'a/', 'a/two.pem', 'c/', 'c/theirs.pem', 'ca.pem']);
    expect(await writer().removeOthers(['ca.pem', 'a/two.pem'])).toEqual([]);
  });

  test('makes way for what takes its place: a folder for a file and a file for a folder', async () => {
    await writer().write([file('certs')]);
    expect(await kinds(writer().write([file('certs/ca.pem')]))).toEqual(['written']);
    expect(await kinds(writer().write([file('certs', 2)]))).toEqual(['written']);
    expect(everythingIn(dir)).toEqual(['.leafgate-volume', 'certs']);
  });

  test('is a whole volume, whose folder goes too when it was made here and nobody put anything into it', async () => {
    await writer().write([file('certs/ca.pem')]);
    await writer().remove();
    expect(existsSync(dir)).toBe(false);
    await writer().remove();
    await writer().write([file('certs/ca.pem')]);
    writeFileSync(join(dir, 'theirs'), '');
    await writer().remove();
    expect(everythingIn(dir)).toEqual(['theirs']);
    expect(modeOf('.')).toBe(0o755);
  });

  test('never is a folder that stood there before, nor one that leafgate wrote nothing into', async () => {
    mkdirSync(dir);
    await writer().remove();
    expect(existsSync(dir)).toBe(true);
    await writer().write([file('ca.pem')]);
    await writer().remove();
    expect(everythingIn(dir)).toEqual([]);
  });

  test('never is a file that could not be written, since it is somebody else’s', async () => {
    mkdirSync(join(dir, 'ca.pem'), { recursive: true });
    writeFileSync(join(dir, 'file'), 'theirs');
    expect(await kinds(writer().write([file('ca.pem'), file('file/ca.pem')]))).toEqual(['failed', 'failed']);
    rmSync(join(dir, 'ca.pem'), { recursive: true });
    writeFileSync(join(dir, 'ca.pem'), 'theirs');
    expect(await writer().removeOthers([])).toEqual([]);
    expect(everythingIn(dir)).toEqual(['.leafgate-volume', 'ca.pem', 'file']);
  });
});

describe('what is held', () => {
  test('is what was written here and is still there, also for the next process', async () => {
    expect(await writer().held()).toEqual(new Map());
    await writer().write([file('a/ca.pem'), file('b/ca.pem'), file('c/ca.pem'), file('d.pem'), file('e.pem')]);
    rmSync(join(dir, 'a/ca.pem'));
    rmSync(join(dir, 'b'), { recursive: true });
    symlinkSync('c', join(dir, 'b'));
    writeFileSync(join(dir, 'd.pem'), '');
    writeFileSync(join(dir, 'theirs.pem'), 'theirs');
    expect([...(await writer().held())]).toEqual([
      ['c/ca.pem', 'file'],
      ['e.pem', 'file'],
    ]);
    rmSync(dir, { recursive: true });
    writeFileSync(dir, '');
    expect(await writer().held()).toEqual(new Map());
  });
});

test('a trust store for Java holds the certificates of the bundle, and is the same file for the same ones', async () => {
  const bundle = encodeCertificatesPem([makeCa().certificate, makeCa().certificate]);
  const store: WantedFile = { path: 'ca.p12', pemBundle: bundle, form: 'PKCS12' };
  expect(await kinds(writer().write([store]))).toEqual(['written']);
  expect(await kinds(writer().write([store]))).toEqual(['unchanged']);
  const ders = readPemBlocks(bundle, 'bundle').map(({ bytes }) => bytes);
  expect(readFileSync(join(dir, 'ca.p12'))).toEqual(Buffer.from(encodePkcs12TrustStore(ders)));
});

describe('a sweep', () => {
  test('removes the drafts of a killed run beside files of ours, and nothing that only looks like one', async () => {
    await writer().write([file('certs/ca.pem')]);
    const others = ['.abc.leafgate-new', `${draftName}.bak`, `x${draftName}`, '.new'];
    for (const name of [draftName, ...others]) {
      writeFileSync(join(dir, name), '');
      writeFileSync(join(dir, 'certs', name), '');
    }
    mkdirSync(join(dir, 'theirs'));
    writeFileSync(join(dir, 'theirs', draftName), '');
    expect(await writer().sweep()).toBe(2);
    expect(readdirSync(join(dir, 'certs')).sort()).toEqual([...others, 'ca.pem'].sort());
    expect(readdirSync(join(dir, 'theirs'))).toEqual([draftName]);
    expect(await writer().sweep()).toBe(0);
  });

  test('makes nothing where there is no volume yet', async () => {
    expect(await writer().sweep()).toBe(0);
    expect(existsSync(dir)).toBe(false);
  });
});

describe('a folder that is reached by a link', () => {
  test('stays when its volume is removed, as it looked before, and so does the link', async () => {
    await writer().write([file('ca.pem')]);
    const link = folder.file('link');
    symlinkSync(dir, link);
    await writer({ dir: link }).remove();
    expect(readdirSync(link)).toEqual([]);
    expect(modeOf('.')).toBe(0o755);
    await writer({ dir: link }).remove();
  });

  test('that is not there is told of by name', async () => {
    symlinkSync(folder.file('nowhere'), dir);
    const [outcome] = await writer().write([file('ca.pem')]);
    const detail = 'it is a symbolic link that leads nowhere';
    expect(outcome).toMatchObject({ error: { code: 'volume-file-not-written', fields: { path: dir, detail } } });
  });
});

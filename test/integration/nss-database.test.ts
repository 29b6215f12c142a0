// The NSS form, made and kept by a real certutil and judged by NSS itself.
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openVolumeWriter, type VolumeWriter, type WantedFile } from '../../src/projection/write-volume.ts';
import { encodeCertificatesPem } from '../../src/x509/pem.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { runCommand, type CommandResult } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { createTestAuthority, issueServerCertificate, type TestAuthority } from '../support/test-certificates.ts';
import { everythingIn } from '../support/volume-samples.ts';

const root = new URL('../../', import.meta.url).href;

const wanted = (...authorities: readonly TestAuthority[]): WantedFile => ({
  path: 'pki/nssdb',
  pemBundle: encodeCertificatesPem(authorities.map(({ certificate }) => certificate)),
  form: 'NSS',
});

describeWithTools('a database of NSS', ['certutil'], ({ certutil }) => {
  const [first, second, third] = [createTestAuthority(), createTestAuthority(), createTestAuthority()];
  let folder: TempFolder;
  let dir: string;
  let database: string;
  let writer: VolumeWriter;
  beforeEach(() => {
    folder = createTempFolder();
    dir = folder.file('volume');
    database = join(dir, 'pki/nssdb');
    writer = openVolumeWriter({ dir });
  });
  afterEach(() => folder.remove());

  const run = (args: readonly string[], place = database): Promise<CommandResult> =>
    runCommand(certutil, ['-d', `sql:${place}`, ...args], { env: scrubbedEnvironment(folder.path, { LC_ALL: 'C' }) });
  const nicknames = async (): Promise<readonly string[]> =>
    [...(await run(['-L'])).stdout.matchAll(/^(\S+) +C,,/gm)].map(([, name = '']) => name).sort();
  const named = (...authorities: readonly TestAuthority[]): readonly string[] =>
    authorities.map(({ certificate }) => `leafgate-${certificate.sha256}`).sort();

  /** what NSS says of a server's certificate, by a copy, since it must be in the database for that */
  async function verdict(authority: TestAuthority): Promise<string> {
    const copy = folder.file('copy');
    rmSync(copy, { recursive: true, force: true });
    cpSync(database, copy, { recursive: true });
    writeFileSync(folder.file('leaf.pem'), issueServerCertificate(authority, { names: ['a.example'] }).chainPem);
    await run(['-A', '-a', '-n', 'leaf', '-t', ',,', '-i', folder.file('leaf.pem')], copy);
    return (await run(['-V', '-n', 'leaf', '-u', 'V'], copy)).stdout.trim();
  }

  test('is made whole, readable for all, and trusts the servers of what is in the bundle and of nothing else', async () => {
    expect(await writer.write([wanted(first, second)])).toEqual([{ path: 'pki/nssdb', kind: 'written' }]);
    const files = ['cert9.db', 'key4.db', 'pkcs11.txt'];
    expect(readdirSync(database).sort()).toEqual(files);
    expect(['.', ...files].map((name) => statSync(join(database, name)).mode & 0o777)).toEqual([
      0o755, 0o644, 0o644, 0o644,
    ]);
    expect(await nicknames()).toEqual(named(first, second));
    expect(await verdict(second)).toMatch(/certificate is valid/);
    expect(await verdict(third)).toMatch(/invalid/);
    expect(readdirSync(join(dir, 'pki'))).toEqual(['nssdb']);
  });

  test('is left alone when nothing changed, and changed in place when something did', async () => {
    await writer.write([wanted(first, second)]);
    const before = statSync(join(database, 'cert9.db'));
    expect(await writer.write([wanted(second, first)])).toMatchObject([{ kind: 'unchanged' }]);
    expect(statSync(join(database, 'cert9.db')).mtimeMs).toBe(before.mtimeMs);
    expect(await openVolumeWriter({ dir }).write([wanted(second, third)])).toMatchObject([{ kind: 'written' }]);
    expect(await nicknames()).toEqual(named(second, third));
    expect(statSync(join(database, 'cert9.db')).ino).toBe(before.ino);
    expect(await verdict(third)).toMatch(/certificate is valid/);
    expect(await verdict(first)).toMatch(/invalid/);
    expect(readdirSync(join(dir, 'pki'))).toEqual(['nssdb']);
  });

  test('keeps what a user added to it, until it is taken away with all of leafgate’s', async () => {
    await writer.write([wanted(first)]);
    writeFileSync(folder.file('own.pem'), third.pem);
    await run(['-A', '-a', '-n', 'their own', '-t', 'C,,', '-i', folder.file('own.pem')]);
    await writer.write([wanted(second)]);
    expect((await run(['-L'])).stdout).toMatch(/^their own +C,,/m);
    expect(await nicknames()).toEqual(named(second));
    await writer.remove();
    expect(existsSync(dir)).toBe(false);
  });

  test('is trusted for the old or the new certificates at every look of another program while it changes', async () => {
    await writer.write([wanted(first)]);
    const changes = Array.from({ length: 10 }, (_, index) => writer.write([wanted(index % 2 === 0 ? second : first)]));
    const changed = Promise.all(changes).then((outcomes) => outcomes.flat());
    const over = changed.then(() => true);
    let looks = 0;
    do {
      const { stdout, status, stderr } = await run(['-L']);
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect([first, second].some((one) => stdout.includes(one.certificate.sha256))).toBe(true);
      looks += 1;
    } while (!(await Promise.race([over, Promise.resolve(false)])));
    expect((await changed).map(({ kind }) => kind)).toEqual(Array(10).fill('written'));
    expect(looks).toBeGreaterThan(5);
  });

  test('gets what is new before it loses what is old', async () => {
    await writer.write([wanted(first, second)]);
    const [watched, log] = [folder.file('watched'), folder.file('log')];
    const noting = `for arg; do case "$arg" in */commands) cat "$arg" >>${log} ;; esac; done`;
    writeFileSync(watched, `#!/bin/sh\n${noting}\nexec ${certutil} "$@"\n`, { mode: 0o755 });
    await openVolumeWriter({ dir, certutil: watched }).write([wanted(third)]);
    const commands = [...readFileSync(log, 'utf8').matchAll(/^-([AD]) -n (\S+)/gm)].map(([, verb, name]) => [
      verb,
      name,
    ]);
    const [added = ''] = named(third);
    expect(commands[0]).toEqual(['A', added]);
    expect(commands.slice(1).sort()).toEqual(named(first, second).map((name) => ['D', name]));
  });

  test('of somebody else is refused, and neither changed nor removed', async () => {
    mkdirSync(database, { recursive: true });
    await run(['-N', '--empty-password']);
    const error = { code: 'volume-entry-unsafe', fields: { path: database, found: 'a folder' } };
    expect(await writer.write([wanted(first)])).toMatchObject([{ kind: 'failed', error }]);
    expect(await writer.write([wanted(first)])).toMatchObject([{ kind: 'failed', error }]);
    await writer.remove();
    expect(everythingIn(dir)).toEqual(['pki/', 'pki/nssdb/', ...['cert9.db', 'key4.db', 'pkcs11.txt'].map(inDatabase)]);
  });

  test.skipIf(process.geteuid?.() !== 0)(
    'is its owner’s where one is asked for, made and changed by a tool that runs as that user',
    async () => {
      chmodSync(folder.path, 0o711);
      const owner = { uid: 1234, gid: 4321 };
      const [watched, log] = [folder.file('watched'), folder.file('log')];
      writeFileSync(log, '');
      chmodSync(log, 0o666);
      writeFileSync(watched, `#!/bin/sh\nid -u >>${log}\nid -G >>${log}\nexec ${certutil} "$@"\n`, { mode: 0o755 });
      const theirs = openVolumeWriter({ dir, owner, certutil: watched });
      const umask = process.umask(0o077);
      try {
        expect(await theirs.write([wanted(first)])).toEqual([{ path: 'pki/nssdb', kind: 'written' }]);
        expect(await theirs.write([wanted(first)])).toMatchObject([{ kind: 'unchanged' }]);
        expect(await theirs.write([wanted(second)])).toMatchObject([{ kind: 'written' }]);
      } finally {
        process.umask(umask);
      }
      const about = ['.', 'cert9.db', 'key4.db', 'pkcs11.txt'].map((name) => statSync(join(database, name)));
      expect(about.map(({ uid, gid }) => [uid, gid])).toEqual(Array(4).fill([1234, 4321]));
      expect(await nicknames()).toEqual(named(second));
      expect(new Set(readFileSync(log, 'utf8').trim().split('\n'))).toEqual(new Set(['1234', '4321']));
      // one that is there and somebody else's
      expect(await writer.write([wanted(first)])).toMatchObject([{ kind: 'failed' }]);
      await theirs.remove();
      expect(existsSync(dir)).toBe(false);
    },
  );

  test.skipIf(process.geteuid?.() !== 0)('is not made by root in a folder that others may exchange', async () => {
    mkdirSync(join(dir, 'pki'), { recursive: true });
    chmodSync(dir, 0o777);
    const outcome = await writer.write([wanted(first)]);
    expect(outcome).toMatchObject([{ kind: 'failed', error: { code: 'nss-folder-shared', fields: { folder: dir } } }]);
    expect(everythingIn(dir)).toEqual(['.leafgate-volume', 'pki/']);
    chmodSync(dir, 0o1777);
    expect(await writer.write([wanted(first)])).toMatchObject([{ kind: 'written' }]);
  });

  test.each<[string, () => void]>([
    ['its folder is open to others', () => chmodSync(database, 0o777)],
    ['a file is open to others', () => chmodSync(join(database, 'key4.db'), 0o666)],
    ['a file is a link', () => makeLink('cert9.db')],
    ['a file is missing', () => rmSync(join(database, 'pkcs11.txt'))],
  ])('is not opened where %s', async (_, change) => {
    await writer.write([wanted(first)]);
    writeFileSync(folder.file('precious'), 'precious');
    change();
    expect(await writer.write([wanted(second)])).toMatchObject([
      { kind: 'failed', error: { code: 'nss-database-unsafe', fields: { path: database } } },
    ]);
    expect(statSync(folder.file('precious')).size).toBe('precious'.length);
    // what the error tells to do
    rmSync(database, { recursive: true });
    expect(await writer.write([wanted(second)])).toMatchObject([{ kind: 'written' }]);
  });

  test('with a password is said to have one', async () => {
    await writer.write([wanted(first)]);
    writeFileSync(folder.file('empty'), '\n');
    writeFileSync(folder.file('new'), 'a long password\n');
    expect(await run(['-W', '-f', folder.file('empty'), '-@', folder.file('new')])).toMatchObject({ status: 0 });
    expect(await writer.write([wanted(second)])).toMatchObject([
      { kind: 'failed', error: { code: 'nss-tool-failed', fields: { path: database } } },
    ]);
    expect(readdirSync(join(dir, 'pki'))).toEqual(['nssdb']);
  });

  test('of a writer that is killed at any step is none or a whole one, and the next run leaves nothing beside it', async () => {
    const script = folder.file('writer.ts');
    writeFileSync(
      script,
      `import { openVolumeWriter } from '${root}src/projection/write-volume.ts';
       const [dir, steps, pemBundle] = process.argv.slice(2);
       let left = Number(steps);
       const afterStep = () => { left -= 1; if (left === 0) process.kill(process.pid, 'SIGKILL'); };
       await openVolumeWriter({ dir, afterStep }).write([{ path: 'pki/nssdb', pemBundle, form: 'NSS' }]);
       console.log('done');`,
    );
    let step = 1;
    for (; step < 50; step += 1) {
      const args = [script, dir, String(step), wanted(first).pemBundle];
      const { stdout } = await runCommand(process.execPath, args, { env: scrubbedEnvironment(folder.path) });
      if (stdout.includes('done')) break;
      if (existsSync(database)) expect(await nicknames()).toEqual(named(first));
      await writer.sweep();
      await writer.write([wanted(second)]);
      expect(everythingIn(dir).filter((path) => path.includes('leafgate-new'))).toEqual([]);
      expect(await nicknames()).toEqual(named(second));
      await writer.remove();
      expect(existsSync(dir)).toBe(false);
    }
    expect(step).toBeGreaterThan(12);
  }, 180_000);

  function makeLink(name: string): void {
    rmSync(join(database, name));
    symlinkSync(folder.file('precious'), join(database, name));
  }
});

function inDatabase(name: string): string {
  return `pki/nssdb/${name}`;
}

test('without certutil the database is an error of its own, which names it, and other files are written', async () => {
  const folder = createTempFolder();
  try {
    const dir = folder.file('volume');
    const certutil = folder.file('certutil');
    const bundle = wanted(createTestAuthority());
    const outcomes = await openVolumeWriter({ dir, certutil }).write([
      bundle,
      { ...bundle, path: 'ca.pem', form: 'PEM' },
    ]);
    expect(outcomes).toMatchObject([
      { path: 'pki/nssdb', kind: 'failed', error: { code: 'nss-tool-missing', fields: { tool: certutil } } },
      { path: 'ca.pem', kind: 'written' },
    ]);
    expect(everythingIn(dir)).toEqual(['.leafgate-volume', 'ca.pem']);
    writeFileSync(certutil, '#!/bin/sh\nkill -9 $$\n', { mode: 0o755 });
    expect(await openVolumeWriter({ dir, certutil }).write([bundle])).toMatchObject([
      { kind: 'failed', error: { code: 'nss-tool-failed', fields: { detail: 'it was ended by SIGKILL' } } },
    ]);
    writeFileSync(certutil, '#!/bin/sh\necho "certutil: no luck" >&2\nexit 255\n');
    expect(await openVolumeWriter({ dir, certutil }).write([bundle])).toMatchObject([
      { kind: 'failed', error: { code: 'nss-tool-failed', fields: { detail: 'certutil: no luck' } } },
    ]);
    expect(everythingIn(dir)).toEqual(['.leafgate-volume', 'ca.pem']);
  } finally {
    folder.remove();
  }
});

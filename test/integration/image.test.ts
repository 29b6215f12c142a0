// What the Dockerfile makes, without a container engine: its steps run in folders, and what the last stage holds is started
// from there with a scrubbed environment, as the user that it names where the tests may change to another one.
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { layOutImage, type LaidOutImage } from '../support/image-steps.ts';
import { runCommand, startProcess, type CommandResult, type StartedProcess } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';

const context = new URL('../..', import.meta.url).pathname;

/** what the manifests start, each with an option of its own */
const roles = [
  ['sds', '--gateway'],
  ['drain', '--gateway'],
  ['controller', '--namespace'],
] as const;

describe('the image', () => {
  let temp: TempFolder;
  let image: LaidOutImage;
  /** the one folder that a container could write to */
  let scratch: string;
  let filesBefore: readonly string[];

  beforeAll(async () => {
    temp = createTempFolder();
    chmodSync(temp.path, 0o711);
    scratch = temp.file('scratch');
    mkdirSync(scratch, 0o700);
    const roots = temp.file('roots.pem');
    writeFileSync(roots, rootCertificates.join('\n'));
    const baseFiles = { '/usr/local/bin/node': process.execPath, '/etc/ssl/certs/ca-certificates.crt': roots };
    const stages = temp.file('stages');
    image = await layOutImage({ context, dir: stages, baseFiles, env: inherited() });
    filesBefore = everyFile(image.root);
    const [user, group] = image.user.split(':').map(Number);
    if (process.getuid?.() === 0) chownSync(scratch, user ?? 0, group ?? 0);
  }, 300_000);
  afterAll(() => temp.remove());

  /** the entrypoint with these arguments, as the user of the image where we are root */
  function commandLine(args: readonly string[]): readonly [string, ...string[]] {
    const [node = '', ...first] = image.entrypoint.map((word) =>
      word.startsWith('/') ? join(image.root, word) : word,
    );
    if (process.getuid?.() !== 0) return [node, ...first, ...args];
    const [user = '', group = ''] = image.user.split(':');
    const asUser = ['--reuid', user, '--regid', group, '--clear-groups', '--no-new-privs', '--inh-caps=-all'];
    return ['setpriv', ...asUser, node, ...first, ...args];
  }
  const options = () => ({ env: scrubbedEnvironment('/nonexistent'), cwd: join(image.root, image.workdir) });
  const run = (...args: readonly string[]): Promise<CommandResult> => {
    const [command, ...rest] = commandLine(args);
    return runCommand(command, rest, options());
  };
  const start = (...args: readonly string[]): StartedProcess => {
    const [command, ...rest] = commandLine(args);
    return startProcess(command, rest, options());
  };

  test('says its version and what it can do', async () => {
    expect((await run('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((await run(...image.command)).stdout).toContain('Usage: leafgate');
    for (const [command, option] of roles) expect((await run(command, '--help')).stdout).toContain(option);
  });

  test('serves leaves as a user who can write nothing but the folder of the socket', async () => {
    const pool = join(scratch, 'pool.json');
    expect((await run('pool', 'create', '--out', pool)).stderr).toBe('');
    const sds = start('sds', '--pool', pool, '--listen', `unix:${join(scratch, 'sds.sock')}`, '--allow-any');
    await sds.waitForOutput(/SDS server is ready/);
    expect(await sds.stop()).toMatchObject({ status: 0 });
    expect(everyFile(image.root)).toEqual(filesBefore);
  });

  test('holds neither tools for development nor sources, tests or another package manager', () => {
    expect(readdirSync(image.root).sort()).toEqual(['app', 'etc', 'usr']);
    expect(readdirSync(join(image.root, 'app')).sort()).toEqual(['LICENSE', 'dist', 'node_modules', 'package.json']);
    const packages = readdirSync(join(image.root, 'app', 'node_modules'));
    expect(packages).toEqual(expect.arrayContaining(['commander', 'undici', 'zod']));
    for (const name of ['typescript', 'vitest', 'protobufjs', 'leafgate-node-runtime'])
      expect(packages).not.toContain(name);
    expect(existsSync(join(image.root, 'app', 'dist', 'main.js'))).toBe(true);
  });
});

function everyFile(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
}

/** npm with the settings of whoever runs the tests: its registry is theirs */
function inherited(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

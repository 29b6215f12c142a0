// What a consumer gets from the published package: a command that works, and no Node binary of ours.
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand, type CommandResult } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';

const root = new URL('../..', import.meta.url).pathname;

describe('the packed package', () => {
  let temp: TempFolder;
  let consumer: string;
  beforeAll(async () => {
    temp = createTempFolder();
    consumer = temp.file('consumer');
    mkdirSync(consumer);
    writeFileSync(join(consumer, 'package.json'), '{"name":"consumer","private":true}');
    await npm(['pack', '--silent', '--pack-destination', temp.path], root);
    const tarball = readdirSync(temp.path).find((name) => name.endsWith('.tgz')) ?? '';
    await npm(['install', '--no-audit', '--no-fund', '--prefer-offline', join(temp.path, tarball)], consumer);
  }, 300_000);
  afterAll(() => temp.remove());

  /** npm with the settings of whoever runs the tests: its registry is theirs */
  async function npm(args: readonly string[], cwd: string): Promise<CommandResult> {
    const result = await runCommand('npm', args, { env: inherited(), cwd, deadlineMs: 240_000 });
    if (result.status !== 0) throw new Error(`npm ${args[0] ?? ''} failed\n${result.stdout}\n${result.stderr}`);
    return result;
  }

  test('brings no Node binary along', () => {
    const installed = readdirSync(join(consumer, 'node_modules'));
    expect(installed).toContain('leafgate');
    expect(installed.filter((name) => name.startsWith('node-') && name !== 'node-forge')).toEqual([]);
    expect(existsSync(join(consumer, 'node_modules', '.bin', 'node'))).toBe(false);
  });

  test('has a command that runs from its build', async () => {
    const command = join(consumer, 'node_modules', '.bin', 'leafgate');
    const env = scrubbedEnvironment(temp.path);
    const version = await runCommand(command, ['--version'], { env });
    expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    const made = await runCommand(command, ['pool', 'create', '--out', temp.file('pool.json')], { env });
    expect(made.status).toBe(0);
  });

  test('holds neither tests nor sources nor set-up scripts', () => {
    const inside = readdirSync(join(consumer, 'node_modules', 'leafgate')).sort();
    expect(inside).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'dist', 'package.json', 'proto']);
    expect(existsSync(join(consumer, 'node_modules', 'leafgate', 'dist', 'setup'))).toBe(false);
  });
});

function inherited(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

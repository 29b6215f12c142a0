// Folders with the trust of a command's owner go with the last command that uses them, however it ended, and never sooner.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { claimForShells, claimsOfCommand, sweepOwnTrust } from '../../../src/cli/own-trust-folders.ts';
import { processStart } from '../../../src/cli/state-lock.ts';
import { days, plus, systemClock, type Clock } from '../../../src/clock.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';

let temp: TempFolder;
let root: string;
beforeEach(() => {
  temp = createTempFolder();
  root = temp.file('trust-with');
});
afterEach(() => temp.remove());

const [name, other] = ['0123456789abcdef', 'fedcba9876543210'];
const command = () => claimsOfCommand({ root, clock: systemClock });
const sweep = (clock: Clock = systemClock) => sweepOwnTrust({ root, clock });
const left = (): readonly string[] => readdirSync(root).sort();
const later = (count: number): Clock => ({ ...systemClock, now: () => plus(systemClock.now(), days(count)) });

test('a folder goes when its command ends, and the folders of others stay', async () => {
  const [one, two] = [command(), command()];
  writeFileSync(join(await one.claim(name), 'ca.pem'), 'x');
  await one.claim(name);
  await two.claim(other);
  await one.release();
  expect(left()).toEqual([other]);
  await sweep();
  expect(left()).toEqual([other]);
  await two.release();
  expect(left()).toEqual([]);
});

test('a folder of two commands goes with the second', async () => {
  const [one, two] = [command(), command()];
  await one.claim(name);
  const dir = await two.claim(name);
  await one.release();
  expect(existsSync(dir)).toBe(true);
  await two.release();
  expect(existsSync(dir)).toBe(false);
});

test('whoever has claimed a folder finds in it what he wrote, whatever others do meanwhile', async () => {
  const useOnce = async (): Promise<void> => {
    const { claim, release } = command();
    const file = join(await claim(name), 'ca.pem');
    writeFileSync(file, 'x');
    await new Promise((done) => setImmediate(done));
    expect(existsSync(file)).toBe(true);
    await release();
  };
  await Promise.all(Array.from({ length: 12 }, useOnce));
  expect(left()).toEqual([]);
});

test('what a killed command left is swept, and what a living one uses is not', async () => {
  const { pid: dead } = spawnSync('true');
  for (const [folder, pid] of [
    [name, dead],
    [other, process.ppid],
  ] as const) {
    const dir = join(root, folder);
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, 'own.json'), '{}');
    const holder = { pid, startedAt: processStart(pid) ?? '1', token: 'x' };
    writeFileSync(join(dir, 'held-by-00000000-0000-0000-0000-000000000000'), JSON.stringify(holder));
  }
  await sweep();
  expect(left()).toEqual([other]);
});

test.skipIf(process.platform !== 'linux')('what a command has left behind keeps the folder that it names', async () => {
  const { claim, release } = command();
  const dir = await claim(name);
  const child = spawn('/bin/cat', { env: { SSL_CERT_FILE: join(dir, 'ca.pem') } });
  const ended = once(child, 'exit');
  await once(child, 'spawn');
  await release();
  expect(left()).toEqual([name]);
  // as it is once our process has ended
  for (const file of readdirSync(dir)) writeFileSync(join(dir, file), '');
  await sweep();
  expect(left()).toEqual([name]);
  child.stdin.end();
  await ended;
  await sweep();
  expect(left()).toEqual([]);
});

test('a folder that a shell asked for stays for thirty days, whoever else uses it and ends', async () => {
  await claimForShells({ root, clock: systemClock })(name);
  const { claim, release } = command();
  await claim(name);
  await release();
  await sweep(later(29));
  expect(left()).toEqual([name]);
  await claimForShells({ root, clock: later(20) })(name);
  await sweep(later(49));
  expect(left()).toEqual([name]);
  await sweep(later(51));
  expect(left()).toEqual([]);
});

test('a folder of an older leafgate, which told nobody who uses it, counts from when it was last asked for', async () => {
  const dir = join(root, name);
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'own.json'), '{}');
  await sweep();
  expect(left()).toEqual([name]);
  const longAgo = (Date.now() - days(31)) / 1000;
  utimesSync(join(dir, 'own.json'), longAgo, longAgo);
  await sweep();
  expect(left()).toEqual([]);
});

test('a folder that was made for nobody is swept, and what else stands there is left alone', async () => {
  mkdirSync(join(root, name), { recursive: true });
  mkdirSync(join(root, 'odd'));
  writeFileSync(join(root, 'file'), '');
  await sweep();
  expect(left()).toEqual(['file', 'odd']);
});

test('where nobody has certificates of his own, nothing is made', async () => {
  await sweep();
  await command().release();
  expect(existsSync(root)).toBe(false);
});

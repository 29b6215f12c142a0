// Trust delivery for all actors of a node: one process, a folder of volume files, a folder of files for each actor.
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { encodeCertificatesPem } from '../../src/x509/pem.ts';
import {
  createProjectWorld,
  newAnchor,
  volumeText,
  type ProjectWorld,
  type RunningProject,
} from '../support/project-command-under-test.ts';
import { everythingIn } from '../support/volume-samples.ts';
import { waitFor } from '../support/wait-for.ts';

let world: ProjectWorld;
beforeEach(() => {
  world = createProjectWorld();
  world.allow({ mitm: { file: world.sourceOf('mitm') }, extra: { file: world.sourceOf('extra') } });
  world.put('mitm', [one]);
});
afterEach(() => world.close());

const [one, two] = [newAnchor(), newAnchor()];
const textOf = (certificate: typeof one): string => encodeCertificatesPem([certificate]);

const start = (): Promise<RunningProject> => world.start('--actors', world.folder.file('actors'));
const isReady = async (running: RunningProject): Promise<boolean> => (await running.ready()).status === 200;
const askFor = (actor: string, files: Readonly<Record<string, string>> = { 'ca.pem': 'mitm' }): void =>
  world.ask(files, `actors/${actor}.yaml`);
const out = (path: string): string => world.folder.file(`out/${path}`);
const reaches = (path: string, text: string) => waitFor(`the text in ${path}`, () => world.written(path) === text);

test('each actor has its files before it is ready, and a change reaches all of them', async () => {
  const actors = Array.from({ length: 300 }, (_, index) => `actor-${index}`);
  for (const actor of actors) askFor(actor);
  const running = await start();
  await waitFor('readiness', () => isReady(running), 30_000);
  expect(actors.map((actor) => world.written(`${actor}/ca.pem`)).filter((text) => text !== textOf(one))).toEqual([]);
  expect(await running.metric('leafgate_projection_volumes')).toBe(300);
  world.put('mitm', [two]);
  await waitFor(
    'the change in all of them',
    () => actors.every((actor) => world.written(`${actor}/ca.pem`) === textOf(two)),
    30_000,
  );
  expect(await running.stop()).toEqual({ status: 0, signal: null });
});

test('an actor that comes is written, one that changes is changed, what was written for one that goes is taken away', async () => {
  askFor('stays');
  const running = await start();
  await waitFor('readiness', () => isReady(running));
  askFor('comes');
  await reaches('comes/ca.pem', textOf(one));
  askFor('comes', { 'certs/other.pem': 'mitm' });
  await reaches('comes/certs/other.pem', textOf(one));
  await waitFor('the old path to go', () => world.written('comes/ca.pem') === undefined);
  rmSync(world.folder.file('actors/comes.yaml'));
  await waitFor('its folder to go', () => !existsSync(out('comes')));
  expect(world.written('stays/ca.pem')).toBe(textOf(one));
  expect(await isReady(running)).toBe(true);
});

test('a broken volume file is told, keeps what it last said well, and touches nobody else', async () => {
  askFor('good');
  askFor('bad');
  const running = await start();
  await waitFor('readiness', () => isReady(running));
  writeFileSync(world.folder.file('actors/bad.yaml'), 'dataSources: [{trustBundle: {name: mitm, path: /etc/passwd}}]');
  writeFileSync(world.folder.file('actors/never.yaml'), '\u0000');
  await running.process.waitForOutput(/volume=bad.*delivery-value-wrong/);
  await running.process.waitForOutput(/volume=never/);
  world.put('mitm', [two]);
  await reaches('good/ca.pem', textOf(two));
  await reaches('bad/ca.pem', textOf(two));
  expect(existsSync(out('never'))).toBe(false);
  expect(await running.ready()).toMatchObject({ status: 200, body: expect.stringContaining('bad.yaml') as string });
  askFor('bad', { 'new.pem': 'mitm' });
  await reaches('bad/new.pem', textOf(two));
});

test('an actor that asks for what it may not have gets nothing, and the agent is ready for the others', async () => {
  askFor('good');
  askFor('greedy', { 'ca.pem': 'mitm', 'more.pem': 'secret' });
  const running = await start();
  await waitFor('readiness', () => isReady(running));
  expect(world.written('good/ca.pem')).toBe(textOf(one));
  expect(existsSync(out('greedy'))).toBe(false);
  await running.process.waitForOutput(/volume=greedy path=more.pem bundle=secret reason=unknown-name/);
  expect(await running.status()).toMatchObject({
    volumes: {
      good: { 'ca.pem': { state: 'current' } },
      greedy: { 'ca.pem': { state: 'held-back' }, 'more.pem': { state: 'lacking', cause: 'unknown-name' } },
    },
  });
});

test('a bundle that is missing keeps the agent from being ready, and comes to those who wait for it', async () => {
  askFor('good');
  askFor('waits', { 'ca.pem': 'extra' });
  const running = await start();
  await reaches('good/ca.pem', textOf(one));
  await running.process.waitForOutput(/volume=waits path=ca.pem bundle=extra reason=missing-object/);
  expect(await running.ready()).toMatchObject({ status: 503, body: expect.stringContaining('waits') as string });
  world.put('extra', [two]);
  await reaches('waits/ca.pem', textOf(two));
  await waitFor('readiness', () => isReady(running));
});

test('names that are no names of actors make no folders', async () => {
  for (const name of ['-rf.yaml', 'a b.yaml', 'x\n.yaml', 'é.yaml', 'web.yml', 'n'.repeat(251), '.hidden.yaml'])
    writeFileSync(world.folder.file(`actors/${name}`), volumeText({ 'ca.pem': 'mitm' }));
  askFor('good');
  const running = await start();
  await waitFor('readiness', () => isReady(running));
  expect(readdirSync(world.folder.file('out'))).toEqual(['good']);
  expect(running.process.stderr().split('a file among the volume files is none').length - 1).toBe(6);
  expect(running.process.stderr()).not.toContain('x\n.yaml');
});

test('after a restart: what changed is made good, who went is taken away, and what was never ours stays', async () => {
  for (const actor of ['stays', 'goes', 'breaks']) askFor(actor);
  const first = await start();
  await waitFor('readiness', () => isReady(first));
  await first.kill();
  mkdirSync(out('foreign'));
  writeFileSync(out('foreign/file'), 'mine');
  rmSync(world.folder.file('actors/goes.yaml'));
  writeFileSync(world.folder.file('actors/breaks.yaml'), 'broken');
  world.put('mitm', [two]);
  const second = await start();
  await waitFor('readiness', () => isReady(second));
  expect(world.written('stays/ca.pem')).toBe(textOf(two));
  await waitFor('what was written to go', () => !existsSync(out('goes')));
  expect(world.written('breaks/ca.pem')).toBe(textOf(one));
  expect(everythingIn(world.folder.file('out/foreign'))).toEqual(['file']);
});

test('a folder of volumes that is away takes nothing away', async () => {
  askFor('stays');
  const running = await start();
  await waitFor('readiness', () => isReady(running));
  rmSync(world.folder.file('actors'), { recursive: true });
  await running.process.waitForOutput(/the folder of volume files cannot be read/);
  world.put('mitm', [two]);
  await reaches('stays/ca.pem', textOf(two));
  mkdirSync(world.folder.file('actors'));
  askFor('stays', { 'other.pem': 'mitm' });
  await reaches('stays/other.pem', textOf(two));
});

test('without a folder of volumes there is no start', async () => {
  rmSync(world.folder.file('actors'), { recursive: true });
  const running = await start();
  expect((await running.process.exited).status).toBe(3);
});

// Trust delivery for one actor, as its pod runs it: before it starts, and beside it, with files as backends and no API.
import { createHash, generateKeyPairSync } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Certificate } from '../../src/x509/certificate-types.ts';
import { encodeCertificatesPem } from '../../src/x509/pem.ts';
import { mountedVolume } from '../support/mounted-volume.ts';
import { createProjectWorld, newAnchor, type ProjectWorld } from '../support/project-command-under-test.ts';
import { everythingIn } from '../support/volume-samples.ts';
import { waitFor } from '../support/wait-for.ts';

let world: ProjectWorld;
beforeEach(() => {
  // an access to a cluster that would fail whoever looked for it
  world = createProjectWorld({ KUBECONFIG: '/nowhere/kubeconfig' });
  world.allow({ mitm: { file: world.sourceOf('mitm') }, extra: { file: world.sourceOf('extra') } });
  world.ask({ 'certs/ca.pem': 'mitm' });
});
afterEach(() => world.close());

const [one, two, three] = [newAnchor(), newAnchor(), newAnchor()];

/** the bytes that stand for a set, whoever wrote them */
function textOf(...certificates: readonly Certificate[]): string {
  return encodeCertificatesPem(certificates.toSorted((a, b) => (a.sha256 < b.sha256 ? -1 : 1)));
}

const reaches = (text: string, path = 'certs/ca.pem') =>
  waitFor(`the text in ${path}`, () => world.written(path) === text);
const count = (text: string, part: string): number => text.split(part).length - 1;

test('once: the files are there when it ends, and hold the set of their bundles in one order', async () => {
  world.put('mitm', [two, one]);
  world.put('extra', [three, one]);
  world.ask({ 'certs/ca.pem': 'mitm', 'all.pem': 'mitm extra' });
  const { status, stderr } = await world.once();
  expect([status, stderr]).toEqual([0, expect.stringContaining('trust files are in place')]);
  expect(world.written('certs/ca.pem')).toBe(textOf(one, two));
  expect(world.written('all.pem')).toBe(textOf(one, two, three));
  expect((await world.once()).status).toBe(0);
});

test('once: a name that is not on the list, a missing source and an unusable one are told apart, and nothing is written', async () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const secret = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  world.put('good', [one]);
  world.put('key', `${encodeCertificatesPem([one])}${secret}`);
  world.put('empty', '# nothing\n');
  world.allow({
    good: { file: world.sourceOf('good') },
    missing: { file: world.sourceOf('missing') },
    key: { file: world.sourceOf('key') },
    empty: { file: world.sourceOf('empty') },
  });
  for (const [name, status, code] of [
    ['nobody', 2, 'trust-name-unknown'],
    ['missing', 3, 'trust-object-missing'],
    ['key', 4, 'trust-content-unusable'],
    ['empty', 4, 'trust-content-unusable'],
  ] as const) {
    world.ask({ 'good.pem': 'good', 'certs/bad.pem': `good ${name}` });
    const result = await world.once();
    expect([result.status, result.stderr]).toEqual([status, expect.stringContaining(`[${code}]`)]);
    for (const part of ['volume.yaml', 'certs/bad.pem', name]) expect(result.stderr).toContain(part);
    expect(result.stdout + result.stderr).not.toContain(secret.split('\n')[1]);
    expect(world.written('good.pem')).toBeUndefined();
  }
});

test('once: everything that is wrong with the two files is said at once', async () => {
  world.allow({ mitm: { file: 'relative' } });
  world.ask({ '../ca.pem': 'mitm' });
  const { status, stderr } = await world.once();
  expect([status, count(stderr, '[delivery-value-wrong]')]).toEqual([2, 2]);
  expect(stderr).toMatch(/bundles\.yaml[^]*volume\.yaml/);
});

test('a bundle of the cluster without an access to one fails the start and says what is missing', async () => {
  world.allow({ mitm: { clusterTrustBundle: { name: 'example.com:mitm:a' } } });
  const { status, stderr } = await world.once();
  expect([status, stderr]).toEqual([2, expect.stringContaining('[kubeconfig-unreadable]')]);
});

test('a file system for roots that is not there fails the start, and is not taken for one without roots', async () => {
  const { status, stderr } = await world.once('--roots-from', world.folder.file('none'));
  expect([status, stderr]).toEqual([3, expect.stringContaining('[project-roots-unreadable]')]);
});

test('a change reaches the file, at the same path, and whoever had it open reads the old one', async () => {
  world.put('mitm', [one]);
  const running = await world.start();
  await reaches(textOf(one));
  await waitFor('readiness', async () => (await running.ready()).status === 200);
  const held = openSync(world.folder.file('out/certs/ca.pem'), 'r');
  world.put('mitm', [one, two]);
  await reaches(textOf(one, two));
  expect(readFileSync(held, 'utf8')).toBe(textOf(one));
  closeSync(held);
  await waitFor(
    'two written files',
    async () => (await running.metric('leafgate_projection_files_written_total')) === 2,
  );
  expect(await running.metric('leafgate_projection_last_write_seconds')).toBeGreaterThan(1e9);
  expect(await running.stop()).toEqual({ status: 0, signal: null });
});

test("the kubelet's shuffling of its volume causes no write", async () => {
  const mounted = mountedVolume(world.folder.file('kubelet'));
  mounted.update({ 'ca.pem': encodeCertificatesPem([one, two]) });
  world.put('extra', [three]);
  world.allow({ mitm: { file: `${mounted.dir}/ca.pem` }, extra: { file: world.sourceOf('extra') } });
  world.ask({ 'certs/ca.pem': 'mitm', 'extra.pem': 'extra' });
  const running = await world.start();
  await reaches(textOf(one, two));
  const before = statSync(world.folder.file('out/certs/ca.pem'));
  mounted.update({ 'ca.pem': encodeCertificatesPem([two, one]) });
  // what comes after it has been seen
  world.put('extra', [one]);
  await reaches(textOf(one), 'extra.pem');
  mounted.update({ 'ca.pem': `# another text\r\n${encodeCertificatesPem([one, two, one]).replaceAll('\n', '\r\n')}` });
  world.put('extra', [two]);
  await reaches(textOf(two), 'extra.pem');
  expect(statSync(world.folder.file('out/certs/ca.pem')).ino).toBe(before.ino);
  await waitFor(
    'four written files',
    async () => (await running.metric('leafgate_projection_files_written_total')) === 4,
  );
});

test('a source that goes bad or away leaves its last good file, which is told once, and once when it is good again', async () => {
  world.put('mitm', [one]);
  world.put('extra', [two]);
  world.ask({ 'certs/ca.pem': 'mitm', 'extra.pem': 'extra' });
  const running = await world.start();
  await reaches(textOf(one));
  await waitFor('readiness', async () => (await running.ready()).status === 200);
  rmSync(world.sourceOf('mitm'));
  await waitFor('a kept file', async () => (await running.metric('leafgate_projection_sources{state="kept"}')) > 0);
  world.put('extra', [three]);
  await reaches(textOf(three), 'extra.pem');
  expect(world.written('certs/ca.pem')).toBe(textOf(one));
  const { status, body } = await running.ready();
  expect([status, body]).toEqual([200, expect.stringContaining('certs/ca.pem')]);
  expect(count(running.process.stderr(), 'the last good trust files of a bundle stay')).toBe(1);
  world.put('mitm', [one]);
  await running.process.waitForOutput(/the trust files of a bundle follow it again/);
  expect(await running.metric('leafgate_projection_sources{state="current"}')).toBe(2);
});

test('killed and started again: what changed meanwhile is made good before it is ready', async () => {
  world.put('mitm', [one]);
  const first = await world.start();
  await reaches(textOf(one));
  await first.kill();
  world.put('mitm', [two]);
  world.ask({ 'other.pem': 'mitm' });
  const second = await world.start();
  await waitFor('readiness', async () => (await second.ready()).status === 200);
  expect(world.written('other.pem')).toBe(textOf(two));
  await waitFor(
    'nothing else to be left',
    () => everythingIn(world.folder.file('out')).join() === '.leafgate-volume,other.pem',
  );
});

test('started again with a source that is gone: the file of before stays, it is not ready, until the source is back', async () => {
  world.put('mitm', [one]);
  await (await world.start().then(async (first) => (await reaches(textOf(one)), first))).kill();
  rmSync(world.sourceOf('mitm'));
  const again = await world.once();
  expect([again.status, world.written('certs/ca.pem')]).toEqual([3, textOf(one)]);
  const second = await world.start();
  await second.process.waitForOutput(/the trust files of an earlier run stay in use/);
  expect(await second.ready()).toMatchObject({ status: 503, body: expect.stringContaining('certs/ca.pem') as string });
  world.put('mitm', [two]);
  await waitFor('readiness', async () => (await second.ready()).status === 200);
  expect(world.written('certs/ca.pem')).toBe(textOf(two));
});

test('a first start without its source fails, also when it would go on running', async () => {
  const running = await world.start();
  expect((await running.process.exited).status).toBe(3);
  expect(world.written('certs/ca.pem')).toBeUndefined();
});

test('another content of the volume file is in force, a broken one is told and changes nothing', async () => {
  world.put('mitm', [one]);
  world.put('extra', [two]);
  const running = await world.start();
  await reaches(textOf(one));
  world.ask({ 'new/ca.pem': 'extra' });
  await reaches(textOf(two), 'new/ca.pem');
  await waitFor('the old path to go', () => !everythingIn(world.folder.file('out')).includes('certs/'));
  writeFileSync(world.folder.file('volume.yaml'), 'dataSources: []');
  await running.process.waitForOutput(/a volume file cannot be used/);
  expect(await running.ready()).toMatchObject({ status: 200, body: expect.stringContaining('volume.yaml') as string });
  world.put('extra', [three]);
  await reaches(textOf(three), 'new/ca.pem');
  world.ask({ 'certs/ca.pem': 'mitm' });
  await running.process.waitForOutput(/a volume file can be used again/);
  await reaches(textOf(one));
});

test('another list of bundles is in force, a broken one is told and changes nothing', async () => {
  world.put('mitm', [one]);
  world.put('extra', [two]);
  const running = await world.start();
  await reaches(textOf(one));
  world.allow({ mitm: { file: world.sourceOf('extra') } });
  await reaches(textOf(two));
  writeFileSync(world.folder.file('bundles.yaml'), 'bundles: {mitm: {}}');
  await running.process.waitForOutput(/the list of bundles cannot be used/);
  world.put('extra', [three]);
  await reaches(textOf(three));
  world.allow({ other: { file: world.sourceOf('extra') } });
  await waitFor('a kept file', async () => (await running.metric('leafgate_projection_sources{state="kept"}')) > 0);
  expect(world.written('certs/ca.pem')).toBe(textOf(three));
  world.allow({ mitm: { clusterTrustBundle: { name: 'example.com:mitm:a' } } });
  await running.process.waitForOutput(/kubeconfig-unreadable/);
  world.allow({ mitm: { file: world.sourceOf('mitm') } });
  await reaches(textOf(one));
});

test('told to stop before its files are there, it does not end as if they were', async () => {
  // a folder can never be read as a file, but another mount may be put over it at any time
  mkdirSync(world.sourceOf('mitm'));
  const running = await world.start('--once');
  await running.process.waitForOutput(/a trust file cannot be written/);
  expect((await running.stop()).status).toBe(128 + 15);
});

test('once: a folder that cannot be made is refused with the reason', async () => {
  world.put('mitm', [one]);
  writeFileSync(world.folder.file('in-the-way'), '');
  const dir = world.folder.file('in-the-way/trust');
  const { status, stderr } = await world.once('--dir', dir);
  expect(status).toBe(3);
  expect(stderr).toContain(`certs/ca.pem cannot be written: ${dir} cannot be written: a part of the path is no folder`);
});

test('mode and owner are as asked', async () => {
  world.put('mitm', [one]);
  const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
  expect((await world.once('--mode', '0640', '--owner', `${uid}:${gid}`)).status).toBe(0);
  const [file, folder] = ['out/certs/ca.pem', 'out/certs'].map((path) => statSync(world.folder.file(path)));
  expect([file?.mode, folder?.mode].map((mode) => (mode ?? 0) & 0o777)).toEqual([0o640, 0o750]);
  expect([file?.uid, file?.gid]).toEqual([uid, gid]);
});

test('the set of a bundle has one text, whoever ordered it', async () => {
  const digests = new Set<string>();
  for (const order of [
    [one, two, three],
    [three, two, one],
    [two, one, three, two],
  ]) {
    world.put('mitm', order);
    expect((await world.once()).status).toBe(0);
    digests.add(
      createHash('sha256')
        .update(world.written('certs/ca.pem') ?? '')
        .digest('hex'),
    );
  }
  expect(digests.size).toBe(1);
});

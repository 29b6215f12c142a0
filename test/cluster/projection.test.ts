// Trust delivery from a real API server: by signer and labels, by name, through a kubelet's volume, and what its start asks.
import { statSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Certificate } from '../../src/x509/certificate-types.ts';
import { encodeCertificatesPem } from '../../src/x509/pem.ts';
import { startKubeletVolume } from '../support/cluster/ctb-oracle.ts';
import { startControlPlane, type ControlPlane } from '../support/cluster/control-plane.ts';
import { describeWithControlPlane, describeWithControlPlanes } from '../support/cluster/describe-with-control-plane.ts';
import { apiAs, mustSucceed, type RawApi } from '../support/cluster/raw-api.ts';
import { allow, createNamespace, createServiceAccount, freshName } from '../support/cluster/service-account.ts';
import { createProjectWorld, newAnchor, type ProjectWorld } from '../support/project-command-under-test.ts';
import { waitFor } from '../support/wait-for.ts';

const [one, two, three] = [newAnchor(), newAnchor(), newAnchor()];

function textOf(...certificates: readonly Certificate[]): string {
  return encodeCertificatesPem(certificates.toSorted((a, b) => (a.sha256 < b.sha256 ? -1 : 1)));
}

/** as the API server calls it, and the options that give it to the command */
type Identity = { readonly user: string; readonly args: readonly string[] };

type ClusterWorld = {
  readonly world: ProjectWorld;
  readonly admin: RawApi;
  /** of this test alone */
  readonly signerName: string;
  nameOf(bundle: string): string;
  publish(
    bundle: string,
    certificates: readonly Certificate[],
    labels?: Readonly<Record<string, string>>,
  ): Promise<void>;
  remove(bundle: string): Promise<void>;
  /** an identity for the command, as the agent of a node has one */
  identify(): Promise<Identity>;
  close(): Promise<void>;
};

const group = 'certificates.k8s.io';
const bundlesPath = `/apis/${group}/v1/clustertrustbundles`;

function createClusterWorld(plane: ControlPlane): ClusterWorld {
  const admin = apiAs(plane, plane.user('admin'));
  const world = createProjectWorld();
  const path = freshName('mitm');
  const nameOf = (bundle: string): string => `example.com:${path}:${bundle}`;
  return {
    ...{ world, admin, nameOf, signerName: `example.com/${path}` },
    publish: async (bundle, certificates, labels = {}) => {
      const spec = { signerName: `example.com/${path}`, trustBundle: encodeCertificatesPem(certificates) };
      const metadata = { name: nameOf(bundle), labels };
      const object = { apiVersion: `${group}/v1`, kind: 'ClusterTrustBundle', metadata, spec };
      mustSucceed(await admin.apply(`${bundlesPath}/${nameOf(bundle)}`, object));
    },
    remove: async (bundle) => void mustSucceed(await admin.remove(`${bundlesPath}/${nameOf(bundle)}`)),
    identify: async () => {
      const namespace = await createNamespace(plane);
      const rule = { apiGroups: [group], resources: ['clustertrustbundles'], verbs: ['list', 'watch'] };
      const account = await createServiceAccount(plane, { namespace, name: 'project' }, { cluster: [rule] });
      return { user: account.user, args: ['--kubeconfig', account.kubeconfigFile] };
    },
    close: async () => {
      await world.close();
      admin.close();
    },
  };
}

const reaches = (world: ProjectWorld, text: string, path = 'ca.pem') =>
  waitFor(`the text in ${path}`, () => world.written(path) === text);

const needs = { tools: ['ctb-oracle'], users: ['nobody', 'half', 'single'] } as const;

describeWithControlPlane('trust files from a cluster', needs, (plane) => {
  let cluster: ClusterWorld;
  let world: ProjectWorld;
  beforeEach(() => {
    cluster = createClusterWorld(plane());
    ({ world } = cluster);
    world.ask({ 'ca.pem': 'mitm' });
  });
  afterEach(() => cluster.close());

  const bySigner = (matchLabels: Readonly<Record<string, string>> = {}): object => ({
    clusterTrustBundle: { signerName: cluster.signerName, matchLabels },
  });
  const byName = (bundle: string): object => ({ clusterTrustBundle: { name: cluster.nameOf(bundle) } });

  test('chosen by signer and labels: each bundle that comes, changes or goes shows in the file', async () => {
    const { args } = await cluster.identify();
    world.allow({ mitm: bySigner({ gateway: 'a' }) });
    await cluster.publish('first', [one], { gateway: 'a' });
    await cluster.publish('other', [three], { gateway: 'b' });
    const running = await world.start(...args);
    await reaches(world, textOf(one));
    await waitFor('readiness', async () => (await running.ready()).status === 200);
    await cluster.publish('second', [two, one], { gateway: 'a' });
    await reaches(world, textOf(one, two));
    await cluster.publish('first', [three], { gateway: 'a' });
    await reaches(world, textOf(one, two, three));
    await cluster.publish('second', [two, one], { gateway: 'b' });
    await reaches(world, textOf(three));
  });

  test('chosen by name, by a user whose rule names the one bundle', async () => {
    const resourceNames = [cluster.nameOf('one')];
    const rule = { apiGroups: [group], resources: ['clustertrustbundles'], verbs: ['list', 'watch'], resourceNames };
    await allow(plane(), { kind: 'User', name: 'single' }, { cluster: [rule] });
    const args = ['--kubeconfig', plane().user('single').kubeconfigFile];
    world.allow({ mitm: byName('one') });
    await cluster.publish('one', [one]);
    await cluster.publish('two', [two]);
    await world.start(...args);
    await reaches(world, textOf(one));
    await cluster.publish('one', [one, two]);
    await reaches(world, textOf(one, two));
  });

  test('a bundle that is deleted leaves the last good file, told once, and is followed when it is back', async () => {
    const { args } = await cluster.identify();
    world.allow({ mitm: bySigner() });
    await cluster.publish('one', [one]);
    const running = await world.start(...args);
    await reaches(world, textOf(one));
    await cluster.remove('one');
    await waitFor('a kept file', async () => (await running.metric('leafgate_projection_sources{state="kept"}')) > 0);
    expect(world.written('ca.pem')).toBe(textOf(one));
    expect(running.process.stderr().split('the last good trust files of a bundle stay').length - 1).toBe(1);
    await cluster.publish('one', [two]);
    await reaches(world, textOf(two));
    await running.process.waitForOutput(/the trust files of a bundle follow it again/);
  });

  test('once: a bundle that is not there fails the start and is named', async () => {
    const { args } = await cluster.identify();
    for (const backend of [bySigner(), byName('one')]) {
      world.allow({ mitm: backend });
      const { status, stderr } = await world.once(...args);
      expect([status, stderr]).toEqual([3, expect.stringContaining('[trust-object-missing]')]);
    }
    await cluster.publish('one', [one]);
    expect((await world.once(...args)).status).toBe(0);
    expect(world.written('ca.pem')).toBe(textOf(one));
  });

  // service accounts will not do: Kubernetes lets each of them read every bundle (system:cluster-trust-bundle-discovery)
  test.each([
    ['nobody', ['list', 'watch']],
    ['half', ['watch']],
  ])(
    'a user without a rule fails the start, and each rule is named as it is written down: %s',
    async (name, missing) => {
      const rule = { apiGroups: [group], resources: ['clustertrustbundles'], verbs: ['list'] };
      if (name === 'half') await allow(plane(), { kind: 'User', name }, { cluster: [rule] });
      await cluster.publish('one', [one]);
      world.allow({ mitm: byName('one') });
      const { status, stderr } = await world.once('--kubeconfig', plane().user(name).kubeconfigFile);
      expect([status, stderr]).toEqual([3, expect.stringContaining('[trust-rule-missing]')]);
      for (const verb of missing)
        expect(stderr).toContain(`${verb} on clustertrustbundles.certificates.k8s.io "${cluster.nameOf('one')}"`);
      expect(world.written('ca.pem')).toBeUndefined();
    },
  );

  test('an agent follows a bundle once, however many actors want it, and all of them see a change', async () => {
    const { args, user } = await cluster.identify();
    world.allow({ mitm: bySigner() });
    await cluster.publish('one', [one]);
    const actors = Array.from({ length: 50 }, (_, index) => `actor-${index}`);
    for (const actor of actors) world.ask({ 'ca.pem': 'mitm' }, `actors/${actor}.yaml`);
    const running = await world.start('--actors', world.folder.file('actors'), ...args);
    await waitFor('readiness', async () => (await running.ready()).status === 200, 30_000);
    await cluster.publish('one', [two]);
    await waitFor('the change', () => actors.every((actor) => world.written(`${actor}/ca.pem`) === textOf(two)));
    const watches = (await plane().requestsOf(user)).filter(({ verb }) => verb === 'watch');
    expect(watches).toHaveLength(1);
  });

  test("in a pod: a kubelet's volume is the backend, there is no token, and its shuffling is no change", async () => {
    await cluster.publish('one', [one, two], { gateway: 'a' });
    const select = { signerName: cluster.signerName, labelSelector: { matchLabels: { gateway: 'a' } } };
    const volume = startKubeletVolume(plane(), { folder: world.folder.file('mounted'), file: 'ca.pem', select });
    try {
      await waitFor('the volume', () => volume.seen().at(-1)?.ok);
      world.allow({ mitm: { file: world.folder.file('mounted/ca.pem') } });
      expect((await world.once()).status).toBe(0);
      expect(world.written('ca.pem')).toBe(textOf(one, two));
      const before = statSync(world.folder.file('out/ca.pem')).ino;
      const running = await world.start();
      await waitFor('readiness', async () => (await running.ready()).status === 200);
      expect(statSync(world.folder.file('out/ca.pem')).ino).toBe(before);
      await cluster.publish('one', [three], { gateway: 'a' });
      await reaches(world, textOf(three));
      await cluster.remove('one');
      await waitFor('the refusal of the kubelet', () => volume.seen().at(-1)?.ok === false);
      expect(world.written('ca.pem')).toBe(textOf(three));
    } finally {
      await volume.stop();
    }
  });
});

describeWithControlPlanes('a cluster', [], () => {
  const onPlane = async (
    work: (cluster: ClusterWorld, plane: ControlPlane) => Promise<void>,
    serving?: 'none',
  ): Promise<void> => {
    const plane = await startControlPlane(serving === undefined ? {} : { serving });
    const cluster = createClusterWorld(plane);
    try {
      await work(cluster, plane);
    } finally {
      await cluster.close();
      await plane.stop();
    }
  };
  const all = (cluster: ClusterWorld) => ({
    mitm: { clusterTrustBundle: { signerName: cluster.signerName, matchLabels: {} } },
  });

  test('that serves no bundles is a warning to an agent, whose other actors go on, and is used when it does', () =>
    onPlane(async (cluster, plane) => {
      const { world } = cluster;
      const { args } = await cluster.identify();
      world.put('file', [three]);
      world.allow({ ...all(cluster), file: { file: world.sourceOf('file') } });
      world.ask({ 'ca.pem': 'file' }, 'actors/good.yaml');
      world.ask({ 'ca.pem': 'mitm' }, 'actors/waits.yaml');
      const running = await world.start('--actors', world.folder.file('actors'), ...args);
      await running.process.waitForOutput(/the API server serves no ClusterTrustBundles/);
      await reaches(world, textOf(three), 'good/ca.pem');
      await running.process.waitForOutput(/volume=waits .*reason=unavailable/);
      await plane.restartApiServer('kill', { serving: 'v1' });
      await cluster.publish('one', [one]);
      await waitFor('the bundle', () => world.written('waits/ca.pem') === textOf(one), 60_000);
    }, 'none'));

  test('that is away: a first start fails, one that finds files keeps them, and both are right when it is back', () =>
    onPlane(async (cluster, plane) => {
      const { world } = cluster;
      const { args } = await cluster.identify();
      world.allow(all(cluster));
      world.ask({ 'ca.pem': 'mitm' });
      await cluster.publish('one', [one]);
      expect((await world.once(...args)).status).toBe(0);
      await cluster.publish('one', [two]);
      process.kill(plane.pids.apiserver, 'SIGKILL');
      const [once, running] = await Promise.all([world.once(...args), world.start(...args)]);
      expect([once.status, once.stderr]).toEqual([1, expect.stringContaining('[trust-backend-unavailable]')]);
      expect(world.written('ca.pem')).toBe(textOf(one));
      await running.process.waitForOutput(/the trust files of an earlier run stay in use/, 30_000);
      expect((await running.ready()).status).toBe(503);
      await plane.restartApiServer('kill');
      await waitFor('readiness', async () => (await running.ready()).status === 200, 60_000);
      expect(world.written('ca.pem')).toBe(textOf(two));
    }));
});

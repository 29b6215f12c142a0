// How the controller starts and ends, alone and beside another, on a real API server.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeWithControlPlane, describeWithControlPlanes } from '../support/cluster/describe-with-control-plane.ts';
import { startControlPlane } from '../support/cluster/control-plane.ts';
import {
  applyGateway,
  applySecret,
  bundlePath,
  createControllerWorld,
  newPool,
  waitForBundle,
  waitForReason,
  type ControllerUnderTest,
  type ControllerWorld,
} from '../support/cluster/controller-world.ts';
import { mainScript } from '../support/gateway-under-test.ts';
import { runCommand } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { mustSucceed, type ApiObject } from '../support/cluster/raw-api.ts';
import { waitFor } from '../support/wait-for.ts';

const anchorsOf = (bundle: ApiObject): string => bundle['spec'].trustBundle as string;

describeWithControlPlane('two controllers', {}, (plane) => {
  let world: ControllerWorld;
  beforeEach(async () => {
    world = await createControllerWorld(plane());
    await applySecret(world, 'pool', { pool: newPool() });
    await applyGateway(world);
  });
  afterEach(() => world.close());

  const isLeader = async (controller: ControllerUnderTest): Promise<boolean> =>
    (await controller.metric('leafgate_controller_is_leader')) === 1;

  /** the first leads, the second waits */
  const startTwo = async (): Promise<readonly [ControllerUnderTest, ControllerUnderTest]> => {
    const first = await world.start();
    await waitFor('the first to lead', () => isLeader(first));
    const second = await world.start();
    await waitForReason(world, 'TrustBundlePublished', 'Published');
    await waitFor('the second to be ready', async () => (await second.health('/readyz')).status === 200);
    expect(await isLeader(second)).toBe(false);
    expect(await second.metric('leafgate_controller_writes_total{what="bundle",ok="yes"}')).toBe(0);
    expect((await second.health('/livez')).status).toBe(200);
    return [first, second];
  };

  test('hand over at once when the one that works is stopped', async () => {
    const [first, second] = await startTwo();
    expect((await first.stop()).status).toBe(0);
    const { spec } = mustSucceed(
      await world.admin.get(`/apis/coordination.k8s.io/v1/namespaces/${world.namespace}/leases/leafgate-controller`),
    ) as { spec: ApiObject };
    expect([1, 15]).toContain(spec['leaseDurationSeconds']);
    await waitFor('the second to lead', () => isLeader(second), 12_000);
    await world.admin.remove(bundlePath(world));
    await waitForBundle(world);
  });

  test('hand over after a crash, and what changed meanwhile is made good', async () => {
    const [first, second] = await startTwo();
    const before = anchorsOf(await waitForBundle(world));
    await first.kill();
    await applySecret(world, 'pool', { pool: newPool() });
    await waitFor('the second to lead', () => isLeader(second), 40_000);
    await waitForBundle(world, (now) => anchorsOf(now) !== before);
  });
});

describeWithControlPlane('a controller', {}, (plane) => {
  let world: ControllerWorld;
  beforeEach(async () => {
    world = await createControllerWorld(plane());
    await applySecret(world, 'pool', { pool: newPool() });
  });
  afterEach(() => world.close());

  test('makes good what changed while it was away', async () => {
    const first = await world.start();
    await applyGateway(world);
    await waitForReason(world, 'TrustBundlePublished', 'Published');
    const before = anchorsOf(await waitForBundle(world));
    await first.stop();
    await world.admin.remove(bundlePath(world));
    await applySecret(world, 'pool', { pool: newPool() });
    await applyGateway(world, 'second');
    await world.start();
    await waitForBundle(world, (now) => anchorsOf(now) !== before);
    await waitForReason(world, 'TrustBundlePublished', 'Published', { name: 'second' });
  });

  test('goes on after the API server was killed and came back', async () => {
    const controller = await world.start();
    await applyGateway(world);
    await waitForReason(world, 'TrustBundlePublished', 'Published');
    const before = anchorsOf(await waitForBundle(world));
    await plane().restartApiServer('kill');
    expect((await controller.health('/readyz')).status).toBe(200);
    await applySecret(world, 'pool', { pool: newPool() });
    await waitForBundle(world, (now) => anchorsOf(now) !== before, { deadlineMs: 60_000 });
    await waitForReason(world, 'TrustBundlePublished', 'Published');
  });

  test('says in one line what is wrong with its options, all at once', async () => {
    const args = ['controller', '--namespace', 'Egress', '--signer', 'egress=kubernetes.io/*', '--resync', 'soon'];
    const result = await runCommand(process.execPath, [mainScript, ...args], { env: scrubbedEnvironment(plane().dir) });
    expect(result.status).toBe(2);
    for (const part of ['Egress', 'egress=kubernetes.io/*', 'soon']) expect(result.stderr).toContain(part);
  });
});

describeWithControlPlanes('a cluster', [], () => {
  test('without the definition of EgressGateway is told to apply it', async () => {
    const plane = await startControlPlane();
    try {
      const { kubeconfigFile } = plane.user('admin');
      const args = [
        'controller',
        '--namespace',
        'default',
        '--signer',
        'default=a.example.com/*',
        '--kubeconfig',
        kubeconfigFile,
      ];
      const result = await runCommand(process.execPath, [mainScript, ...args], { env: scrubbedEnvironment(plane.dir) });
      expect(result).toMatchObject({ status: 3, stderr: /controller-crd-missing/ });
    } finally {
      await plane.stop();
    }
  });

  test.each(['v1beta1', 'v1+v1beta1'] as const)(
    'that serves %s gets the bundle in the newest version',
    async (serving) => {
      const plane = await startControlPlane({ serving });
      const world = await createControllerWorld(plane);
      try {
        await applySecret(world, 'pool', { pool: newPool() });
        await applyGateway(world);
        await world.start();
        await waitForReason(world, 'TrustBundlePublished', 'Published');
        const version = serving === 'v1beta1' ? 'v1beta1' : 'v1';
        const path = bundlePath(world).replace('/v1/', `/${version}/`);
        const { metadata } = mustSucceed(await world.admin.get(path)) as { metadata: ApiObject };
        const managers = metadata['managedFields'] as readonly ApiObject[];
        const apiVersion = `certificates.k8s.io/${version}`;
        expect(managers).toContainEqual(expect.objectContaining({ manager: 'leafgate-bundle', apiVersion }));
      } finally {
        await world.close();
        await plane.stop();
      }
    },
  );

  test('that serves no bundles is told so, and gets them when it does', async () => {
    const plane = await startControlPlane({ serving: 'none' });
    const world = await createControllerWorld(plane);
    try {
      await applySecret(world, 'pool', { pool: newPool() });
      await applyGateway(world);
      await world.start();
      await waitForReason(world, 'TrustBundlePublished', 'APINotServed');
      await waitForReason(world, 'CAPoolReady', 'Ready');
      // what does not depend on a bundle goes on
      const files = `/api/v1/namespaces/${world.namespace}/configmaps/gw-envoy`;
      await waitFor('the files', async () => (await world.admin.get(files)).status === 200);
      await plane.restartApiServer('kill', { serving: 'v1' });
      await waitForReason(world, 'TrustBundlePublished', 'Published', { deadlineMs: 90_000 });
    } finally {
      await world.close();
      await plane.stop();
    }
  });
});

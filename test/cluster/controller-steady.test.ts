// What the controller leaves undone: no write when nothing has changed, no key byte anywhere, a few writes for a burst.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiRequest } from '../support/cluster/audit-log.ts';
import { startControlPlane, type ControlPlane } from '../support/cluster/control-plane.ts';
import { describeWithControlPlanes } from '../support/cluster/describe-with-control-plane.ts';
import {
  applyDeployment,
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
import { gatewaysIn } from '../support/cluster/install-egress-gateways.ts';
import { mustSucceed, type ApiObject } from '../support/cluster/raw-api.ts';
import { waitFor } from '../support/wait-for.ts';

describeWithControlPlanes('a controller in steady state', [], () => {
  let plane: ControlPlane;
  let world: ControllerWorld;
  let controller: ControllerUnderTest;
  beforeAll(async () => {
    plane = await startControlPlane();
    world = await createControllerWorld(plane);
    await applySecret(world, 'pool', { pool: newPool() });
    await applyDeployment(world);
    await applyGateway(world);
    // so often that a minute holds many rounds
    controller = await world.start({ args: ['--resync', '1s'] });
    await waitForReason(world, 'Ready', 'Ready');
  });
  afterAll(async () => {
    await world.close();
    await plane.stop();
  });

  const rounds = (): Promise<number> => controller.metric('leafgate_controller_reconciles_total{outcome="done"}');
  const writes = async (): Promise<readonly ApiRequest[]> =>
    (await plane.requestsOf(world.account.user)).filter(
      ({ verb, resource }) => !['get', 'list', 'watch'].includes(verb) && resource !== 'leases',
    );

  test('writes nothing, round after round, and takes up the same objects', async () => {
    // events about how it came here are written on their own time
    const begun = await rounds();
    await waitFor('some rounds', async () => (await rounds()) >= begun + 3);
    const before = await writes();
    const versions = await versionsOf(world);
    await waitFor('many rounds', async () => (await rounds()) >= begun + 15, 60_000);
    expect(await writes()).toEqual(before);
    expect(await versionsOf(world)).toEqual(versions);
  });

  test('makes a few writes of a hundred changes in a moment, and the last one counts', async () => {
    const before = (await writes()).filter(({ resource }) => resource === 'clustertrustbundles').length;
    let last = newPool();
    for (let change = 0; change < 100; change += 1) {
      last = newPool();
      await applySecret(world, 'pool', { pool: last });
    }
    const { CAs } = JSON.parse(Buffer.from(last).toString()) as { CAs: { RootCertificateDER: string }[] };
    const wanted = CAs[0]?.RootCertificateDER ?? '';
    await waitForBundle(world, (now) => (now['spec'].trustBundle as string).replaceAll('\n', '').includes(wanted));
    const after = (await writes()).filter(({ resource }) => resource === 'clustertrustbundles').length;
    expect(after - before).toBeLessThan(40);
  });

  test('has shown no byte of a key, not even of one that stood where a certificate belongs', async () => {
    const { CAs, ...rest } = JSON.parse(Buffer.from(newPool()).toString()) as { CAs: [Record<string, string>] };
    const key = CAs[0]['SigningKeyPKCS8'] ?? '';
    const planted = { ...rest, CAs: [{ ...CAs[0], RootCertificateDER: key }] };
    await applySecret(world, 'pool', { pool: JSON.stringify(planted) });
    await waitForReason(world, 'CAPoolReady', 'Malformed');
    const events = await world.admin.get(`/apis/events.k8s.io/v1/namespaces/${world.namespace}/events`);
    const gateway = await world.admin.get(`${gatewaysIn(world.namespace)}/gw`);
    const bundle = await world.admin.get(bundlePath(world));
    const files = await world.admin.get(`/api/v1/namespaces/${world.namespace}/configmaps/gw-envoy`);
    const metrics = await controller.health('/metrics');
    const bytes = Buffer.from(key, 'base64');
    // the secret number itself stands in the middle of PKCS#8
    const traces = [key, bytes.toString('hex'), bytes.subarray(36, 68).toString('hex'), key.slice(48, 88)];
    const told = [events.text, gateway.text, bundle.text, files.text, metrics.body, controller.process.stderr()];
    told.push(controller.process.stdout());
    for (const text of told) for (const trace of traces) expect(text.replaceAll('\\n', '')).not.toContain(trace);
  });
});

async function versionsOf(world: ControllerWorld): Promise<readonly unknown[]> {
  const paths = [
    `${gatewaysIn(world.namespace)}/gw`,
    bundlePath(world),
    `/api/v1/namespaces/${world.namespace}/configmaps/gw-envoy`,
    `/apis/apps/v1/namespaces/${world.namespace}/deployments/gw`,
  ];
  const objects = await Promise.all(paths.map((path) => world.admin.get(path)));
  return objects.map((answer) => (mustSucceed(answer)['metadata'] as ApiObject)['resourceVersion'] as unknown);
}

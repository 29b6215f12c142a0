// What the tests of this folder stand on: a control plane that starts, serves what it was asked to, comes back, and is gone
// afterwards.
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startControlPlane, type ControlPlane } from '../support/cluster/control-plane.ts';
import { describeWithControlPlane, describeWithControlPlanes } from '../support/cluster/describe-with-control-plane.ts';
import { apiAs, mustSucceed, type RawApi } from '../support/cluster/raw-api.ts';
import { isRunning } from '../support/is-running.ts';
import { startProcess } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { findTool } from '../support/tools.ts';
import { waitFor } from '../support/wait-for.ts';

const configMaps = '/api/v1/namespaces/default/configmaps';
const kept = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kept' }, data: { a: 'b' } };

describeWithControlPlane('a control plane', { users: ['alice:readers,testers', 'bob'] }, (plane) => {
  let admin: RawApi;
  beforeAll(() => {
    admin = apiAs(plane(), plane().user('admin'));
  });
  afterAll(() => admin.close());

  test('is the Kubernetes that the tests are written for', async () => {
    expect(mustSucceed(await admin.get('/version'))['gitVersion']).toMatch(/^v1\.(3[7-9]|[4-9]\d)\./);
  });

  test('keeps what is applied, and refuses what it does not know', async () => {
    const at = `${configMaps}/applied`;
    mustSucceed(await admin.apply(at, { ...kept, metadata: { name: 'applied' } }, { query: 'fieldValidation=Strict' }));
    mustSucceed(await admin.patch(at, { data: { a: 'c' } }));
    expect(mustSucceed(await admin.get(at))['data']).toEqual({ a: 'c' });
    expect((await admin.remove(at)).status).toBe(200);
    expect((await admin.get(at)).body?.['reason']).toBe('NotFound');
  });

  test.each(['a certificate', 'a token'])('knows users and their groups by %s', async (how) => {
    const { token, ...certificate } = plane().user('alice');
    const alice = apiAs(plane(), how === 'a token' ? { token } : certificate);
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const answer = mustSucceed(await alice.post('/apis/authentication.k8s.io/v1/selfsubjectreviews', review));
    expect(answer['status'].userInfo).toMatchObject({
      username: 'alice',
      groups: ['readers', 'testers', 'system:authenticated'],
    });
    alice.close();
  });

  test('lets nobody do what no rule allows', async () => {
    const bob = apiAs(plane(), plane().user('bob'));
    expect((await bob.get(configMaps)).status).toBe(403);
    bob.close();
    const stranger = apiAs(plane(), { token: 'unknown' });
    expect((await stranger.get(configMaps)).status).toBe(401);
    stranger.close();
  });

  test('lets a node read bundles', async () => {
    const node = apiAs(plane(), plane().user('kubelet'));
    expect((await node.get('/apis/certificates.k8s.io/v1/clustertrustbundles')).status).toBe(200);
    node.close();
  });

  test.each(['kill', 'term'] as const)('comes back with all it had after %s', async (how) => {
    mustSucceed(await admin.apply(`${configMaps}/kept`, kept));
    const before = plane().pids;
    await plane().restartApiServer(how);
    const again = apiAs(plane(), plane().user('admin'));
    expect(mustSucceed(await again.get(`${configMaps}/kept`))['data']).toEqual({ a: 'b' });
    expect(plane().pids).toEqual({
      etcd: before.etcd,
      apiserver: expect.not.toSatisfy((pid) => pid === before.apiserver),
    });
    again.close();
  });

  test('comes back with a certificate of another authority when asked', async () => {
    const untilNow = apiAs(plane(), plane().user('admin'));
    await plane().restartApiServer('kill', { withNewCa: true });
    await expect(untilNow.get('/version')).rejects.toThrow(/certificate|self.signed/);
    untilNow.close();
    const fromNow = apiAs(plane(), plane().user('admin'));
    expect((await fromNow.get('/version')).status).toBe(200);
    fromNow.close();
  });
});

describeWithControlPlanes('a control plane of every age', [], () => {
  test.each([
    ['v1', { v1: true, v1beta1: false, v1alpha1: false }],
    ['v1+v1beta1', { v1: true, v1beta1: true, v1alpha1: false }],
    ['v1beta1', { v1: false, v1beta1: true, v1alpha1: false }],
    ['v1beta1+v1alpha1', { v1: false, v1beta1: true, v1alpha1: true }],
    ['none', { v1: false, v1beta1: false, v1alpha1: false }],
  ] as const)('serves bundles as %s', async (serving, expected) => {
    const plane = await startControlPlane({ serving });
    const admin = apiAs(plane, plane.user('admin'));
    const isServed = async (version: string): Promise<boolean> => {
      const { body } = await admin.get(`/apis/certificates.k8s.io/${version}`);
      const resources = (body?.['resources'] ?? []) as readonly { readonly name: string }[];
      return resources.some(({ name }) => name === 'clustertrustbundles');
    };
    const [v1, v1beta1, v1alpha1] = [await isServed('v1'), await isServed('v1beta1'), await isServed('v1alpha1')];
    expect({ v1, v1beta1, v1alpha1 }).toEqual(expected);
    admin.close();
    await plane.stop();
  });
});

describeWithControlPlanes('of a control plane nothing is left', [], () => {
  test('after it was stopped, whoever still watches', async () => {
    const plane = await startControlPlane();
    const admin = apiAs(plane, plane.user('admin'));
    const watch = admin.get(`${configMaps}?watch=1&timeoutSeconds=50`).catch((error: unknown) => error);
    const { etcd, apiserver } = plane.pids;
    await plane.stop();
    expect([isRunning(etcd), isRunning(apiserver), existsSync(plane.dir)]).toEqual([false, false, false]);
    expect(await watch).toBeInstanceOf(Error);
    admin.close();
  });

  test('after the process that started it was killed', async () => {
    const folder = createTempFolder();
    const holder = startHolder(folder.file('holder.ts'), folder.path);
    const [, text = ''] = await holder.waitForOutput(/^started (.*)$/m, 90_000);
    const { pids, dir } = JSON.parse(text) as Pick<ControlPlane, 'pids' | 'dir'>;
    expect([isRunning(pids.etcd), isRunning(pids.apiserver)]).toEqual([true, true]);
    holder.signal('SIGKILL');
    await waitFor('both to end', () => !isRunning(pids.etcd) && !isRunning(pids.apiserver), 20_000);
    rmSync(dir, { recursive: true, force: true });
    folder.remove();
  });
});

/** starts a control plane and stays, to be killed */
function startHolder(file: string, home: string): ReturnType<typeof startProcess> {
  const support = new URL('../support/cluster/control-plane.ts', import.meta.url).href;
  writeFileSync(
    file,
    `import { startControlPlane } from '${support}';
     const { pids, dir } = await startControlPlane();
     console.log('started', JSON.stringify({ pids, dir }));
     setInterval(() => undefined, 1000);`,
  );
  const programs = {
    TEST_ASSET_KUBE_APISERVER: findTool('kube-apiserver').path ?? '',
    TEST_ASSET_ETCD: findTool('etcd').path ?? '',
  };
  return startProcess(process.execPath, [file], { env: scrubbedEnvironment(home, programs) });
}

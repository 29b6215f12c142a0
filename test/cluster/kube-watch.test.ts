// Following objects through what a real API server does to a watch: 410 by both ways, restarts, a stop that leaves watches
// open and silent, rotated tokens and CAs; and two electors on one Lease.
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { millis, systemClock } from '../../src/clock.ts';
import { createKubeClient } from '../../src/kube/create-kube-client.ts';
import { findClusterAccess } from '../../src/kube/find-cluster-access.ts';
import { kubeFailureOf } from '../../src/kube/kube-failure.ts';
import { electByLease } from '../../src/kube/lease-election.ts';
import type { KubeClient, KubeObject, KubeResource } from '../../src/kube/kube-types.ts';
import {
  forgetOldVersions,
  oneRequestAtATime,
  takeThePlace,
  withoutWatchCache,
} from '../support/cluster/api-troubles.ts';
import { startControlPlane } from '../support/cluster/control-plane.ts';
import type { ControlPlane, ControlPlaneOptions } from '../support/cluster/control-plane.ts';
import { describeWithControlPlanes } from '../support/cluster/describe-with-control-plane.ts';
import { followListening, kubeClientFor, type ListeningFollower } from '../support/cluster/kube-client-for.ts';
import { apiAs, mustSucceed } from '../support/cluster/raw-api.ts';
import type { RawApi } from '../support/cluster/raw-api.ts';
import { allow } from '../support/cluster/service-account.ts';
import { createListeningLog } from '../support/kube-world.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { waitFor } from '../support/wait-for.ts';

const configMaps: KubeResource = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  isNamespaced: true,
};
const query = { resource: configMaps, namespace: 'default' };
const path = '/api/v1/namespaces/default/configmaps';
const named = (name: string): KubeObject => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });

type World = { readonly plane: ControlPlane; readonly admin: RawApi; readonly client: KubeClient };

async function withPlane(options: ControlPlaneOptions, run: (world: World) => Promise<void>): Promise<void> {
  const plane = await startControlPlane(options);
  const admin = apiAs(plane, plane.user('admin'));
  const client = await kubeClientFor(plane.user('admin'));
  try {
    await run({ plane, admin, client });
  } finally {
    await client.close();
    admin.close();
    await plane.stop();
  }
}

/** With its watch open: after the list nothing else can tell of a change. */
async function following(admin: RawApi, client: KubeClient): Promise<ListeningFollower> {
  const { follower, told } = followListening(client, query);
  await waitFor('the list', () => follower.isSynced());
  mustSucceed(await admin.post(path, named('by-watch')));
  await waitFor('a change by the watch', () => told.includes('put by-watch'));
  return { follower, told };
}

describeWithControlPlanes('following objects on a real API server', [], () => {
  test('outlives a killed API server, and finds what vanished while it was away', async () => {
    await withPlane({}, async ({ plane, admin, client }) => {
      mustSucceed(await admin.post(path, named('stays')));
      mustSucceed(await admin.post(path, named('vanishes')));
      const { follower, told } = followListening(client, query);
      await waitFor('the list', () => follower.isSynced());
      mustSucceed(await admin.post(path, named('comes')));
      await waitFor('a change', () => told.includes('put comes'));
      // an older version than the new server knows: 410 within the stream
      await plane.restartApiServer('kill');
      const after = apiAs(plane, plane.user('admin'));
      mustSucceed(await after.remove(`${path}/vanishes`));
      await waitFor('what vanished', () => told.includes('gone vanishes'), 60_000);
      mustSucceed(await after.post(path, named('later')));
      await waitFor('a later change', () => told.includes('put later'), 60_000);
      expect(follower.trouble()).toBeUndefined();
      expect(told.filter((line) => line === 'put stays')).toHaveLength(1);
      after.close();
      await follower.close();
    });
  });

  test.each([
    // 410 within the stream
    ['and more has happened since', true],
    // 500 within the stream, for ever: `etcd event received with PrevKv=nil`
    ['and nothing has happened since the deletion', false],
  ])('finds what vanished when etcd has forgotten its version %s', async (_, isMore) => {
    await withPlane({ flags: withoutWatchCache('configmaps') }, async ({ plane, admin, client }) => {
      mustSucceed(await admin.post(path, named('vanishes')));
      const old = await client.list(query);
      mustSucceed(await admin.remove(`${path}/vanishes`));
      if (isMore) mustSucceed(await admin.post(path, named('comes')));
      await forgetOldVersions(plane);
      let listed = 0;
      const late: Pick<KubeClient, 'list' | 'watch'> = {
        list: async (asked) => ((listed += 1) === 1 ? old : client.list(asked)),
        watch: (asked, terms) => client.watch(asked, terms),
      };
      const { follower, told } = followListening(late, query);
      await waitFor('what vanished', () => told.includes('gone vanishes'), 30_000);
      expect(follower.trouble()).toBeUndefined();
      await follower.close();
    });
  });

  test('waits as a busy API server asks, and gets its answer', async () => {
    await withPlane({ flags: oneRequestAtATime, users: ['alice', 'bob'] }, async ({ plane }) => {
      // whoever may not ask is refused at once, and takes no place
      for (const name of ['alice', 'bob']) {
        const rule = { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list'] };
        await allow(plane, { kind: 'User', name }, { namespaced: { default: [rule] } });
      }
      const alice = apiAs(plane, plane.user('alice'));
      const busy = await kubeClientFor(plane.user('bob'));
      const place = takeThePlace(alice, path);
      const isRefused = async (): Promise<boolean> =>
        (await plane.requestsOf('bob')).some(({ status }) => status === 429);
      const missing = { resource: configMaps, namespace: 'default', name: 'none' };
      await waitFor('a request to be refused', async () => {
        const answers = await Promise.all([1, 2, 3].map(() => busy.get(missing).catch(kubeFailureOf)));
        for (const answer of answers) {
          if (answer !== undefined) expect(answer).toMatchObject({ kind: 'too-many-requests', retryAfterMs: 1000 });
        }
        return isRefused();
      });
      await place;
      expect(await busy.get(missing)).toBeUndefined();
      await busy.close();
      alice.close();
    });
  });

  test('goes on after an API server that stopped with the watch open and silent', async () => {
    // else a minute: an API server that is told to stop leaves open watches open for so long
    await withPlane({ flags: ['--request-timeout=10s'] }, async ({ plane, admin, client }) => {
      const { follower, told } = await following(admin, client);
      // ends the watch after the request timeout, and only then the process
      await plane.restartApiServer('term');
      const after = apiAs(plane, plane.user('admin'));
      mustSucceed(await after.post(path, named('comes')));
      await waitFor('a change', () => told.includes('put comes'), 60_000);
      after.close();
      await follower.close();
    });
  });

  test('believes an API server with a new CA as soon as the file has it, over a new connection', async () => {
    await withPlane({}, async ({ plane, admin, client }) => {
      const { follower, told } = await following(admin, client);
      await plane.restartApiServer('kill', { withNewCa: true });
      const after = apiAs(plane, plane.user('admin'));
      mustSucceed(await after.post(path, named('comes')));
      await waitFor('a change', () => told.includes('put comes'), 60_000);
      after.close();
      await follower.close();
    });
  });

  test('reads the token anew at once when the old one is refused', async () => {
    await withPlane({ users: ['alice'] }, async ({ plane }) => {
      const folder = createTempFolder();
      const { token } = plane.user('alice');
      const { port } = new URL(plane.url);
      const write = (text: string): void => writeFileSync(folder.file('token'), text);
      write(`${token}\n`);
      copyFileSync(plane.caFile, folder.file('ca.crt'));
      const env = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: port };
      const access = await findClusterAccess({
        env,
        clock: systemClock,
        log: createListeningLog(),
        serviceAccountFolder: folder.path,
      });
      const client = createKubeClient({ access, clock: systemClock });
      const question = { group: '', resource: 'pods', verb: 'get' };
      expect(await client.mayI(question)).toEqual({ allowed: false });
      write('revoked');
      access.expire();
      await expect(client.mayI(question)).rejects.toMatchObject({ code: 'kube-unauthorized' });
      write(readFileSync(plane.user('alice').tokenFile, 'utf8'));
      expect(await client.mayI(question)).toEqual({ allowed: false });
      await client.close();
      folder.remove();
    });
  });

  test('has one leader of two electors, and the other after it has gone', async () => {
    await withPlane({}, async ({ plane }) => {
      const clients = await Promise.all([1, 2].map(() => kubeClientFor(plane.user('admin'), millis(4000))));
      const log = createListeningLog();
      const [one, other] = clients.map((client, index) =>
        electByLease({
          client,
          clock: systemClock,
          random: Math.random,
          log,
          namespace: 'default',
          name: 'leafgate-controller',
          identity: `pod-${index}`,
          onStarted: () => undefined,
          onStopped: () => undefined,
        }),
      );
      if (one === undefined || other === undefined) throw new Error('no electors');
      await waitFor('a leader', () => one.isLeader() !== other.isLeader());
      const [leader, follower] = one.isLeader() ? [one, other] : [other, one];
      await leader.close();
      await waitFor('the other to lead', () => follower.isLeader(), 20_000);
      expect(leader.isLeader()).toBe(false);
      expect(log.lines.filter(({ level }) => level === 'error')).toEqual([]);
      await follower.close();
      await Promise.all(clients.map((client) => client.close()));
    });
  });
});

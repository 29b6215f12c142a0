// What tests of a client stand on: identities with exactly the rules given, a record of what they asked, and an API server in
// trouble.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  forgetOldVersions,
  oneRequestAtATime,
  takeThePlace,
  withoutWatchCache,
} from '../support/cluster/api-troubles.ts';
import type { ControlPlane } from '../support/cluster/control-plane.ts';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import { apiAs, mustSucceed, type RawApi } from '../support/cluster/raw-api.ts';
import {
  accessOf,
  allow,
  createNamespace,
  createServiceAccount,
  freshName,
} from '../support/cluster/service-account.ts';
import { waitFor } from '../support/wait-for.ts';

const secretsOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/secrets`;
const secret = (name: string): object => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name } });
const readPool = { apiGroups: [''], resources: ['secrets'], resourceNames: ['pool'], verbs: ['get'] };

function adminOf(plane: () => ControlPlane): { readonly api: () => RawApi } {
  let api: RawApi | undefined;
  beforeAll(() => {
    api = apiAs(plane(), plane().user('admin'));
  });
  afterAll(() => api?.close());
  return { api: () => api ?? expect.fail('no API yet') };
}

describeWithControlPlane('an identity of a test', { users: ['carol'] }, (plane) => {
  const admin = adminOf(plane);

  test('may do what its rules say, and nothing else', async () => {
    const namespace = await createNamespace(plane());
    const rules = { namespaced: { [namespace]: [readPool] } };
    const account = await createServiceAccount(plane(), { namespace, name: 'controller' }, rules);
    for (const name of ['pool', 'other']) mustSucceed(await admin.api().post(secretsOf(namespace), secret(name)));
    const api = apiAs(plane(), account);
    expect((await api.get(`${secretsOf(namespace)}/pool`)).status).toBe(200);
    expect((await api.get(`${secretsOf(namespace)}/other`)).status).toBe(403);
    expect((await api.get(secretsOf(namespace))).status).toBe(403);
    api.close();
    const file = (name: string): string => readFileSync(`${account.folder}/${name}`, 'utf8');
    expect([file('namespace'), file('token')]).toEqual([namespace, account.token]);
    expect(await account.renewToken()).not.toBe(account.token);
    expect(file('token')).not.toBe(account.token);
  });

  test('leaves a record of what it asked, answered or refused', async () => {
    const namespace = await createNamespace(plane());
    const place = { namespace, name: freshName('recorded') };
    const account = await createServiceAccount(plane(), place, {});
    await allow(plane(), { kind: 'ServiceAccount', ...place }, { namespaced: { [namespace]: [readPool] } });
    const api = apiAs(plane(), await accessOf(plane(), place));
    expect(await plane().requestsOf(account.user)).toEqual([]);
    await api.get(`${secretsOf(namespace)}/pool`);
    await api.post(secretsOf(namespace), secret('pool'));
    await api.get('/apis');
    const asked = await plane().requestsOf(account.user);
    expect(asked.map(({ verb, resource, name, status }) => [verb, resource, name, status])).toEqual([
      ['get', 'secrets', 'pool', 404],
      ['create', 'secrets', undefined, 403],
      ['get', undefined, undefined, 200],
    ]);
    expect(asked[0]).toMatchObject({ group: '', namespace });
    api.close();
  });

  test('may be a user as well, with rules for the cluster', async () => {
    const carol = apiAs(plane(), plane().user('carol'));
    expect((await carol.get('/api/v1/namespaces')).status).toBe(403);
    const rules = { cluster: [{ apiGroups: [''], resources: ['namespaces'], verbs: ['list'] }] };
    await allow(plane(), { kind: 'User', name: 'carol' }, rules);
    expect((await carol.get('/api/v1/namespaces')).status).toBe(200);
    carol.close();
  });
});

describeWithControlPlane('an API server that forgot', { flags: withoutWatchCache('secrets') }, (plane) => {
  const admin = adminOf(plane);

  test('says 410 to a watch from before', async () => {
    const namespace = await createNamespace(plane());
    const { metadata } = mustSucceed(await admin.api().post(secretsOf(namespace), secret('first')));
    mustSucceed(await admin.api().post(secretsOf(namespace), secret('second')));
    await forgetOldVersions(plane());
    const watch = `${secretsOf(namespace)}?watch=1&timeoutSeconds=5&resourceVersion=${metadata.resourceVersion}`;
    const answer = await admin.api().get(watch);
    expect(answer.body).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
  });
});

describeWithControlPlane('an API server with one place', { flags: oneRequestAtATime, users: ['dave'] }, (plane) => {
  test('says 429 while it is taken, with when to come again', async () => {
    const rules = { cluster: [{ apiGroups: [''], resources: ['secrets'], verbs: ['list'] }] };
    await allow(plane(), { kind: 'User', name: 'dave' }, rules);
    const dave = apiAs(plane(), plane().user('dave'));
    const taken = takeThePlace(dave, '/api/v1/secrets');
    const refused = await waitFor('a refusal', async () => {
      const answer = await dave.get('/api/v1/secrets');
      return answer.status === 429 ? answer : undefined;
    });
    expect(refused).toMatchObject({ headers: { 'retry-after': '1' }, body: undefined });
    await taken;
    expect((await dave.get('/api/v1/secrets')).status).toBe(200);
    dave.close();
  });
});

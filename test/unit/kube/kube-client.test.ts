import { afterEach, describe, expect, it } from 'vitest';
import { millis } from '../../../src/clock.ts';
import { LeafgateError } from '../../../src/errors.ts';
import { kubeFailureOf } from '../../../src/kube/kube-failure.ts';
import type { KubeFailure } from '../../../src/kube/kube-failure.ts';
import { bundles, pool, secretAt, secrets, startKubeWorld } from '../../support/kube-world.ts';
import type { KubeWorld, KubeWorldOptions } from '../../support/kube-world.ts';
import { sayJson, sayStatus } from '../../support/scripted-api-server.ts';
import { withDeadline } from '../../support/wait-for.ts';

let world: KubeWorld;
afterEach(() => world.close());

async function open(options: KubeWorldOptions = {}): Promise<KubeWorld> {
  world = await startKubeWorld(options);
  return world;
}

async function failureOf(call: Promise<unknown>): Promise<KubeFailure & { readonly error: LeafgateError }> {
  const thrown: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(thrown instanceof LeafgateError)) throw new Error('no LeafgateError was thrown', { cause: thrown });
  return { ...kubeFailureOf(thrown), error: thrown };
}

describe('a client', () => {
  it('reads an object with its token, over one kept connection, and asks for no encoding', async () => {
    const { client, server } = await open({ script: (_, response) => sayJson(response, 200, secretAt('7')) });
    expect(await client.get(pool)).toMatchObject({ kind: 'Secret', metadata: { resourceVersion: '7' } });
    await client.get(pool);
    const [first, second] = server.calls;
    expect(first).toMatchObject({ method: 'GET', path: '/api/v1/namespaces/egress/secrets/pool' });
    expect(first?.headers.authorization).toBe('Bearer first-token');
    expect(first?.headers).not.toHaveProperty('accept-encoding');
    expect(second?.fromPort).toBe(first?.fromPort);
  });

  it('says undefined only of an object that a Status calls absent', async () => {
    const { client, server } = await open({
      script: (_, response) =>
        sayStatus(response, 404, { reason: 'NotFound', details: { name: 'pool', kind: 'secrets' } }),
    });
    expect(await client.get(pool)).toBeUndefined();
    server.play((_, response) => response.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found\n'));
    expect(await failureOf(client.get(pool))).toMatchObject({ kind: 'not-found' });
    server.play((_, response) => response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>none</h1>'));
    expect(await failureOf(client.get(pool))).toMatchObject({ kind: 'bad-response' });
  });

  it('reads a list page by page and gives every item its kind', async () => {
    const item = (name: string) => ({ metadata: { name, namespace: 'egress', resourceVersion: '1' } });
    const { client, server } = await open({
      script: ({ query }, response) => {
        const isSecond = query.get('continue') === 'more';
        const metadata = { resourceVersion: '9', ...(isSecond ? {} : { continue: 'more' }) };
        sayJson(response, 200, { kind: 'SecretList', metadata, items: [item(isSecond ? 'b' : 'a')] });
      },
    });
    const list = await client.list({ resource: secrets, namespace: 'egress', name: 'a,b' });
    expect(list.resourceVersion).toBe('9');
    expect(list.items.map(({ kind, metadata }) => [kind, metadata.name])).toEqual([
      ['Secret', 'a'],
      ['Secret', 'b'],
    ]);
    expect(server.calls[0]?.query.get('fieldSelector')).toBe('metadata.name=a\\,b');
  });

  it('lists in one piece when the pages have become too old', async () => {
    const { client, server } = await open({
      script: ({ query }, response) => {
        if (query.get('continue') !== null) sayStatus(response, 410, { reason: 'Expired', message: 'too old' });
        else {
          const next = query.get('limit') === null ? {} : { continue: 'more' };
          sayJson(response, 200, { metadata: { resourceVersion: '9', ...next }, items: [secretAt('1')] });
        }
      },
    });
    expect((await client.list({ resource: secrets })).items).toHaveLength(1);
    expect(server.calls.map(({ query }) => query.get('limit'))).toEqual(['200', '200', null]);
  });

  it('sends each write in the form that the API wants', async () => {
    const bundle = { apiVersion: 'certificates.k8s.io/v1', kind: bundles.kind, metadata: { name: 'a:b' } };
    const { client, server } = await open({ script: (_, response) => sayJson(response, 200, bundle) });
    const place = { resource: bundles, name: 'a:b' };
    await client.create(place, bundle, { dryRun: true });
    await client.apply(place, bundle, { fieldManager: 'leafgate-bundle', force: true });
    await client.mergePatch(place, { metadata: { labels: null } }, { fieldManager: 'm' });
    await client.replace(place, bundle);
    expect(await client.remove(place, { uid: 'u1' })).toBe('removed');
    const [create, apply, patch, replace, remove] = server.calls;
    const base = '/apis/certificates.k8s.io/v1/clustertrustbundles';
    expect(create).toMatchObject({ method: 'POST', path: base });
    expect(create?.query.toString()).toBe('dryRun=All');
    expect(apply).toMatchObject({ method: 'PATCH', path: `${base}/a%3Ab`, body: JSON.stringify(bundle) });
    expect(apply?.headers['content-type']).toBe('application/apply-patch+yaml');
    expect(apply?.query.toString()).toBe('fieldManager=leafgate-bundle&force=true');
    expect(patch?.headers['content-type']).toBe('application/merge-patch+json');
    expect(patch?.query.toString()).toBe('fieldManager=m');
    expect(replace).toMatchObject({ method: 'PUT', path: `${base}/a%3Ab` });
    expect(JSON.parse(remove?.body ?? '')).toMatchObject({ kind: 'DeleteOptions', preconditions: { uid: 'u1' } });
  });

  it('asks for an access review and finds what a group version serves', async () => {
    const { client } = await open({
      script: ({ method, path }, response) => {
        if (method === 'POST') sayJson(response, 201, { status: { allowed: false, reason: 'no rule' } });
        else if (path === '/apis/none/v1') response.writeHead(404, { 'content-type': 'text/plain' }).end('404');
        else sayJson(response, 200, { resources: [{ name: 'gateways' }, { name: 'gateways/status' }] });
      },
    });
    expect(await client.mayI({ group: '', resource: 'secrets', verb: 'get' })).toEqual({
      allowed: false,
      reason: 'no rule',
    });
    expect(await client.resourcesOf('leafgate.dev/v1alpha1')).toEqual(['gateways']);
    expect(await client.resourcesOf('none/v1')).toBeUndefined();
  });

  it.each(['', '.', '..', 'a/b', 'a%2fb', 'a b'])('makes no call for the impossible name "%s"', async (name) => {
    const { client, server } = await open();
    expect(await failureOf(client.get({ ...pool, name }))).toMatchObject({ kind: 'invalid' });
    expect(server.calls).toHaveLength(0);
  });
});

describe('a failure', () => {
  it.each([
    [400, '', 'invalid'],
    [403, 'Forbidden', 'forbidden'],
    [409, 'AlreadyExists', 'already-exists'],
    [409, 'Conflict', 'conflict'],
    [410, 'Expired', 'gone'],
    [413, 'RequestEntityTooLarge', 'too-large'],
    [422, 'Invalid', 'invalid'],
    [429, 'TooManyRequests', 'too-many-requests'],
    [500, 'InternalError', 'unavailable'],
    [504, 'Timeout', 'unavailable'],
  ])('of status %i %s is of the kind %s%s', async (code, reason, kind) => {
    const { client } = await open({
      script: (_, response) => sayStatus(response, code, { reason, message: 'as the server says' }),
    });
    const failure = await failureOf(client.get(pool));
    expect(failure).toMatchObject({ kind, message: 'as the server says' });
    expect(failure.error.code).toBe(`kube-${kind}`);
    expect(failure.error.message).toBe(
      `get secrets "egress/pool": ${kind === 'unauthorized' ? '' : 'as the server says'}`,
    );
  });

  it('carries the causes, printable, without PEM, and bounded', async () => {
    const message = `bad\u0007 -----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY----- ${'x'.repeat(5000)}`;
    const causes = Array.from({ length: 50 }, () => ({
      field: 'spec.trustBundle',
      reason: 'FieldValueInvalid',
      message,
    }));
    const { client } = await open({
      script: (_, response) => sayStatus(response, 422, { message, details: { causes } }),
    });
    const failure = await failureOf(client.get(pool));
    expect(failure.causes).toHaveLength(20);
    expect(failure.causes[0]).toMatchObject({ field: 'spec.trustBundle', reason: 'FieldValueInvalid' });
    expect(failure.message).toContain('[PEM removed]');
    expect(JSON.stringify(failure)).not.toContain('abc');
    expect(failure.message).toMatch(/^bad\\u0007/);
    expect(failure.message.length).toBeLessThan(1100);
  });

  it.each([
    ['a page of HTML', 200, 'text/html', '<html>'],
    ['JSON that is cut off', 200, 'application/json', '{"kind":"Secret","data":{"tls.key":"c2VjcmV0'],
    ['another object', 200, 'application/json', '{"kind":"Secret","metadata":{"name":"other"}}'],
    ['a Status with 200', 200, 'application/json', '{"kind":"Status","metadata":{"name":"pool"}}'],
    ['a redirect', 302, 'text/html', ''],
  ])('for %s is a bad response that shows nothing of it', async (_, status, type, body) => {
    const { client } = await open({
      script: (__, response) =>
        response.writeHead(status, { 'content-type': type, location: 'https://elsewhere/' }).end(body),
    });
    const failure = await failureOf(client.get(pool));
    expect(failure.kind).toBe('bad-response');
    expect(JSON.stringify([failure.error.message, failure.message, failure.error.fields])).not.toMatch(
      /c2VjcmV0|<html>|first-token/,
    );
  });

  it('is told for an answer without an end, in a bounded time and memory', async () => {
    const { client } = await open({
      callTimeoutMs: millis(300),
      script: (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' }).write('{');
      },
    });
    expect(await failureOf(client.get(pool))).toMatchObject({ kind: 'unavailable' });
  });

  it('is told for a body above the limit', async () => {
    const { client } = await open({
      script: (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(Buffer.alloc(33 * 1024 * 1024, ' '));
      },
    });
    expect(await failureOf(client.get(pool))).toMatchObject({ kind: 'bad-response' });
  });
});

describe('a busy server', () => {
  it('is asked again after the time that it says, for a call that may be repeated', async () => {
    let asked = 0;
    const { client } = await open({
      script: (_, response) => {
        asked += 1;
        if (asked > 2) sayJson(response, 200, secretAt('1'));
        // as the API server's own limit does it: plain text
        else response.writeHead(429, { 'content-type': 'text/plain', 'retry-after': '0' }).end('Too many requests');
      },
    });
    expect(await client.get(pool)).toBeDefined();
    expect(asked).toBe(3);
  });

  it('is asked three times at most, and not at all again for a create or a long wait', async () => {
    const { client, server } = await open({
      script: (_, response) => response.writeHead(429, { 'retry-after': '0' }).end(),
    });
    expect(await failureOf(client.get(pool))).toMatchObject({ kind: 'too-many-requests', retryAfterMs: 0 });
    expect(server.calls).toHaveLength(3);
    await failureOf(client.create(pool, secretAt('1')));
    expect(server.calls).toHaveLength(4);
    server.play((_, response) => response.writeHead(503, { 'retry-after': '60' }).end());
    expect(await failureOf(client.get(pool))).toMatchObject({ kind: 'unavailable', retryAfterMs: 60_000 });
    expect(server.calls).toHaveLength(5);
  });
});

describe('closing', () => {
  it('ends calls in flight and every connection', async () => {
    const { client, server } = await open({ script: () => undefined });
    const call = failureOf(client.get(pool));
    await withDeadline(
      'the call to arrive',
      (async () => {
        while (server.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
      })(),
    );
    await client.close();
    expect(await call).toMatchObject({ kind: 'unavailable' });
  });
});

// What a real API server, or what stands before one, does on no demand: each with a scripted server behind real TLS.
import { readdirSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { seconds, systemClock } from '../../../src/clock.ts';
import type { Clock } from '../../../src/clock.ts';
import { followObjects } from '../../../src/kube/follow-objects.ts';
import type { ObjectFollower } from '../../../src/kube/follow-objects.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import type { FakeClock } from '../../support/fake-clock.ts';
import { secretAt, secrets, startKubeWorld } from '../../support/kube-world.ts';
import type { KubeWorld } from '../../support/kube-world.ts';
import { sayJson, sayStatus } from '../../support/scripted-api-server.ts';
import { waitFor } from '../../support/wait-for.ts';

type WatchScript = (response: ServerResponse, count: number) => void;

let world: KubeWorld;
/** of the follower alone; the client's is the real one where its deadlines are not what a test is about */
let clock: FakeClock;
let follower: ObjectFollower;
let told: string[];

afterEach(async () => {
  await follower.close();
  await world.close();
});

/** each watch by the script, lists as they are */
async function follow(onWatch: WatchScript, clientClock: Clock = systemClock): Promise<void> {
  let count = 0;
  clock = createFakeClock(Date.now());
  told = [];
  world = await startKubeWorld({
    clock: clientClock,
    script: (call, response) => {
      if (call.query.get('watch') === null) {
        sayJson(response, 200, { metadata: { resourceVersion: '10' }, items: [] });
        return;
      }
      count += 1;
      onWatch(response, count);
    },
  });
  const { client, log } = world;
  follower = followObjects({
    client,
    clock,
    log,
    random: () => 0.5,
    query: { resource: secrets, namespace: 'egress', name: 'pool' },
    onChange: (change) =>
      void told.push(change.kind === 'put' ? (change.object.metadata.resourceVersion ?? '') : 'gone'),
  });
}

/** time goes by until it is so */
function eventually(what: string, look: () => boolean): Promise<unknown> {
  return waitFor(what, () => {
    clock.advance(100);
    return look();
  });
}

const watches = () => world.server.calls.filter(({ query }) => query.get('watch') !== null);
const lists = () => world.server.calls.filter(({ query }) => query.get('watch') === null);

function stream(response: ServerResponse): ServerResponse {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  return response;
}

const event = (type: string, object: unknown): string => `${JSON.stringify({ type, object })}\n`;
const added = (version: string): string => event('ADDED', secretAt(version));

describe('a watch', () => {
  it('asks for bookmarks, an end and one name, from where the list stood, on a connection of its own', async () => {
    await follow((response) => void stream(response).write(added('11')));
    await eventually('the event', () => told.length === 1);
    const [watch] = watches();
    expect(Object.fromEntries(watch?.query ?? [])).toEqual({
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: '10',
      timeoutSeconds: '450',
      fieldSelector: 'metadata.name=pool',
    });
    expect(watch?.headers).not.toHaveProperty('accept-encoding');
    expect(watch?.fromPort).not.toBe(lists()[0]?.fromPort);
  });

  it('that falls silent counts as dead after three minutes, and the next is on a fresh connection', async () => {
    const clientClock = createFakeClock(Date.now());
    await follow((response, count) => {
      stream(response).write(count === 1 ? added('11') : added('12'));
    }, clientClock);
    await eventually('the first event', () => told.length === 1);
    clientClock.advance(179_000);
    clock.advance(179_000);
    expect(watches()).toHaveLength(1);
    clientClock.advance(1000);
    await eventually('the second watch', () => told.length === 2);
    const [first, second] = watches();
    expect(second?.query.get('resourceVersion')).toBe('11');
    expect(second?.fromPort).not.toBe(first?.fromPort);
    await waitFor('the dead connection to be gone', () => world.server.openConnections() <= 2);
  });

  it('that hears bookmarks does not count as silent', async () => {
    const clientClock = createFakeClock(Date.now());
    let open: ServerResponse | undefined;
    await follow((response) => {
      open = stream(response);
    }, clientClock);
    await eventually('the watch', () => open !== undefined);
    for (let turn = 1; turn <= 10; turn += 1) {
      // the event only shows that the bookmark before it was read
      open?.write(event('BOOKMARK', { metadata: { resourceVersion: `${turn}00` } }) + added(`${turn}01`));
      await waitFor('the bookmark', () => told.length === turn);
      clientClock.advance(120_000);
    }
    expect(watches()).toHaveLength(1);
  });

  it.each<[string, WatchScript]>([
    ['a line of 10 MB', (response) => void stream(response).write(Buffer.alloc(10 * 1024 * 1024, 'x'))],
    ['HTML in place of JSON', (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>')],
    ['a line that is no JSON', (response) => void stream(response).write('{"type":\n')],
    ['an event that ends in the middle', (response) => stream(response).end('{"type":"ADDED","obj')],
    ['a reset connection', (response) => void stream(response).socket?.destroy()],
    ['an error within it', (response) => void stream(response).write(event('ERROR', { kind: 'Status', code: 500 }))],
    ['an error of no kind', (response) => void stream(response).write(event('ERROR', null))],
    ['an object of no shape', (response) => void stream(response).write(event('ADDED', { metadata: 7 }))],
    ['a bookmark without a version', (response) => void stream(response).write(event('BOOKMARK', {}))],
    ['a redirect', (response) => response.writeHead(301, { location: 'https://elsewhere/' }).end()],
    ['status 503', (response) => sayStatus(response, 503)],
    ['a clean end at once', (response) => stream(response).end()],
  ])('that brings %s is followed by another, from the same place', async (_, fault) => {
    await follow((response, count) => {
      if (count === 1) fault(response, count);
      else stream(response).write(added('12'));
    });
    await eventually('the second watch', () => told.length === 1);
    expect(watches()[1]?.query.get('resourceVersion')).toBe('10');
    expect(lists()).toHaveLength(1);
    expect(follower.trouble()).toBeUndefined();
  });

  it.each([
    [
      'within the stream',
      (response: ServerResponse) =>
        void stream(response).write(event('ERROR', { kind: 'Status', code: 410, reason: 'Expired' })),
    ],
    ['as its status', (response: ServerResponse) => sayStatus(response, 410, { reason: 'Expired' })],
  ])('that is told 410 %s begins with a new list', async (_, gone) => {
    await follow((response, count) => {
      if (count === 1) gone(response);
      else stream(response).write(added('12'));
    });
    await eventually('the second watch', () => told.length === 1);
    expect(lists()).toHaveLength(2);
  });

  it('that is refused its token is asked for again with the new one, without a pause', async () => {
    await follow((response, count) => {
      if (count === 1) {
        world.writeToken('second-token');
        sayStatus(response, 401);
      } else stream(response).write(added('12'));
    });
    await eventually('the second watch', () => told.length === 1);
    expect(watches().map(({ headers }) => headers.authorization)).toEqual([
      'Bearer first-token',
      'Bearer second-token',
    ]);
  });

  it('fails, and has not just ended, when the stream breaks off within an event', async () => {
    await follow((response) => stream(response).end('{"type":"ADDED","obj'));
    const terms = { resourceVersion: '1', timeoutSeconds: 300, silenceMs: seconds(180), onEvent: () => undefined };
    const watch = world.client.watch({ resource: secrets }, { ...terms, signal: new AbortController().signal });
    await expect(watch).rejects.toMatchObject({ code: 'kube-unavailable' });
  });

  it('takes an object near the limit of the API whole, in pieces as they come', async () => {
    const object = secretAt('11', { data: { pool: 'A'.repeat(1_400_000) } });
    await follow((response) => void stream(response).write(event('ADDED', object)));
    await eventually('the event', () => told.length === 1);
    expect(follower.get('pool', 'egress')?.['data']).toEqual(object['data']);
  });

  it('never takes the connection of a call, however many there are', async () => {
    let open = 0;
    await follow((response) => {
      stream(response);
      open += 1;
    });
    const ended = new AbortController();
    // more than the connections that calls may have
    const many = Array.from({ length: 150 }, () =>
      world.client
        .watch(
          { resource: secrets },
          {
            resourceVersion: '1',
            timeoutSeconds: 300,
            silenceMs: seconds(180),
            signal: ended.signal,
            onEvent: () => undefined,
          },
        )
        .catch(() => undefined),
    );
    await waitFor('all watches', () => open === 151);
    expect(await world.client.list({ resource: secrets })).toMatchObject({ resourceVersion: '10' });
    ended.abort();
    await Promise.all(many);
    await waitFor('their connections to be gone', () => world.server.openConnections() <= 3);
  });

  it('leaves no socket behind, however often it ends', { timeout: 60_000 }, async () => {
    await follow((response, count) => {
      const open = stream(response);
      if (count % 2 === 0) open.end();
      else open.socket?.destroy();
    });
    const descriptors = (): number => readdirSync('/proc/self/fd').length;
    const turns = async (count: number): Promise<void> => {
      for (const end = watches().length + count; watches().length < end;) {
        clock.advance(30_000);
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await turns(20);
    const before = descriptors();
    await turns(200);
    await waitFor('no more descriptors than before', () => descriptors() <= before + 4);
  });
});

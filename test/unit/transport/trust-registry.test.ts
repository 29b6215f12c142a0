import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { minutes } from '../../../src/clock.ts';
import { parseFetchTarget } from '../../../src/transport/fetch-target.ts';
import { parseHttpProxy } from '../../../src/transport/http-proxy.ts';
import { parseServerTrust } from '../../../src/transport/server-trust.ts';
import { registryDefaults, routeKey } from '../../../src/transport/trust-registry.ts';
import type { TrustRegistryOptions } from '../../../src/transport/trust-registry.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { createLoopbackFetch, trustIn } from '../../support/loopback-fetch.ts';
import type { LoopbackFetch } from '../../support/loopback-fetch.ts';
import { createTestAuthority, issueServerCertificate } from '../../support/test-certificates.ts';
import { startTlsOrigin } from '../../support/tls-origin.ts';
import type { TlsOrigin } from '../../support/tls-origin.ts';
import { waitFor } from '../../support/wait-for.ts';

const authority = createTestAuthority({ organisation: 'right' });
const stranger = createTestAuthority({ organisation: 'wrong' });
const right = trustIn(authority);
const wrong = trustIn(stranger);
const certificate = issueServerCertificate(authority, { names: ['localhost'] });

let origin: TlsOrigin;
let second: TlsOrigin;
let url: string;
let loopback: LoopbackFetch;

beforeAll(async () => {
  [origin, second] = await Promise.all([startTlsOrigin({ certificate }), startTlsOrigin({ certificate })]);
  url = `https://localhost:${origin.port}/`;
});
afterAll(() => Promise.all([origin.close(), second.close()]));
afterEach(() => loopback.close());

function open(options: Partial<TrustRegistryOptions> = {}): LoopbackFetch {
  loopback = createLoopbackFetch(options);
  return loopback;
}

describe('two trusts', () => {
  it('never share a connection: one verified for the first does not answer for the second', async () => {
    const { fetch, registry } = open();
    expect(await fetch(url, right)).toMatchObject({ kind: 'answered', status: 200 });
    expect(await fetch(url, wrong)).toMatchObject({ kind: 'failed', code: 'certificate' });
    expect(await fetch(url, right)).toMatchObject({ kind: 'answered', status: 200 });
    expect(registry.size()).toBe(2);
  });

  it('would share one if the trust were left out of the key, and the wrong trust would pass', async () => {
    const { fetch } = open({ keyOf: ({ target }) => target.origin });
    await fetch(url, right);
    expect(await fetch(url, wrong)).toMatchObject({ kind: 'answered' });
  });

  it('that differ only in the server name never share a connection', async () => {
    const { fetch } = open();
    expect(await fetch(url, right)).toMatchObject({ kind: 'answered' });
    expect(await fetch(url, trustIn(authority, 'other.example'))).toMatchObject({
      code: 'certificate',
      openssl: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
  });
});

describe('equal trusts', () => {
  it('re-use a connection, although each was parsed on its own', async () => {
    const { fetch, registry } = open();
    const before = origin.seen.connections;
    for (let turn = 0; turn < 5; turn += 1) {
      expect(await fetch(url, trustIn(authority))).toMatchObject({ kind: 'answered' });
    }
    expect(origin.seen.connections - before).toBe(1);
    expect(registry.size()).toBe(1);
  });

  it('re-use one for a server name that is the host itself', async () => {
    const { fetch, registry } = open();
    await fetch(url, right);
    await fetch(url, trustIn(authority, 'localhost'));
    expect(registry.size()).toBe(1);
  });

  it('have at most as many connections as set, and every request is answered', async () => {
    const { fetch } = open({ settings: { maxConnections: 2 } });
    const before = origin.seen.connections;
    const results = await Promise.all(Array.from({ length: 8 }, () => fetch(url, right)));
    expect(results.map(({ kind }) => kind)).toEqual(Array(8).fill('answered'));
    expect(origin.seen.connections - before).toBe(2);
  });

  it('have 128 connections by default', () => {
    open();
    expect(registryDefaults.maxConnections).toBe(128);
  });
});

describe('the key of a route', () => {
  const route = { target: parseFetchTarget('https://api.example.com/a'), trust: right };
  const proxy = parseHttpProxy('http://127.0.0.1:3128');

  it('is the same for another path, and for the same host written in another way', () => {
    expect(routeKey({ ...route, target: parseFetchTarget('https://API.example.com.:443/b') })).toBe(routeKey(route));
  });

  it.each([
    ['host', { ...route, target: parseFetchTarget('https://www.example.com/a') }],
    ['port', { ...route, target: parseFetchTarget('https://api.example.com:8443/a') }],
    ['trust', { ...route, trust: wrong }],
    ['dialled address', { ...route, target: parseFetchTarget('https://api.example.com/a', '192.0.2.7:443') }],
    ['proxy', { ...route, proxy }],
  ])('differs for another %s', (_, other) => {
    expect(routeKey(other)).not.toBe(routeKey(route));
  });

  it('differs for another user of the same proxy, and does not hold the password', () => {
    const keys = ['http://127.0.0.1:3128', 'http://a:secret@127.0.0.1:3128', 'http://b:secret@127.0.0.1:3128'].map(
      (text) => routeKey({ ...route, proxy: parseHttpProxy(text) }),
    );
    expect(new Set(keys).size).toBe(3);
    expect(keys.join()).not.toContain(Buffer.from('a:secret').toString('base64'));
  });
});

describe('a changed bundle', () => {
  it('dials anew at once, and the old connection closes after ten idle minutes', async () => {
    const clock = createFakeClock();
    const closed: string[] = [];
    const { fetch, registry } = open({ clock, events: { entryClosed: (why) => closed.push(why) } });
    const before = origin.seen.connections;
    await fetch(url, right);
    clock.advance(minutes(1));
    await fetch(url, parseServerTrust({ bundle: authority.pem + stranger.pem, source: 'rotated' }));
    expect(origin.seen.connections - before).toBe(2);
    expect(registry.size()).toBe(2);

    clock.advance(minutes(9) - 1);
    expect([registry.size(), closed]).toEqual([2, []]);
    clock.advance(1);
    expect([registry.size(), closed]).toEqual([1, ['idle']]);
  });

  it('keeps an entry that is used again within the ten minutes', async () => {
    const clock = createFakeClock();
    const { fetch, registry } = open({ clock });
    await fetch(url, right);
    clock.advance(minutes(9));
    await fetch(url, right);
    clock.advance(minutes(9));
    expect(registry.size()).toBe(1);
    clock.advance(minutes(1));
    expect(registry.size()).toBe(0);
  });
});

describe('the number of entries', () => {
  it('is bounded: the longest unused one makes room', async () => {
    const closed: string[] = [];
    const { fetch, registry } = open({
      settings: { maxEntries: 2 },
      events: { entryClosed: (why) => closed.push(why) },
    });
    const secondUrl = `https://localhost:${second.port}/`;
    const before = origin.seen.connections;
    await fetch(url, right);
    await fetch(secondUrl, right);
    await fetch(url, right);
    await fetch(secondUrl, wrong);
    expect([registry.size(), closed]).toEqual([2, ['evicted']]);
    await fetch(url, right);
    expect(origin.seen.connections - before).toBe(1);
  });

  it('is an error when all of them are in use', async () => {
    const { fetch, registry } = open({ settings: { maxEntries: 1 } });
    const held = Promise.withResolvers<undefined>();
    const using = registry.use({ target: parseFetchTarget(url), trust: right }, () => held.promise);
    await expect(fetch(url, wrong)).rejects.toMatchObject({ code: 'transport-registry-full' });
    held.resolve(undefined);
    await using;
    expect(await fetch(url, wrong)).toMatchObject({ code: 'certificate' });
  });
});

describe('closing', () => {
  it('ends every connection and every later request', async () => {
    const { fetch, registry } = open();
    await fetch(url, right);
    const gone = waitFor('the connection to end', () => origin.openConnections() === 0);
    await loopback.close();
    await gone;
    expect(registry.size()).toBe(0);
    await expect(fetch(url, right)).rejects.toMatchObject({ code: 'transport-registry-closed' });
  });
});

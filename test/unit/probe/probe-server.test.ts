import { rename, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { millis, systemClock } from '../../../src/clock.ts';
import type { Log } from '../../../src/observe/log.ts';
import { parseListenAddress } from '../../../src/settings/parse-listen.ts';
import { startProbeServer } from '../../../src/probe/probe-server.ts';
import type { ProbeServer, ProbeServerOptions } from '../../../src/probe/probe-server.ts';
import { createTrustFile } from '../../../src/transport/trust-file.ts';
import { createTrustRegistry } from '../../../src/transport/trust-registry.ts';
import { parseHttpProxy } from '../../../src/transport/http-proxy.ts';
import { startConnectProxy } from '../../support/connect-proxy.ts';
import { httpGet } from '../../support/http-get.ts';
import { createTempFolder } from '../../support/temp-folder.ts';
import type { TempFolder } from '../../support/temp-folder.ts';
import { createTestAuthority, issueServerCertificate } from '../../support/test-certificates.ts';
import { startTlsOrigin } from '../../support/tls-origin.ts';
import type { TlsOrigin } from '../../support/tls-origin.ts';
import { waitFor } from '../../support/wait-for.ts';

const gateway = createTestAuthority({ organisation: 'gateway' });
const other = createTestAuthority({ organisation: 'other' });
const silent: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  with: () => silent,
};

let folder: TempFolder;
let origin: TlsOrigin;
let held: PromiseWithResolvers<undefined>;
let probe: ProbeServer;
let ends: (() => unknown)[];

beforeEach(async () => {
  folder = createTempFolder();
  held = Promise.withResolvers();
  await writeFile(folder.file('ca.pem'), gateway.pem);
  await writeFile(folder.file('roots.crt'), other.pem);
  origin = await startTlsOrigin({
    certificate: issueServerCertificate(gateway, { names: ['api.example.com'] }),
    answer: (request, response) => {
      if (request.url === '/slow') void held.promise.then(() => response.end());
      else response.writeHead(204).end();
    },
  });
  ends = [() => folder.remove(), () => origin.close()];
});
afterEach(async () => {
  held.resolve(undefined);
  for (const end of ends.reverse()) await end();
});

async function start(more: Partial<ProbeServerOptions> = {}): Promise<void> {
  const registry = createTrustRegistry({ clock: systemClock });
  probe = await startProbeServer({
    listen: parseListenAddress('127.0.0.1:0'),
    bundleFile: createTrustFile({ path: folder.file('ca.pem') }),
    systemFile: createTrustFile({ path: folder.file('roots.crt') }),
    registry,
    clock: systemClock,
    log: silent,
    ...more,
  });
  ends.push(() => registry.close());
  ends.push(() => probe.close());
}

async function ask(
  query: Readonly<Record<string, string>>,
): Promise<{ readonly status: number; readonly json: object }> {
  const usual = { url: 'https://api.example.com/', roots: 'bundle', dial: `127.0.0.1:${origin.port}` };
  const answer = await httpGet(probe.address, `/fetch?${new URLSearchParams({ ...usual, ...query }).toString()}`);
  return { status: answer.status, json: JSON.parse(answer.body) as object };
}

describe('GET /fetch', () => {
  it('tells status, TLS version and the whole leaf, and which roots were used', async () => {
    await start();
    expect(await ask({})).toEqual({
      status: 200,
      json: {
        url: 'https://api.example.com/',
        roots: 'bundle',
        rootsFile: folder.file('ca.pem'),
        rootsSha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
        kind: 'answered',
        status: 204,
        tls: {
          version: 'TLSv1.3',
          cipher: expect.any(String) as string,
          leaf: {
            subject: expect.stringContaining('serialNumber=') as string,
            issuer: expect.stringContaining('gateway CA') as string,
            san: ['DNS:api.example.com'],
            serial: expect.any(String) as string,
            notBefore: expect.any(String) as string,
            notAfter: expect.any(String) as string,
            sha256: expect.any(String) as string,
          },
        },
      },
    });
  });

  it('with the roots of the system gives the stable code and the OpenSSL name', async () => {
    await start();
    expect(await ask({ roots: 'system' })).toMatchObject({
      status: 200,
      json: {
        rootsFile: folder.file('roots.crt'),
        kind: 'failed',
        code: 'certificate',
        openssl: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      },
    });
  });

  it('goes through the proxy and names the rule that refused', async () => {
    const proxy = await startConnectProxy({ kind: 'refuse', status: 403, rule: 'deny:ads' });
    ends.push(() => proxy.close());
    await start({ proxy: parseHttpProxy(proxy.url) });
    expect(await ask({ dial: '192.0.2.7:443' })).toMatchObject({
      json: { kind: 'failed', code: 'refused-by-proxy', status: 403, rule: 'deny:ads' },
    });
    expect(proxy.asked).toEqual(['192.0.2.7:443']);
  });

  it('uses a changed bundle at once, over a new connection', async () => {
    await start();
    await ask({});
    await ask({});
    expect(origin.seen.connections).toBe(1);
    await writeFile(folder.file('next'), gateway.pem + other.pem);
    await rename(folder.file('next'), folder.file('ca.pem'));
    expect(await ask({})).toMatchObject({ json: { kind: 'answered' } });
    expect(origin.seen.connections).toBe(2);
    await writeFile(folder.file('next'), other.pem);
    await rename(folder.file('next'), folder.file('ca.pem'));
    expect(await ask({})).toMatchObject({ json: { code: 'certificate' } });
  });

  it('is 503 with the reason while the bundle is bad, and works again afterwards', async () => {
    await start();
    await writeFile(folder.file('ca.pem'), gateway.pem.slice(0, -20));
    expect(await ask({})).toMatchObject({ status: 503, json: { problems: [{ code: 'pem-broken-block' }] } });
    await writeFile(folder.file('ca.pem'), gateway.pem);
    expect(await ask({})).toMatchObject({ status: 200 });
  });

  it('is 400 with every problem and what to do', async () => {
    await start();
    const answer = await ask({ url: 'http://api.example.com/', roots: 'both' });
    expect(answer).toMatchObject({
      status: 400,
      json: {
        problems: [
          { code: 'fetch-url-not-https', message: expect.any(String) as string, remedy: expect.any(String) as string },
          { code: 'probe-roots-unknown' },
        ],
      },
    });
    expect(origin.seen.connections).toBe(0);
  });

  it('runs at most as many fetches as set; one more is 429 and says when to come again', async () => {
    await start({ limits: { maxFetches: 2 } });
    const slow = [1, 2].map(() => ask({ url: 'https://api.example.com/slow' }));
    await waitFor('two fetches', () => origin.seen.requests === 2);
    const path = '/fetch?url=https%3A%2F%2Fapi.example.com%2F&roots=bundle';
    const refused = await httpGet(probe.address, path);
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '1' } });
    expect(JSON.parse(refused.body)).toMatchObject({ problems: [{ code: 'probe-busy' }] });
    held.resolve(undefined);
    expect((await Promise.all(slow)).map(({ status }) => status)).toEqual([200, 200]);
    expect(await ask({})).toMatchObject({ status: 200 });
  });

  it('ends a fetch that takes too long', async () => {
    await start({ limits: { fetchTimeoutMs: millis(50) } });
    expect(await ask({ url: 'https://api.example.com/slow' })).toMatchObject({
      status: 200,
      json: { kind: 'failed', code: 'timeout' },
    });
  });
});

describe('what is not a fetch', () => {
  it('is answered for health and refused for the rest', async () => {
    await start();
    expect(await httpGet(probe.address, '/livez')).toMatchObject({ status: 200, body: '{"live":true}\n' });
    expect(await httpGet(probe.address, '/other')).toMatchObject({ status: 404 });
    expect(await httpGet(probe.address, '/fetch', { method: 'POST' })).toMatchObject({
      status: 405,
      headers: { allow: 'GET', 'content-type': 'application/json; charset=utf-8' },
    });
  });

  it('is no proxy: a CONNECT is not served', async () => {
    await start();
    await expect(httpGet(probe.address, 'api.example.com:443', { method: 'CONNECT' })).rejects.toThrow();
  });

  it('is what a web page can send: a name of its own, an origin, a cross-site mark', async () => {
    await start({ allowedHosts: ['Probe.svc'] });
    const statusWith = async (headers: Readonly<Record<string, string>>): Promise<number> =>
      (await httpGet(probe.address, '/livez', { headers })).status;
    expect(await statusWith({ host: 'rebound.example' })).toBe(403);
    expect(await statusWith({ origin: 'https://evil.example' })).toBe(403);
    expect(await statusWith({ 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await statusWith({ 'sec-fetch-site': 'none' })).toBe(200);
    expect(await statusWith({ host: 'probe.svc:80' })).toBe(200);
  });

  it('is a request line too long to be a question', async () => {
    await start();
    expect((await httpGet(probe.address, `/fetch?url=${'a'.repeat(14_000)}`)).status).toBe(414);
    expect((await httpGet(probe.address, `/fetch?url=${'a'.repeat(40_000)}`)).status).toBe(431);
  });
});

describe('the address', () => {
  it('tells the real port, and one that is taken is an error that names it', async () => {
    await start();
    expect(probe.address).toMatch(/^127\.0\.0\.1:[1-9]\d*$/);
    const { address } = probe;
    await expect(start({ listen: parseListenAddress(address) })).rejects.toMatchObject({
      code: 'probe-listen-failed',
      message: expect.stringContaining(address) as string,
    });
  });
});

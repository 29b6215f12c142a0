import { request, type IncomingMessage } from 'node:http';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createMetrics } from '../../../src/observe/create-metrics.ts';
import {
  startHealthServer,
  type Health,
  type HealthListen,
  type HealthServer,
} from '../../../src/observe/health-server.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';
import { withDeadline } from '../../support/wait-for.ts';

type Answer = { readonly status: number; readonly body: string; readonly type: string };

function ask(target: object, path: string, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ ...target, path, method, agent: false }, (response: IncomingMessage) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => (body += text));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body, type: response.headers['content-type'] ?? '' }),
      );
    });
    sent.on('error', reject).end();
  });
}

describe('the health server', () => {
  let folder: TempFolder;
  let server: HealthServer | undefined;
  let live: Health;
  let ready: Health;

  beforeEach(() => {
    folder = createTempFolder();
    live = { isOk: true, reasons: [] };
    ready = { isOk: true, reasons: [] };
  });
  afterEach(async () => {
    await server?.close();
    server = undefined;
    folder.remove();
  });

  const start = async (listen: HealthListen): Promise<HealthServer> => {
    const metrics = createMetrics({ withProcessMetrics: false });
    server = await startHealthServer({ listen, metrics, live: () => live, ready: () => ready });
    return server;
  };
  const onPort = async (): Promise<object> => {
    const { address } = await start({ kind: 'tcp', address: '127.0.0.1', port: 0 });
    return { host: '127.0.0.1', port: Number(address.split(':')[1]) };
  };

  test('answers /drained when what it waits for is over, where there is such a thing', async () => {
    const over = Promise.withResolvers<Health>();
    const metrics = createMetrics({ withProcessMetrics: false });
    const parts = { metrics, live: () => live, ready: () => ready, drained: () => over.promise };
    server = await startHealthServer({ listen: { kind: 'tcp', address: '127.0.0.1', port: 0 }, ...parts });
    const target = { host: '127.0.0.1', port: Number(server.address.split(':')[1]) };
    const asked = ask(target, '/drained');
    expect(await ask(target, '/readyz')).toMatchObject({ status: 200 });
    over.resolve({ isOk: true, reasons: [] });
    expect(await asked).toMatchObject({ status: 200, body: 'drained\n' });
    await server.close();
    expect(await ask(await onPort(), '/drained')).toMatchObject({ status: 404 });
  });

  test('gives programs one JSON value where it has one', async () => {
    const metrics = createMetrics({ withProcessMetrics: false });
    const parts = { metrics, live: () => live, ready: () => ready, status: () => ({ state: 'ready' }) };
    server = await startHealthServer({ listen: { kind: 'tcp', address: '127.0.0.1', port: 0 }, ...parts });
    const target = { host: '127.0.0.1', port: Number(server.address.split(':')[1]) };
    expect(await ask(target, '/status')).toMatchObject({ status: 200, body: '{"state":"ready"}\n' });
    await server.close();
    expect(await ask(await onPort(), '/status')).toMatchObject({ status: 404 });
  });

  test('says live and ready with 200', async () => {
    const target = await onPort();
    expect(await ask(target, '/livez')).toMatchObject({ status: 200, body: 'live\n' });
    expect(await ask(target, '/readyz')).toMatchObject({ status: 200, body: 'ready\n' });
  });

  test('says not ready with 503 and every reason, and asks anew each time', async () => {
    const target = await onPort();
    ready = { isOk: false, reasons: ['no CA pool is loaded', 'Envoy is not running'] };
    const answer = await ask(target, '/readyz');
    expect(answer).toMatchObject({ status: 503, body: 'not ready\n- no CA pool is loaded\n- Envoy is not running\n' });
    ready = { isOk: true, reasons: ['the CA expires in 20 days'] };
    expect(await ask(target, '/readyz')).toMatchObject({ status: 200, body: 'ready\n- the CA expires in 20 days\n' });
  });

  test('serves the metrics in the text format, whatever the query', async () => {
    const answer = await ask(await onPort(), '/metrics?x=1');
    expect(answer.status).toBe(200);
    expect(answer.type).toContain('text/plain; version=0.0.4');
    expect(answer.body).toContain('leafgate_leaves_minted_total 0');
  });

  test.each([
    ['GET', '/', 404],
    ['GET', '/metrics/', 404],
    ['POST', '/metrics', 405],
    ['DELETE', '/readyz', 405],
  ])('answers %s %s with %i', async (method, path, status) => {
    expect((await ask(await onPort(), path, method)).status).toBe(status);
  });

  test('answers HEAD without a body', async () => {
    expect(await ask(await onPort(), '/livez', 'HEAD')).toMatchObject({ status: 200, body: '' });
  });

  test('never takes the place of a file that is no socket', async () => {
    const path = folder.file('precious.txt');
    writeFileSync(path, 'precious');
    await expect(start({ kind: 'unix', path })).rejects.toMatchObject({ code: 'socket-path-taken' });
    expect(readFileSync(path, 'utf8')).toBe('precious');
  });

  test('listens on a unix socket that only its owner can open', async () => {
    const path = folder.file('health.sock');
    const { address } = await start({ kind: 'unix', path });
    expect(address).toBe(`unix:${path}`);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect((await ask({ socketPath: path }, '/livez')).status).toBe(200);
  });

  test('a port in use is one error that names it', async () => {
    const { port } = (await onPort()) as { port: number };
    const metrics = createMetrics({ withProcessMetrics: false });
    const listen = { kind: 'tcp', address: '127.0.0.1', port } as const;
    await expect(startHealthServer({ listen, metrics, live: () => live, ready: () => ready })).rejects.toMatchObject({
      code: 'health-listen-failed',
      message: `the health and metrics server cannot listen on 127.0.0.1:${port}: another process already listens there`,
    });
  });

  test('a request that is never finished does not keep it from closing', async () => {
    const { port } = (await onPort()) as { port: number };
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    // a whole request before it shows that the server has taken the connection
    socket.write('GET /livez HTTP/1.1\r\nhost: x\r\n\r\nGET /livez HTTP/1.1\r\n');
    await new Promise((resolve) => socket.once('data', resolve));
    await withDeadline('the server to close', Promise.resolve(server?.close()), 2_000);
    await closed;
    server = undefined;
  });
});

import { createServer, type RequestListener, type Server } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createAdminClient, parseStats } from '../../../src/envoy/admin-client.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';

describe('the admin client', () => {
  let folder: TempFolder;
  let server: Server | undefined;
  const limits = { timeoutMs: 5_000, maxBytes: 1_000 };
  beforeEach(() => (folder = createTempFolder()));
  afterEach(() => {
    server?.closeAllConnections();
    server?.close();
    server = undefined;
    folder.remove();
  });

  const serve = (listener: RequestListener): Promise<string> => {
    const path = folder.file('admin.sock');
    server = createServer(listener);
    return new Promise((resolve) => server?.listen(path, () => resolve(path)));
  };

  test('gives status and body, of a refusal too', async () => {
    const path = await serve((request, response) => {
      response.statusCode = request.method === 'POST' ? 200 : 503;
      response.end(`${request.method ?? ''} ${request.url ?? ''}`);
    });
    const admin = createAdminClient(path, limits);
    expect(await admin.get('/ready')).toEqual({ status: 503, body: 'GET /ready' });
    expect(await admin.post('/drain_listeners?graceful')).toEqual({
      status: 200,
      body: 'POST /drain_listeners?graceful',
    });
  });

  test('reads statistics by a filter', async () => {
    let asked = '';
    const path = await serve((request, response) => {
      asked = decodeURIComponent(request.url ?? '');
      response.end('{"stats":[{"name":"a.b","value":3},{"histograms":{}},{"name":"text","value":"x"}]}');
    });
    const stats = await createAdminClient(path, limits).readStats('^a\\.b$');
    expect(asked).toBe('/stats?format=json&filter=^a\\.b$');
    expect([...stats]).toEqual([['a.b', 3]]);
  });

  test.each([
    ['is not there', () => Promise.resolve(folder.file('none')), /no such file or folder/],
    ['says nothing', () => serve(() => undefined), /no answer in 50 ms/],
    ['says too much', () => serve((_, response) => response.end('x'.repeat(2_000))), /more than 1000 bytes/],
    ['breaks off', () => serve((request) => request.socket.destroy()), /socket hang up|broke the connection off/],
  ])('an Envoy that %s is an error that names the question', async (_, start, detail) => {
    const admin = createAdminClient(await start(), { ...limits, timeoutMs: 50 });
    const error = await admin.get('/ready?x').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'envoy-admin-failed', fields: { request: 'GET /ready' } });
    expect((error as Error).message).toMatch(detail);
  });

  test.each(['', 'x', '[]', '{}', '{"stats":1}'])('statistics that are %j are an error', (body) => {
    expect(() => parseStats(body)).toThrow('not the expected JSON');
  });

  test('statistics refused by Envoy are an error', async () => {
    const path = await serve((_, response) => {
      response.statusCode = 400;
      response.end();
    });
    await expect(createAdminClient(path, limits).readStats('(')).rejects.toThrow('status 400');
  });
});

// /metrics, /livez, /readyz, /status and, in a pod, /drained over plain HTTP on a port or a unix socket (0600). Read-only,
// bounded, and silent about names and keys. Must not know what health means.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer } from '../node-http.ts';
import type { Metrics } from './create-metrics.ts';
import { listenPrivately } from '../private-socket.ts';
import { systemReason } from '../system-error.ts';
import { observeErrors } from './observe-errors.ts';

/** `reasons` says what is wrong, or what to know although nothing is; each a sentence without a full stop */
export type Health = { readonly isOk: boolean; readonly reasons: readonly string[] };

export type HealthListen =
  | { readonly kind: 'tcp'; readonly address: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string };

export type HealthServerOptions = {
  readonly listen: HealthListen;
  readonly metrics: Metrics;
  /** not ok: restarting this process would help */
  readonly live: () => Health;
  /** not ok: do not send work here now */
  readonly ready: () => Health;
  /** one JSON value for programs */
  readonly status?: () => object;
  /** answers when what is asked to wait for is over; must bound itself and how many wait */
  readonly drained?: () => Promise<Health>;
};

export interface HealthServer {
  /** `127.0.0.1:9090` or `unix:/path`; the port is the real one when 0 was asked for */
  readonly address: string;
  close(): Promise<void>;
}

/** a scrape is one small request; nothing here needs long or many */
const requestTimeoutMs = 5_000;
const maxConnections = 32;
const maxHeaderBytes = 8 * 1024;

export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const server = createServer(
    { maxHeaderSize: maxHeaderBytes, requestTimeout: requestTimeoutMs, connectionsCheckingInterval: 1_000 },
    (request, response) => {
      void answer(request, options).then((reply) => send(request, response, reply));
    },
  );
  server.maxConnections = maxConnections;
  server.headersTimeout = requestTimeoutMs;
  await listenOn(server, options.listen);
  // a connection that could not be accepted is one scrape less, not the end of the process
  server.on('error', () => undefined);
  return { address: addressText(server, options.listen), close: () => closeServer(server) };
}

type Reply = { readonly status: number; readonly contentType: string; readonly body: string };

async function answer(request: IncomingMessage, options: HealthServerOptions): Promise<Reply> {
  if (request.method !== 'GET' && request.method !== 'HEAD') return plain(405, 'only GET\n');
  const path = request.url?.split('?')[0];
  if (path === '/livez') return healthReply('live', options.live());
  if (path === '/readyz') return healthReply('ready', options.ready());
  if (path === '/drained' && options.drained !== undefined) return healthReply('drained', await options.drained());
  if (path === '/status' && options.status !== undefined) return jsonReply(options.status());
  if (path !== '/metrics') return plain(404, 'there are /metrics, /livez, /readyz and, of a gateway, /status\n');
  try {
    return { status: 200, contentType: options.metrics.contentType, body: await options.metrics.render() };
  } catch {
    return plain(500, 'the metrics could not be read\n');
  }
}

function healthReply(word: string, health: Health): Reply {
  const head = health.isOk ? word : `not ${word}`;
  return plain(health.isOk ? 200 : 503, `${[head, ...health.reasons.map((reason) => `- ${reason}`)].join('\n')}\n`);
}

function jsonReply(value: object): Reply {
  return { status: 200, contentType: 'application/json; charset=utf-8', body: `${JSON.stringify(value)}\n` };
}

function plain(status: number, body: string): Reply {
  return { status, contentType: 'text/plain; charset=utf-8', body };
}

function send(request: IncomingMessage, response: ServerResponse, { status, contentType, body }: Reply): void {
  const length = Buffer.byteLength(body);
  response.writeHead(status, { 'content-type': contentType, 'content-length': length, 'cache-control': 'no-store' });
  response.end(request.method === 'HEAD' ? undefined : body);
}

async function listenOn(server: Server, listen: HealthListen): Promise<void> {
  if (listen.kind === 'unix') {
    await listenPrivately(server, listen.path);
    return;
  }
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const failed = (error: Error): void => {
    const address = `${listen.address}:${listen.port}`;
    reject(observeErrors.error('health-listen-failed', { address, detail: systemReason(error) }, error));
  };
  server.once('error', failed);
  server.listen({ host: listen.address, port: listen.port }, () => {
    server.off('error', failed);
    resolve();
  });
  await promise;
}

function addressText(server: Server, listen: HealthListen): string {
  if (listen.kind === 'unix') return `unix:${listen.path}`;
  const bound: AddressInfo | string | null = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : listen.port;
  return listen.address.includes(':') ? `[${listen.address}]:${port}` : `${listen.address}:${port}`;
}

function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}

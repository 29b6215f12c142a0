// One request over verified TLS, and its outcome as a value: answered, or failed with a stable code. A redirect on the
// origin is reported as its status and one off it is refused: none is followed. Nothing falls back to plain HTTP, and
// neither headers nor body are written before the server has proven its name. Must not know what a verdict is.
import { setImmediate } from 'node:timers/promises';
import type { Clock, DurationMs } from '../clock.ts';
import { classifyFailure, plainFailure } from './classify-failure.ts';
import { FetchFailureError } from './fetch-result.ts';
import type { FetchResult } from './fetch-result.ts';
import { authorityOf, parseFetchTarget } from './fetch-target.ts';
import type { FetchTarget } from './fetch-target.ts';
import { firstOf, maxRefusalBytes, readGatewayRefusal } from './gateway-refusal.ts';
import type { AnswerHeaders } from './gateway-refusal.ts';
import type { HttpProxy } from './http-proxy.ts';
import { RequestTrace, type OriginConnections } from './origin-connections.ts';
import type { ServerTrust } from './server-trust.ts';
import { transportErrors } from './transport-errors.ts';
import type { TrustRegistry } from './trust-registry.ts';

export type FetchRequest = {
  readonly registry: TrustRegistry;
  readonly clock: Clock;
  /** https only, without credentials */
  readonly url: string;
  readonly trust: ServerTrust;
  readonly proxy?: HttpProxy;
  /** HOST:PORT to connect to, or to ask the proxy for, instead of the URL's own */
  readonly dial?: string;
  /** longest until the status line; what the body may take is a constant beyond it */
  readonly timeoutMs: DurationMs;
  /** GET when absent */
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
};

/** a body is read to keep the connection and to learn a gateway's reason; what is longer costs the connection */
const maxBodyBytes = 1024 * 1024;
/** an event stream never ends: its answer was the status */
const bodyMs = 2000;

const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const reservedHeaders: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'te',
  'transfer-encoding',
  'upgrade',
]);

/** Throws what parseFetchTarget throws, `fetch-header-reserved` and `transport-registry-…`; all else is a result. */
export async function fetchThrough(request: FetchRequest): Promise<FetchResult> {
  const target = parseFetchTarget(request.url, request.dial);
  const reserved = Object.keys(request.headers ?? {}).find((name) => reservedHeaders.has(name.toLowerCase()));
  if (reserved !== undefined) throw transportErrors.error('fetch-header-reserved', { header: reserved });
  const first = await attempt(request, target);
  return first.isStale ? (await attempt(request, target)).result : first.result;
}

type Attempt = {
  readonly result: FetchResult;
  /** a kept connection turned out to be closed by the server meanwhile, and asking again does no harm */
  readonly isStale: boolean;
};

async function attempt(request: FetchRequest, target: FetchTarget): Promise<Attempt> {
  const { registry, trust, proxy } = request;
  const trace = new RequestTrace();
  const route = { target, trust, ...(proxy === undefined ? {} : { proxy }) };
  const result = await registry.use(route, (connections) => exchange({ request, target, connections, trace }));
  const isRepeatable = ['GET', 'HEAD'].includes(request.method ?? 'GET');
  const isClosed = result.kind === 'failed' && result.code === 'connection-closed';
  return { result, isStale: isClosed && isRepeatable && trace.earlierAnswers() > 0 };
}

type Exchange = {
  readonly request: FetchRequest;
  readonly target: FetchTarget;
  readonly connections: OriginConnections;
  readonly trace: RequestTrace;
};

async function exchange({ request, target, connections, trace }: Exchange): Promise<FetchResult> {
  const peer = { role: 'server', text: authorityOf(target.dial ?? target.endpoint) } as const;
  const deadline = new AbortController();
  const timer = request.clock.after(request.timeoutMs, () => {
    const failure = plainFailure('timeout', peer, `no answer within ${request.timeoutMs} ms`);
    deadline.abort(new FetchFailureError(failure));
  });
  try {
    const response = await connections.request({
      method: request.method ?? 'GET',
      path: target.path,
      headers: request.headers ?? {},
      body: request.body ?? null,
      signal: deadline.signal,
      opaque: trace,
    });
    // read before anything is awaited: a later request may take the connection
    const tls = trace.session();
    trace.answered();
    timer.cancel();
    const body = await readSome(response.body);
    // undici frees a connection one turn of the loop after its answer (client-h1.js): a next request then finds it
    await setImmediate();
    if (tls === undefined) return plainFailure('bad-response', peer, 'the connection has no session');
    return resultOf({ status: response.statusCode, headers: response.headers, body, tls }, target);
  } catch (thrown) {
    return classifyFailure(thrown, peer);
  } finally {
    timer.cancel();
  }
}

type Response = {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: Uint8Array;
  readonly tls: NonNullable<ReturnType<RequestTrace['session']>>;
};

function resultOf({ status, headers, body, tls }: Response, target: FetchTarget): FetchResult {
  const location = redirectStatuses.has(status) ? firstOf(headers['location']) : undefined;
  if (location !== undefined && !isOnOrigin(location, target)) {
    const detail = `${target.origin} redirects off its origin (${status}), which is not followed`;
    return { kind: 'failed', code: 'redirect-refused', status, tls, detail };
  }
  const gateway = status < 400 ? undefined : readGatewayRefusal(headers, body);
  return { kind: 'answered', status, tls, ...(gateway === undefined ? {} : { gateway }) };
}

function isOnOrigin(location: string, target: FetchTarget): boolean {
  const base = `${target.origin}${target.path}`;
  if (!URL.canParse(location, base)) return false;
  try {
    return parseFetchTarget(new URL(location, base).href).origin === target.origin;
  } catch {
    // plain HTTP, credentials, a host that is none: wherever it leads, it is not this origin
    return false;
  }
}

/** The start of the body. Never fails: the answer has come, and how its body ends does not change it. */
async function readSome(body: AsyncIterable<unknown> & { destroy(): unknown }): Promise<Uint8Array> {
  const kept: Uint8Array[] = [];
  let size = 0;
  const timer = setTimeout(() => void body.destroy(), bodyMs);
  try {
    for await (const chunk of body) {
      if (!(chunk instanceof Uint8Array)) break;
      if (size < maxRefusalBytes) kept.push(chunk);
      size += chunk.byteLength;
      if (size > maxBodyBytes) break;
    }
  } catch {
    // cut off, by the peer or by our timer
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(kept).subarray(0, maxRefusalBytes);
}

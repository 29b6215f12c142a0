// The probe as a small HTTP server: GET /fetch?url=&roots=bundle|system[&dial=] makes one fetch from where this process
// stands and tells how it went, as JSON. 200 means that the fetch was made; how it went is in `kind` and `code`.
// Loopback by default, bounded in size, number and time. Must not know flags.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from '../node-http.ts';
import type { Clock, DurationMs } from '../clock.ts';
import { seconds } from '../clock.ts';
import { LeafgateError } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import { systemReason } from '../system-error.ts';
import type { ListenAddress } from '../settings/gateway-spec.ts';
import { listenAddressText } from '../settings/parse-listen.ts';
import { fetchThrough } from '../transport/fetch-through.ts';
import type { HttpProxy } from '../transport/http-proxy.ts';
import type { TrustFile } from '../transport/trust-file.ts';
import type { TrustRegistry } from '../transport/trust-registry.ts';
import { probeHeaders } from './check-pair.ts';
import { probeErrors } from './probe-errors.ts';
import { eachProblem } from './problem-list.ts';
import { readProbeQuestion } from './probe-query.ts';
import type { FetchQuestion, ProbeQuestion } from './probe-query.ts';

export type ProbeServerOptions = {
  readonly listen: ListenAddress;
  /** read again at each request: a changed bundle gets connections of its own */
  readonly bundleFile: TrustFile;
  readonly systemFile: TrustFile;
  readonly proxy?: HttpProxy;
  /** its connections; who made it closes it */
  readonly registry: TrustRegistry;
  readonly clock: Clock;
  readonly log: Log;
  /** names beside localhost and the listening address that callers may use, such as a Service's */
  readonly allowedHosts?: readonly string[];
  readonly limits?: Partial<ProbeLimits>;
};

type ProbeLimits = {
  /** fetches at once; what comes above is answered 429 */
  readonly maxFetches: number;
  readonly fetchTimeoutMs: DurationMs;
};

const probeLimits: ProbeLimits = {
  maxFetches: 16,
  // longer than a dial may take (transport's registryDefaults), so that its reason arrives
  fetchTimeoutMs: seconds(15),
};

export interface ProbeServer {
  /** `127.0.0.1:8080`; the port is the real one when 0 was asked for */
  readonly address: string;
  /** ends running fetches' answers too */
  close(): Promise<void>;
}

/** a request is one line and a few headers */
const requestMs = 10_000;
const maxHeaderBytes = 16 * 1024;
/** keep-alive connections of callers; four times the fetches that may run */
const maxConnections = 64;

type Reply = {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Throws `probe-listen-failed`. */
export async function startProbeServer(options: ProbeServerOptions): Promise<ProbeServer> {
  const service = new ProbeService(options);
  const server = createServer(
    {
      maxHeaderSize: maxHeaderBytes,
      requestTimeout: requestMs,
      headersTimeout: requestMs,
      connectionsCheckingInterval: 1_000,
    },
    (request, response) => {
      void service.answer(request).then((reply) => send(response, reply));
    },
  );
  server.maxConnections = maxConnections;
  await listen(server, options.listen);
  return { address: listenAddressText(boundAddress(server, options.listen)), close: () => closeServer(server) };
}

class ProbeService {
  readonly #options: ProbeServerOptions;
  readonly #limits: ProbeLimits;
  readonly #allowedHosts: ReadonlySet<string>;
  #running = 0;

  constructor(options: ProbeServerOptions) {
    this.#options = options;
    this.#limits = { ...probeLimits, ...options.limits };
    this.#allowedHosts = new Set((options.allowedHosts ?? []).map((host) => host.toLowerCase()));
  }

  /** Never rejects. */
  async answer(request: IncomingMessage): Promise<Reply> {
    const question = readProbeQuestion(requestLine(request), this.#allowedHosts);
    switch (question.kind) {
      case 'live':
        return { status: 200, body: { live: true } };
      case 'refused':
        return refusal(question);
      case 'fetch':
        return this.#bounded(question.fetch);
      default:
        return question satisfies never;
    }
  }

  async #bounded(fetch: FetchQuestion): Promise<Reply> {
    const limit = this.#limits.maxFetches;
    if (this.#running >= limit) {
      const headers = { 'retry-after': '1' };
      return { status: 429, body: errorBody(probeErrors.error('probe-busy', { limit })), headers };
    }
    this.#running += 1;
    try {
      return await this.#fetch(fetch);
    } catch (thrown) {
      const error = LeafgateError.from(thrown);
      this.#options.log.warn('a probe could not be made', { code: error.code, detail: error.message });
      return { status: 503, body: errorBody(error) };
    } finally {
      this.#running -= 1;
    }
  }

  async #fetch({ url, roots, dial }: FetchQuestion): Promise<Reply> {
    const { registry, clock, proxy, bundleFile, systemFile } = this.#options;
    const trust = await (roots === 'bundle' ? bundleFile : systemFile).current();
    const result = await fetchThrough({
      ...{ registry, clock, url, trust, timeoutMs: this.#limits.fetchTimeoutMs, headers: probeHeaders },
      ...(proxy === undefined ? {} : { proxy }),
      ...(dial === undefined ? {} : { dial }),
    });
    return { status: 200, body: { url, roots, rootsFile: trust.source, rootsSha256: trust.sha256, ...result } };
  }
}

function requestLine(request: IncomingMessage): Parameters<typeof readProbeQuestion>[0] {
  const site = request.headers['sec-fetch-site'];
  return {
    method: request.method ?? '',
    target: request.url ?? '',
    host: request.headers.host ?? '',
    localAddress: request.socket.localAddress ?? '',
    // browsers add these by themselves and pages cannot leave them out; typing the address sends `none`
    isFromPage: request.headers.origin !== undefined || (site !== undefined && site !== 'none'),
  };
}

function refusal({ status, error }: Extract<ProbeQuestion, { kind: 'refused' }>): Reply {
  return { status, body: errorBody(error), ...(status === 405 ? { headers: { allow: 'GET' } } : {}) };
}

/** All problems at once; our own sentences only, never what a library threw. */
function errorBody(error: LeafgateError): object {
  return { problems: eachProblem(error).map(({ code, message, remedy }) => ({ code, message, remedy })) };
}

function send(response: ServerResponse, { status, body, headers }: Reply): void {
  const text = `${JSON.stringify(body)}\n`;
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    ...headers,
  });
  response.end(text);
}

async function listen(server: Server, address: ListenAddress): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', (error) => {
    const detail = systemReason(error);
    reject(probeErrors.error('probe-listen-failed', { address: listenAddressText(address), detail }, error));
  });
  server.listen({ host: address.address.text, port: address.port }, resolve);
  await promise;
}

function boundAddress(server: Server, asked: ListenAddress): ListenAddress {
  const bound = server.address();
  return typeof bound === 'object' && bound !== null ? { ...asked, port: bound.port } : asked;
}

function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}

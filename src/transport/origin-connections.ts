// The connections to one origin under one trust: undici's Pool whose every connection is dialled and verified here,
// and the TLS session of the connection that a request went over. Must not know keys or which others exist.
import type { Dispatcher } from 'undici';
import request from 'undici/lib/api/api-request.js';
import Client from 'undici/lib/dispatcher/client.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import type { DurationMs } from '../clock.ts';
import type { VerifiedConnection } from './dial-tls.ts';
import type { TlsSession } from './tls-session.ts';

export type ConnectionLimits = {
  readonly maxConnections: number;
  /** how long a connection without a request is kept */
  readonly keepAliveMs: DurationMs;
};

/** Filled in while a request runs: the connection that carries it. undici's answers do not name their socket. */
export class RequestTrace {
  #client: TracedClient | undefined;

  takenBy(client: TracedClient): void {
    this.#client = client;
  }

  /** right at the time of the answer, since a connection carries one request at a time */
  session(): TlsSession | undefined {
    return this.#client?.current?.session;
  }

  /** answers that came over the same connection before this one's */
  earlierAnswers(): number {
    return this.#client?.current?.answers ?? 0;
  }

  answered(): void {
    const current = this.#client?.current;
    if (current !== undefined) current.answers += 1;
  }
}

export type Dial = () => Promise<VerifiedConnection>;

/** its trace is what undici hands to the connection that takes it */
type OriginRequest = Dispatcher.RequestOptions<RequestTrace> & { readonly opaque: RequestTrace };

export interface OriginConnections {
  request(options: OriginRequest): Promise<Dispatcher.ResponseData<unknown>>;
  /** ends every connection, in use or not */
  destroy(): Promise<void>;
}

export function createOriginConnections(origin: string, dial: Dial, limits: ConnectionLimits): OriginConnections {
  const pool = new Pool(origin, {
    connections: limits.maxConnections,
    factory: (url) => new TracedClient(url, dial, limits),
  });
  return { request: (options) => request.call(pool, options), destroy: () => pool.destroy() };
}

type Current = { readonly session: TlsSession; answers: number };

class TracedClient extends Client {
  readonly #seen: { current?: Current };

  constructor(url: URL, dial: Dial, limits: ConnectionLimits) {
    const seen: { current?: Current } = {};
    super(url, {
      // one request at a time on a connection, so that an answer belongs to one session
      pipelining: 1,
      allowH2: false,
      // deadlines are the fetch's own, on an injected clock
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: limits.keepAliveMs,
      keepAliveMaxTimeout: limits.keepAliveMs,
      connect: (_, callback) => {
        dial().then(
          ({ socket, session }) => {
            seen.current = { session, answers: 0 };
            callback(null, socket);
          },
          (thrown: unknown) => callback(thrown instanceof Error ? thrown : new Error(String(thrown)), null),
        );
      },
    });
    this.#seen = seen;
  }

  get current(): Current | undefined {
    return this.#seen.current;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if ('opaque' in options && options.opaque instanceof RequestTrace) options.opaque.takenBy(this);
    return super.dispatch(options, handler);
  }
}

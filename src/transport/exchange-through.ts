// One request over a verified connection, with its answer as it comes: any method, a body either way, deadlines for the
// status line and for the body, an end when the caller wants none any more. Nothing is followed, nothing falls back to
// plain HTTP, and no encoding is asked for: a watch must flush each line. Must not know what is said over it.
import { setImmediate } from 'node:timers/promises';
import type { Clock, DurationMs, Timer } from '../clock.ts';
import { classifyFailure, plainFailure } from './classify-failure.ts';
import type { Peer } from './classify-failure.ts';
import { FetchFailureError } from './fetch-result.ts';
import type { FetchFailure } from './fetch-result.ts';
import { authorityOf } from './fetch-target.ts';
import { firstOf } from './gateway-refusal.ts';
import { RequestTrace, type OriginConnections } from './origin-connections.ts';
import type { Route, TrustRegistry } from './trust-registry.ts';

export type ExchangeMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export type ExchangeDeadlines = {
  /** until the status line, dialling included */
  readonly headersMs: DurationMs;
  /** longest silence within the body; each byte starts it anew */
  readonly silenceMs?: DurationMs;
  /** from the status line to the end of the body */
  readonly bodyMs?: DurationMs;
};

export type ExchangeRequest = {
  readonly registry: TrustRegistry;
  readonly clock: Clock;
  readonly route: Route;
  readonly method: ExchangeMethod;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly deadlines: ExchangeDeadlines;
  /** gives the exchange up, and its connection with it */
  readonly signal?: AbortSignal;
  /** a connection that ends with this answer and was used for none before: for long streams */
  readonly hasOwnConnection?: boolean;
};

export type StreamedAnswer = {
  readonly status: number;
  /** the first one of that name */
  readonly header: (name: string) => string | undefined;
  /** to be read inside the callback only; what it throws is for exchangeThrough to catch */
  readonly body: AsyncIterable<Uint8Array>;
};

export type ExchangeResult<T> = { readonly kind: 'answered'; readonly value: T } | FetchFailure;

/**
 * Lends the answer to `read` and gives what that returns. A body that is not read to its end costs the connection. Throws
 * what `read` throws and `transport-registry-…`; all else is a result.
 */
export async function exchangeThrough<T>(
  request: ExchangeRequest,
  read: (answer: StreamedAnswer) => Promise<T>,
): Promise<ExchangeResult<T>> {
  const first = await attempt(request, read);
  return first.isStale ? (await attempt(request, read)).result : first.result;
}

type Attempt<T> = {
  readonly result: ExchangeResult<T>;
  /** a kept connection turned out to be closed by the server meanwhile, and asking again does no harm */
  readonly isStale: boolean;
};

async function attempt<T>(request: ExchangeRequest, read: (answer: StreamedAnswer) => Promise<T>): Promise<Attempt<T>> {
  const trace = new RequestTrace();
  const exchange = new Exchange(request, trace);
  const result = await request.registry.use(request.route, (connections) => exchange.run(connections, read));
  const isClosed = result.kind === 'failed' && result.code === 'connection-closed' && !exchange.isAnswered;
  return { result, isStale: isClosed && request.method === 'GET' && trace.earlierAnswers() > 0 };
}

class Exchange {
  readonly #request: ExchangeRequest;
  readonly #trace: RequestTrace;
  readonly #peer: Peer;
  readonly #end = new AbortController();
  isAnswered = false;

  constructor(request: ExchangeRequest, trace: RequestTrace) {
    const { target } = request.route;
    this.#request = request;
    this.#trace = trace;
    this.#peer = { role: 'server', text: authorityOf(target.dial ?? target.endpoint) };
  }

  async run<T>(
    connections: OriginConnections,
    read: (answer: StreamedAnswer) => Promise<T>,
  ): Promise<ExchangeResult<T>> {
    const { signal, deadlines } = this.#request;
    const giveUp = (): void => this.#fail(plainFailure('connection-closed', this.#peer, 'given up'));
    signal?.addEventListener('abort', giveUp, { once: true });
    const headers = this.#after(deadlines.headersMs, 'no answer');
    let whole: Timer | undefined;
    try {
      if (signal?.aborted === true) giveUp();
      const response = await this.#ask(connections);
      headers.cancel();
      this.isAnswered = true;
      this.#trace.answered();
      if (deadlines.bodyMs !== undefined) whole = this.#after(deadlines.bodyMs, 'no whole body');
      return { kind: 'answered', value: await this.#lend(response, read) };
    } catch (thrown) {
      if (thrown instanceof ReaderFault) throw thrown.cause;
      // what an aborted request throws is noise: the reason says why it was given up
      return classifyFailure(this.#end.signal.aborted ? this.#end.signal.reason : thrown, this.#peer);
    } finally {
      headers.cancel();
      whole?.cancel();
      signal?.removeEventListener('abort', giveUp);
    }
  }

  #ask(connections: OriginConnections) {
    const { route, method, headers, body, hasOwnConnection } = this.#request;
    return connections.request({
      method,
      path: route.target.path,
      headers,
      body: body ?? null,
      signal: this.#end.signal,
      opaque: this.#trace,
      reset: hasOwnConnection ?? false,
    });
  }

  async #lend<T>(
    response: Awaited<ReturnType<OriginConnections['request']>>,
    read: (answer: StreamedAnswer) => Promise<T>,
  ) {
    try {
      const value = await read({
        status: response.statusCode,
        header: (name) => firstOf(response.headers[name]),
        body: this.#chunks(response.body),
      });
      // undici frees a connection one turn of the loop after its answer (client-h1.js): a next request then finds it
      await setImmediate();
      return value;
    } catch (thrown) {
      throw thrown instanceof BodyFault ? thrown.cause : new ReaderFault('the reader failed', { cause: thrown });
    } finally {
      response.body.on('error', () => undefined).destroy();
    }
  }

  async *#chunks(body: AsyncIterable<unknown>): AsyncGenerator<Uint8Array> {
    let silence = this.#silence();
    try {
      for await (const chunk of body) {
        silence?.cancel();
        if (chunk instanceof Uint8Array) yield chunk;
        silence = this.#silence();
      }
    } catch (thrown) {
      throw new BodyFault('the body broke off', { cause: thrown });
    } finally {
      silence?.cancel();
    }
  }

  #silence(): Timer | undefined {
    const { silenceMs } = this.#request.deadlines;
    return silenceMs === undefined ? undefined : this.#after(silenceMs, 'nothing more');
  }

  #after(ms: DurationMs, what: string): Timer {
    return this.#request.clock.after(ms, () => {
      this.#fail(plainFailure('timeout', this.#peer, `${what} within ${ms} ms`));
    });
  }

  #fail(failure: FetchFailure): void {
    this.#end.abort(new FetchFailureError(failure));
  }
}

/** tells what the wire did from what the reader did */
class BodyFault extends Error {}
class ReaderFault extends Error {}

// Requests to one API server: what we show, deadlines, and one more try when the server refuses what we showed and the
// files behind it have changed, or when it asks us to wait a little. Must not know objects.
import { millis, seconds } from '../clock.ts';
import type { Clock, DurationMs } from '../clock.ts';
import type { SecretBytes } from '../secret-bytes.ts';
import { pause } from '../pause.ts';
import { exchangeThrough } from '../transport/exchange-through.ts';
import type { ExchangeDeadlines, ExchangeMethod, StreamedAnswer } from '../transport/exchange-through.ts';
import type { FetchFailure } from '../transport/fetch-result.ts';
import { parseFetchTarget } from '../transport/fetch-target.ts';
import { createTrustRegistry } from '../transport/trust-registry.ts';
import type { TrustRegistry } from '../transport/trust-registry.ts';
import type { AccessNow, ClusterAccess } from './cluster-access.ts';
import { kubeError, ownFailure, retryAfterOf } from './kube-failure.ts';
import type { KubeFailure } from './kube-failure.ts';
import { failureOfAnswer, isSuccess } from './judge-answer.ts';
import { readJsonBody } from './read-body.ts';

export type ApiCall = {
  /** for errors: `get secrets "egress/pool"` */
  readonly text: string;
  readonly method: ExchangeMethod;
  /** with its query */
  readonly path: string;
  readonly body?: object;
  readonly contentType?: string;
  /** whether a second request does no harm */
  readonly isIdempotent: boolean;
};

export type Outcome<T> =
  { readonly kind: 'done'; readonly value: T } | { readonly kind: 'failed'; readonly failure: KubeFailure };

export type StreamTerms = { readonly silenceMs: DurationMs; readonly signal: AbortSignal };

type ReadAnswer<T> = (answer: StreamedAnswer) => Promise<Outcome<T>>;

export type ApiConnectionOptions = {
  readonly access: ClusterAccess;
  readonly clock: Clock;
  /** until the status line, and again for the body, of every call but a watch */
  readonly callTimeoutMs: DurationMs;
};

/** more than that and the caller decides what to do meanwhile */
const longestWaitMs = seconds(10);
const maxWaits = 2;
/**
 * Calls at once; the others wait their turn. Each connection costs a handshake, and memory for a minute after its last call: the
 * 150 lists of 50 gateways had 128 of them at a start.
 */
const maxCalls = 32;
/** every watch has a connection of its own; more than this many names is not what this client is for */
const maxStreams = 4096;

export class ApiConnection {
  readonly #options: ApiConnectionOptions;
  readonly #calls: TrustRegistry;
  readonly #streams: TrustRegistry;
  readonly #ended = new AbortController();

  constructor(options: ApiConnectionOptions) {
    const { clock } = options;
    this.#options = options;
    // apart, so that watches never take the connections of calls
    this.#calls = createTrustRegistry({ clock, settings: { maxConnections: maxCalls } });
    this.#streams = createTrustRegistry({ clock, settings: { maxConnections: maxStreams } });
  }

  /** The JSON of a successful answer, read by `judge`. */
  async send<T>(call: ApiCall, judge: (value: unknown) => Outcome<T>): Promise<T> {
    return this.ask(call, async (answer) => {
      const body = await readJsonBody(answer);
      if (!isSuccess(answer.status)) return { kind: 'failed', failure: failureOfAnswer(headOf(answer), body) };
      return body.kind === 'json' ? judge(body.value) : { kind: 'failed', failure: body.failure };
    });
  }

  async ask<T>(call: ApiCall, read: ReadAnswer<T>): Promise<T> {
    const { callTimeoutMs, clock } = this.#options;
    const way: Way = { registry: this.#calls, deadlines: { headersMs: callTimeoutMs, bodyMs: callTimeoutMs } };
    for (let waits = 0; ; waits += 1) {
      const outcome = await this.#withFreshAccess(call, way, read);
      if (outcome.kind === 'done') return outcome.value;
      const { retryAfterMs } = outcome.failure;
      const mayWait = call.isIdempotent && waits < maxWaits && !this.#ended.signal.aborted;
      if (!mayWait || !isBusy(outcome.failure) || retryAfterMs === undefined || retryAfterMs > longestWaitMs) {
        throw kubeError(call.text, outcome.failure);
      }
      await pause(clock, retryAfterMs, this.#ended.signal);
    }
  }

  /** On a connection of its own. Resolves when the stream has ended as it should. */
  async stream<T>(call: ApiCall, { silenceMs, signal }: StreamTerms, read: ReadAnswer<T>): Promise<T> {
    const headersMs = this.#options.callTimeoutMs;
    const way: Way = { registry: this.#streams, deadlines: { headersMs, silenceMs }, signal, hasOwnConnection: true };
    const outcome = await this.#withFreshAccess(call, way, read);
    if (outcome.kind === 'failed') throw kubeError(call.text, outcome.failure);
    return outcome.value;
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await Promise.all([this.#calls.close(), this.#streams.close()]);
  }

  async #withFreshAccess<T>(call: ApiCall, way: Way, read: ReadAnswer<T>): Promise<Outcome<T>> {
    const { access } = this.#options;
    const shown = await access.now();
    const first = await this.#attempt({ call, way, shown }, read);
    if (!first.isRefusal) return first.outcome;
    access.expire();
    const fresh = await access.now();
    return isSameAccess(shown, fresh)
      ? first.outcome
      : (await this.#attempt({ call, way, shown: fresh }, read)).outcome;
  }

  async #attempt<T>({ call, way, shown }: Attempt, read: ReadAnswer<T>): Promise<Attempted<T>> {
    const { access, clock } = this.#options;
    const target = parseFetchTarget(`${access.server}${call.path}`);
    const { trust, credential, token } = shown;
    const { body } = call;
    const result = await exchangeThrough(
      {
        ...way,
        clock,
        method: call.method,
        route: { target, trust, ...(credential === undefined ? {} : { credential }) },
        headers: headersFor(call, token),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      },
      read,
    );
    if (result.kind === 'answered') {
      const outcome = result.value;
      return { outcome, isRefusal: outcome.kind === 'failed' && outcome.failure.kind === 'unauthorized' };
    }
    const isRefusal = result.code === 'certificate' || result.code === 'tls-handshake';
    return { outcome: { kind: 'failed', failure: failureOfTransport(result) }, isRefusal };
  }
}

type Way = {
  readonly registry: TrustRegistry;
  readonly deadlines: ExchangeDeadlines;
  readonly signal?: AbortSignal;
  readonly hasOwnConnection?: boolean;
};

type Attempt = { readonly call: ApiCall; readonly way: Way; readonly shown: AccessNow };
type Attempted<T> = { readonly outcome: Outcome<T>; readonly isRefusal: boolean };

export function headOf(answer: StreamedAnswer): { readonly status: number; readonly retryAfterMs?: DurationMs } {
  const retryAfterMs = retryAfterOf(answer.header('retry-after'));
  return { status: answer.status, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

function headersFor({ contentType, body }: ApiCall, token: SecretBytes | undefined): Record<string, string> {
  return {
    accept: 'application/json',
    'user-agent': 'leafgate',
    ...(body === undefined ? {} : { 'content-type': contentType ?? 'application/json' }),
    ...(token === undefined ? {} : { authorization: `Bearer ${Buffer.from(token.reveal()).toString('latin1')}` }),
  };
}

function isBusy({ kind }: KubeFailure): boolean {
  return kind === 'too-many-requests' || kind === 'unavailable';
}

function failureOfTransport(failure: FetchFailure): KubeFailure {
  return ownFailure(failure.code === 'bad-response' ? 'bad-response' : 'unavailable', failure.detail);
}

function isSameAccess(one: AccessNow, other: AccessNow): boolean {
  const textOf = (token: SecretBytes | undefined): string =>
    token === undefined ? '' : Buffer.from(token.reveal()).toString('latin1');
  return (
    one.trust.sha256 === other.trust.sha256 &&
    one.credential?.sha256 === other.credential?.sha256 &&
    textOf(one.token) === textOf(other.token)
  );
}

export const defaultCallTimeoutMs = millis(30_000);

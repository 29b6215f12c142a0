// Why a call to the API failed, as data: a kind to decide by, the API server's sentence for people, its causes by field.
// Everything in it is bounded and printable, and no PEM is in it, so that it may stand in a condition or a log.
import { LeafgateError, printable } from '../errors.ts';
import { millis } from '../clock.ts';
import type { DurationMs } from '../clock.ts';
import { isRecord } from '../is-record.ts';
import { scrubPem } from '../observe/scrub-pem.ts';
import { kubeErrors } from './kube-errors.ts';

export type KubeFailureKind =
  | 'unauthorized'
  | 'forbidden'
  | 'not-found'
  | 'already-exists'
  | 'conflict'
  | 'invalid'
  | 'gone'
  | 'too-many-requests'
  | 'too-large'
  | 'unavailable'
  | 'bad-response';

type FailureCause = { readonly field?: string; readonly reason?: string; readonly message?: string };

export type KubeFailure = {
  readonly kind: KubeFailureKind;
  /** fit for a condition */
  readonly message: string;
  readonly causes: readonly FailureCause[];
  readonly retryAfterMs?: DurationMs;
};

const maxMessageChars = 1024;
const maxCauses = 20;
/** a server that asks for more is not believed */
const maxRetryAfterSeconds = 3600;

/** What an error of this room says; anything else thrown is `unavailable`, with its message. */
export function kubeFailureOf(thrown: unknown): KubeFailure {
  const error = LeafgateError.from(thrown);
  if (error.cause instanceof FailureDetails) return error.cause.failure;
  return { kind: 'unavailable', message: shown(error.message), causes: [] };
}

/** Nothing can be created in a namespace that is being deleted: forbidden, though no rule is missing (NamespaceLifecycle). */
export function isNamespaceEnding({ causes }: Pick<KubeFailure, 'causes'>): boolean {
  return causes.some(({ reason }) => reason === 'NamespaceTerminating');
}

/** `call` names verb and object, such as `get secrets "egress/pool"`. */
export function kubeError(call: string, failure: KubeFailure): LeafgateError {
  const fields = { call, detail: failure.message };
  return kubeErrors.error(`kube-${failure.kind}`, fields, new FailureDetails(failure));
}

export function ownFailure(kind: KubeFailureKind, message: string, retryAfterMs?: DurationMs): KubeFailure {
  return { kind, message: shown(message), causes: [], ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

/** the `cause` of every error of this room */
class FailureDetails extends Error {
  readonly failure: KubeFailure;

  constructor(failure: KubeFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** meta/v1 Status; undefined when the value is none */
export function failureOfStatus(status: unknown, retryAfterMs?: DurationMs): KubeFailure | undefined {
  if (!isRecord(status) || status['kind'] !== 'Status' || status['status'] === 'Success') return undefined;
  const details = isRecord(status['details']) ? status['details'] : {};
  const code = typeof status['code'] === 'number' ? status['code'] : 0;
  const reason = typeof status['reason'] === 'string' ? status['reason'] : '';
  const message = typeof status['message'] === 'string' ? shown(status['message']) : '';
  const wait = retryAfterMs ?? retryAfterOf(details['retryAfterSeconds']);
  return {
    kind: kindOf(code, reason),
    message: message === '' ? `the API server answered ${code} ${printable(reason)}`.trimEnd() : message,
    causes: causesOf(details['causes']),
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
  };
}

/** Seconds, as Kubernetes sends them; undefined for a date and for nonsense. */
export function retryAfterOf(value: unknown): DurationMs | undefined {
  const count = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
  if (typeof count !== 'number' || !Number.isFinite(count) || count < 0) return undefined;
  return millis(Math.min(count, maxRetryAfterSeconds) * 1000);
}

const kindByCode: Readonly<Record<number, KubeFailureKind>> = {
  400: 'invalid',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not-found',
  405: 'invalid',
  406: 'bad-response',
  409: 'conflict',
  410: 'gone',
  413: 'too-large',
  415: 'invalid',
  422: 'invalid',
  429: 'too-many-requests',
};

export function kindOf(code: number, reason: string): KubeFailureKind {
  if (code === 409 && reason === 'AlreadyExists') return 'already-exists';
  // an error within a watch may carry the reason alone
  if (reason === 'Expired' || reason === 'Gone') return 'gone';
  return kindByCode[code] ?? (code >= 500 || code === 0 ? 'unavailable' : 'bad-response');
}

function causesOf(value: unknown): readonly FailureCause[] {
  if (!Array.isArray(value)) return [];
  const known: readonly unknown[] = value;
  return known
    .slice(0, maxCauses)
    .filter(isRecord)
    .map((cause) => ({
      ...textMember(cause, 'field'),
      ...textMember(cause, 'reason'),
      ...textMember(cause, 'message'),
    }));
}

function textMember<Name extends string>(
  from: Readonly<Record<string, unknown>>,
  name: Name,
): { [name in Name]?: string } {
  const text = from[name];
  const member: { [name in Name]?: string } = {};
  if (typeof text === 'string' && text !== '') member[name] = shown(text);
  return member;
}

function shown(text: string): string {
  return printable(scrubPem(text.slice(0, 8 * maxMessageChars)), maxMessageChars);
}

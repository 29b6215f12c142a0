// From an answer that is no success to its failure. A Status object speaks for itself; anything else, such as a load
// balancer's page, is judged by its status code alone and its text goes nowhere. Pure.
import type { DurationMs } from '../clock.ts';
import { isRecord } from '../is-record.ts';
import type { BodyRead } from './read-body.ts';
import { failureOfStatus, kindOf, ownFailure } from './kube-failure.ts';
import type { KubeFailure } from './kube-failure.ts';

export type AnswerHead = { readonly status: number; readonly retryAfterMs?: DurationMs };

export function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

export function failureOfAnswer({ status, retryAfterMs }: AnswerHead, body: BodyRead): KubeFailure {
  if (status < 200 || (status >= 300 && status <= 399)) {
    return ownFailure('bad-response', `the server answered ${status}, which no API server does; nothing is followed`);
  }
  if (body.kind === 'json') {
    const told = failureOfStatus(body.value, retryAfterMs);
    if (told !== undefined) return told;
  }
  // API servers say `404 page not found` in plain text of what they do not serve; a page is a load balancer's
  if (status === 404 && body.kind === 'bad' && body.type !== 'text/plain') return body.failure;
  const kind = kindOf(status, '');
  return ownFailure(kind, textFor(kind, status), retryAfterMs);
}

function textFor(kind: KubeFailure['kind'], status: number): string {
  switch (kind) {
    case 'too-many-requests':
      return 'the API server takes no more requests for now';
    case 'not-found':
      return 'this server does not serve the resource';
    default:
      return `the server answered ${status} without saying why`;
  }
}

/** What a Status says in so many words: the object itself is absent, not its resource. */
export function isAbsentObject(status: number, body: BodyRead): boolean {
  if (status !== 404 || body.kind !== 'json') return false;
  const { value } = body;
  return isRecord(value) && value['reason'] === 'NotFound' && isRecord(value['details']) && 'name' in value['details'];
}

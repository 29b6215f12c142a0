// A watch's answer as events: one JSON object a line, bounded, checked as it comes. Must not know what is done with them.
import { createLineSplitter } from '../observe/line-splitter.ts';
import type { StreamedAnswer } from '../transport/exchange-through.ts';
import { isRecord } from '../is-record.ts';
import type { Outcome } from './api-connection.ts';
import { failureOfStatus, ownFailure } from './kube-failure.ts';
import type { KubeFailure } from './kube-failure.ts';
import type { KubeResource, WatchEvent } from './kube-types.ts';
import { readObject } from './read-object.ts';

/** 1 MiB of `<` in a ConfigMap is 6 MiB of JSON: Go escapes it as \u003c */
const maxLineBytes = 8 * 1024 * 1024;

/** Ends when the stream ends, or at the first fault in it. */
export async function readWatchStream(
  answer: StreamedAnswer,
  resource: KubeResource,
  onEvent: (event: WatchEvent) => void,
): Promise<Outcome<void>> {
  let fault: KubeFailure | undefined;
  const lines = createLineSplitter(
    maxLineBytes,
    (line) => {
      if (fault !== undefined) return;
      const read = readEvent(line, resource);
      if (read.kind === 'failed') fault = read.failure;
      else if (read.value !== undefined) onEvent(read.value);
    },
    () => undefined,
  );
  for await (const chunk of answer.body) {
    lines.take(chunk);
    if (lines.pendingBytes() > maxLineBytes) fault ??= tooLong;
    if (fault !== undefined) return { kind: 'failed', failure: fault };
  }
  if (lines.pendingBytes() > 0) return failed('unavailable', 'the watch broke off within an event');
  return { kind: 'done', value: undefined };
}

const tooLong = ownFailure('bad-response', `the watch sent an event of more than ${maxLineBytes} bytes`);

function readEvent(line: string, resource: KubeResource): Outcome<WatchEvent | undefined> {
  const event = parsed(line);
  if (!isRecord(event)) return failed('bad-response', 'the watch sent a line that is no JSON object');
  const { type, object } = event;
  if (type === 'ERROR') {
    const told = failureOfStatus(object);
    return { kind: 'failed', failure: told ?? ownFailure('unavailable', 'the watch ended with an error of no kind') };
  }
  if (type === 'BOOKMARK') {
    const resourceVersion =
      isRecord(object) && isRecord(object['metadata']) ? object['metadata']['resourceVersion'] : '';
    if (typeof resourceVersion !== 'string' || resourceVersion === '') {
      return failed('bad-response', 'the watch sent a bookmark without a resourceVersion');
    }
    return { kind: 'done', value: { kind: 'bookmark', resourceVersion } };
  }
  const read = readObject(object, resource);
  if (read === undefined) return failed('bad-response', `the watch sent an event that has no ${resource.kind}`);
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
      return { kind: 'done', value: { kind: 'put', object: read } };
    case 'DELETED':
      return { kind: 'done', value: { kind: 'gone', object: read } };
    default:
      // a type of a later server is no reason to stop
      return { kind: 'done', value: undefined };
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return undefined;
  }
}

function failed<T>(kind: KubeFailure['kind'], message: string): Outcome<T> {
  return { kind: 'failed', failure: ownFailure(kind, message) };
}

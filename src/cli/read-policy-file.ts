// A policy file from disk: read within its bounds, parsed here when it is small, and in a thread of its own when it is not,
// so that a large or hostile file neither stops the minting nor takes this process down. An edge.
import { dirname, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { LeafgateError } from '../errors.ts';
import { readRegularFile } from '../read-regular-file.ts';
import { maxPolicyBytes, policyFileErrors } from '../settings/policy-file-errors.ts';
import { parsePolicyFile, type PolicyFile, type PolicyFileTerms, type PolicyReading } from '../settings/policy-file.ts';
import type { ThreadAnswer, ThreadTask } from './policy-thread.ts';

/** parsed in some 20 ms; a thread takes longer to start */
const smallBytes = 64 * 1024;
/** 10,000 rules take about a second and 350 MB of parse tree (measured) */
const threadDeadlineMs = 15_000;
const threadHeapMb = 1024;

/** The file and what it says; rejects with everything that is wrong with it. */
export async function loadPolicyFile(path: string): Promise<{ readonly bytes: Uint8Array; readonly file: PolicyFile }> {
  const bytes = await readPolicyBytes(path);
  const reading = await parsePolicyBytes(bytes, termsFor(path));
  if (reading.kind === 'refused') throw LeafgateError.all(reading.problems);
  return { bytes, file: reading.file };
}

/** @throws policy-file-unnamed, policy-file-unreadable, policy-file-too-large */
export async function readPolicyBytes(path: string): Promise<Uint8Array> {
  if (path === '') throw policyFileErrors.error('policy-file-unnamed');
  const content = await readRegularFile(path, maxPolicyBytes);
  switch (content.kind) {
    case 'bytes':
      return content.bytes;
    case 'too-large':
      throw policyFileErrors.error('policy-file-too-large', { at: path, maxBytes: maxPolicyBytes });
    case 'unreadable':
      throw policyFileErrors.error('policy-file-unreadable', { at: path, reason: content.reason });
    default:
      return content satisfies never;
  }
}

export function termsFor(path: string): PolicyFileTerms {
  return { source: path, baseDir: dirname(resolve(path)) };
}

/** Never rejects. */
export async function parsePolicyBytes(bytes: Uint8Array, terms: PolicyFileTerms): Promise<PolicyReading> {
  if (bytes.length <= smallBytes) return parsePolicyFile(bytes, terms);
  const answer = await askThread({ bytes, terms }).catch((thrown: unknown) => LeafgateError.from(thrown));
  if (answer instanceof LeafgateError) return { kind: 'refused', problems: [tooComplex(terms, answer.message)] };
  if (answer.kind === 'read') return answer;
  const [first, ...more] = answer.problems.map(({ code, fields }) => policyFileErrors.error(code, fields));
  return { kind: 'refused', problems: [first ?? tooComplex(terms, 'it gave no answer'), ...more] };
}

/** the thread's file has the ending of this one: `.ts` in a checkout, `.js` in a package */
const threadFile = new URL(`policy-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);

async function askThread(task: ThreadTask): Promise<ThreadAnswer> {
  const thread = new Worker(threadFile, {
    workerData: task,
    resourceLimits: { maxOldGenerationSizeMb: threadHeapMb },
    env: {},
  });
  const { promise, resolve: answered, reject } = Promise.withResolvers<ThreadAnswer>();
  const timer = setTimeout(
    () => reject(new Error(`it took longer than ${threadDeadlineMs / 1000} seconds`)),
    threadDeadlineMs,
  );
  thread.once('message', answered);
  thread.once('error', (thrown: unknown) =>
    reject(isOutOfMemory(thrown) ? new Error('it takes too much memory') : LeafgateError.from(thrown)),
  );
  thread.once('exit', () => reject(new Error('its reader ended')));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    await thread.terminate();
  }
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}

function tooComplex({ source }: PolicyFileTerms, reason: string): LeafgateError {
  return policyFileErrors.error('policy-file-too-complex', { at: source, reason });
}

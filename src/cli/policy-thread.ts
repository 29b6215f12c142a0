// The thread that parses one large policy file and ends. It gets bytes and answers with plain data.
import { parentPort, workerData } from 'node:worker_threads';
import { parsePolicyFile, type PolicyFileTerms, type PolicyReading } from '../settings/policy-file.ts';
import type { PolicyFileErrorCode } from '../settings/policy-file-errors.ts';
import type { ErrorFields } from '../errors.ts';

export type ThreadTask = { readonly bytes: Uint8Array; readonly terms: PolicyFileTerms };

/** errors cross as code and fields: what they are made from */
export type ThreadAnswer =
  | Extract<PolicyReading, { kind: 'read' }>
  | { readonly kind: 'refused'; readonly problems: readonly { code: PolicyFileErrorCode; fields: ErrorFields }[] };

const { bytes, terms } = workerData as ThreadTask;
const reading = parsePolicyFile(bytes, terms);
parentPort?.postMessage(
  reading.kind === 'read'
    ? reading
    : { kind: 'refused', problems: reading.problems.map(({ code, fields }) => ({ code, fields })) },
);

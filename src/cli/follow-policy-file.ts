// Follows a policy file: a change is taken within a second, whole or not at all; a file that cannot be used leaves the last
// good policy in force and is reported once. An edge.
import { millis, type Clock } from '../clock.ts';
import { LeafgateError } from '../errors.ts';
import { followSettled } from '../follow-settled.ts';
import type { PolicyFile, PolicyReading } from '../settings/policy-file.ts';
import { cliErrors } from './cli-errors.ts';
import { parsePolicyBytes, readPolicyBytes, termsFor } from './read-policy-file.ts';

type PolicyFileEvents = {
  /** another policy is in force from now on, or the file is good again */
  policyTaken(file: PolicyFile): void;
  /** the file cannot be used; once for each state of it */
  policyRefused(problems: readonly LeafgateError[]): void;
};

export type FollowPolicyRequest = {
  readonly path: string;
  /** what the file said when it was loaded */
  readonly known: Uint8Array;
  readonly clock: Clock;
  readonly events: PolicyFileEvents;
};

const lookEvery = millis(200);
/** looks one after the other that each found something else: five seconds and more */
const restlessAfter = 50;

/** What one look found; two looks are equal when their bytes are, or the reason why there are none. */
type Look = { readonly bytes: Uint8Array } | { readonly error: LeafgateError };

export function followPolicyFile({ path, known, clock, events }: FollowPolicyRequest): { close(): void } {
  let isClosed = false;
  const looks = followSettled<Look>({
    ...{ clock, isSame, known: { bytes: known } },
    // half of a YAML file that is being written can be a whole policy, with the last rules missing: none is taken at one look
    look: () => lookAt(path),
    lookAgainAfter: () => lookEvery,
    settled: async (look) => {
      const reading = await readingOf(look, path);
      if (isClosed) return;
      if (reading.kind === 'read') events.policyTaken(reading.file);
      else events.policyRefused(reading.problems);
    },
    restless: {
      looks: restlessAfter,
      tell: () => events.policyRefused([cliErrors.error('policy-file-restless', { file: path })]),
    },
  });
  return {
    close: () => {
      isClosed = true;
      void looks.close();
    },
  };
}

async function lookAt(path: string): Promise<Look> {
  try {
    return { bytes: await readPolicyBytes(path) };
  } catch (thrown) {
    return { error: LeafgateError.from(thrown) };
  }
}

async function readingOf(look: Look, path: string): Promise<PolicyReading> {
  return 'error' in look ? { kind: 'refused', problems: [look.error] } : parsePolicyBytes(look.bytes, termsFor(path));
}

function isSame(one: Look, other: Look): boolean {
  if ('error' in one || 'error' in other) {
    return 'error' in one && 'error' in other && one.error.message === other.error.message;
  }
  return Buffer.compare(one.bytes, other.bytes) === 0;
}

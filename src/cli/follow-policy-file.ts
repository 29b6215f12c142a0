// Follows a policy file: a change is taken within a second, whole or not at all; a file that cannot be used leaves the last
// good policy in force and is reported once. Looking again and again is what works for symlink swaps (Kubernetes'
// ..data), for replaced files and on every file system. An edge.
import { millis, type Clock, type Timer } from '../clock.ts';
import { LeafgateError } from '../errors.ts';
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
/**
 * A changed file counts when a second look finds it the same: half of a YAML file that is being written can be a whole
 * policy, with the last rules missing.
 */
const settleFor = millis(100);
/** looks one after the other that each found something else: five seconds and more */
const restlessAfter = 50;

/** What one look found; two looks are equal when their bytes are, or the reason why there are none. */
type Look = { readonly bytes: Uint8Array } | { readonly error: LeafgateError };

export function followPolicyFile(request: FollowPolicyRequest): { close(): void } {
  return new FollowedPolicyFile(request);
}

class FollowedPolicyFile {
  readonly #request: FollowPolicyRequest;
  /** the look that was judged last */
  #judged: Look;
  #unsettled: Look | undefined;
  #unsettledLooks = 0;
  #timer: Timer;
  #isClosed = false;

  constructor(request: FollowPolicyRequest) {
    this.#request = request;
    this.#judged = { bytes: request.known };
    this.#timer = request.clock.after(lookEvery, () => void this.#look());
  }

  close(): void {
    this.#isClosed = true;
    this.#timer.cancel();
  }

  async #look(): Promise<void> {
    const look = await lookAt(this.#request.path);
    const isSettled = this.#unsettled !== undefined && isSame(look, this.#unsettled);
    const isNews = !isSame(look, this.#judged);
    if (isNews && isSettled) await this.#judge(look);
    this.#unsettled = isNews && !isSettled ? look : undefined;
    this.#unsettledLooks = this.#unsettled === undefined ? 0 : this.#unsettledLooks + 1;
    if (this.#unsettledLooks === restlessAfter) this.#tellOfRestlessness();
    if (this.#isClosed) return;
    this.#timer = this.#request.clock.after(
      this.#unsettled === undefined ? lookEvery : settleFor,
      () => void this.#look(),
    );
  }

  /** whatever the file says once it is quiet is news then, the known bytes too */
  #tellOfRestlessness(): void {
    if (this.#isClosed) return;
    const error = cliErrors.error('policy-file-restless', { file: this.#request.path });
    this.#judged = { error };
    this.#request.events.policyRefused([error]);
  }

  async #judge(look: Look): Promise<void> {
    this.#judged = look;
    const reading = await readingOf(look, this.#request.path);
    if (this.#isClosed) return;
    if (reading.kind === 'read') this.#request.events.policyTaken(reading.file);
    else this.#request.events.policyRefused(reading.problems);
  }
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

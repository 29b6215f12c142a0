// Where the policy of a running command comes from, and what happens when it changes: loaded before anything starts,
// followed from then on. A file that cannot be used leaves the last good policy in force and says so.
import { LeafgateError } from '../errors.ts';
import type { PolicyFile } from '../settings/policy-file.ts';
import { followPolicyFile } from './follow-policy-file.ts';
import type { LivePolicy } from './live-policy.ts';
import type { PolicyChoice } from './policy-choice.ts';
import { problemsText } from './problems-text.ts';
import { loadPolicyFile } from './read-policy-file.ts';
import type { Surroundings } from './surroundings.ts';

export type LoadedPolicy = {
  readonly file: PolicyFile;
  /** the file's path, or what stands for one */
  readonly source: string;
  /** undefined for rules from flags, which never change */
  readonly followed: { readonly path: string; readonly known: Uint8Array } | undefined;
};

/** Rejects with everything that is wrong with the file. */
export async function loadPolicy(choice: PolicyChoice): Promise<LoadedPolicy> {
  if (choice.kind === 'rules') return { file: policyFileOf(choice), source: choice.source, followed: undefined };
  const { bytes, file } = await loadPolicyFile(choice.path);
  return { file, source: choice.path, followed: { path: choice.path, known: bytes } };
}

function policyFileOf({ policy }: Extract<PolicyChoice, { kind: 'rules' }>): PolicyFile {
  const none = new Map<string, number>();
  return { policy, dryRun: undefined, origins: [], lines: none, dryRunLines: none };
}

export type FollowParts = Surroundings & {
  readonly loaded: LoadedPolicy;
  readonly live: LivePolicy;
  /** puts a changed policy in force; what it rejects with is the log's */
  readonly apply: (file: PolicyFile) => Promise<void>;
};

/** Ends with `closers`. */
export function followPolicy({ loaded, live, apply, clock, log, metrics, closers }: FollowParts): void {
  const { followed } = loaded;
  if (followed === undefined) return;
  const { path } = followed;
  const follower = followPolicyFile({
    ...followed,
    clock,
    events: {
      policyTaken: (file) => {
        metrics.count('leafgate_policy_reloads_total', { taken: 'yes' });
        log.info('policy taken', { path });
        live.trouble('file', undefined);
        void apply(file).catch((thrown: unknown) => {
          log.error('a policy could not be put in force', { path, detail: LeafgateError.from(thrown).message });
        });
      },
      policyRefused: (problems) => {
        metrics.count('leafgate_policy_reloads_total', { taken: 'no' });
        live.trouble('file', `the last good policy decides: ${problemsText(problems)}`);
        for (const problem of problems) {
          const { message: detail, code, remedy } = problem;
          log.error('policy refused, the last good one goes on deciding', { path, detail, remedy, code });
        }
      },
    },
  });
  closers.add('policy', () => follower.close());
}

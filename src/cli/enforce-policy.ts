// Puts a changed policy in force in a running gateway: it is brought to Envoy, and counts once Envoy is seen to hold it: a
// file that Envoy cannot use shows in its counters alone, and in a line of its own log where warnings are on.
import { seconds, type Timer } from '../clock.ts';
import { policyFilterName } from '../bootstrap/policy-filter.ts';
import type { AdminClient } from '../envoy/admin-client.ts';
import { filterOutcome, readFilterState, type FilterOutcome } from '../envoy/followed-filters.ts';
import type { SdsServer } from '../sds/sds-server.ts';
import type { PolicyFile } from '../settings/policy-file.ts';
import { systemReason } from '../system-error.ts';
import { inTurn } from './in-turn.ts';
import { followPolicy, type LoadedPolicy } from './policy-source.ts';
import type { LivePolicy } from './live-policy.ts';
import type { Surroundings } from './surroundings.ts';

export type PolicyParts = Surroundings & {
  readonly loaded: LoadedPolicy;
  readonly live: LivePolicy;
  readonly admin: AdminClient;
  readonly server: Pick<SdsServer, 'reviewHeldNames'>;
  /** puts the policy where Envoy looks; the version that Envoy then names. Rejects where it cannot be put there. */
  readonly deliver: (file: PolicyFile) => Promise<string>;
  /** what it means when it cannot, a sentence */
  readonly undelivered: string;
  /** told of a policy that was read, before anything is done for it */
  readonly changed: (file: PolicyFile) => void;
  /** told of one that is in force */
  readonly taken: (file: PolicyFile) => Promise<void>;
};

/** 10,000 rules are in force after 0.2 s (measured); a machine may be busy */
const takenWithin = seconds(5);
const againAfter = seconds(1);

const words = {
  refused: 'Envoy refused the policy that was written for it: the earlier one decides',
  late: 'Envoy has not taken the policy that was written for it: the earlier one decides',
} as const;

/** From now on the policy of a gateway, whose Envoy has begun with the loaded one, follows its source. */
export function enforcePolicy(parts: PolicyParts): void {
  const enforce = createEnforcer(parts);
  followPolicy({
    ...parts,
    apply: (file) => {
      parts.changed(file);
      return enforce(file);
    },
  });
}

/**
 * Of policies that come while one is being put in force only the newest counts. What could not be delivered, or was not taken
 * in time, is tried again; what Envoy refused it would refuse again.
 */
function createEnforcer(parts: PolicyParts): (file: PolicyFile) => Promise<void> {
  const { clock, closers } = parts;
  let retry: Timer | undefined;
  const enforce = inTurn(async (file: PolicyFile) => {
    retry?.cancel();
    const end = await enforceOnce(file, parts);
    report(end, parts);
    if (end.kind === 'late' || end.kind === 'undelivered') retry = clock.after(againAfter, () => void enforce(file));
  });
  closers.add('policy retries', () => retry?.cancel());
  return enforce;
}

type Enforcement =
  | { readonly kind: FilterOutcome; readonly version: string }
  | { readonly kind: 'undelivered'; readonly detail: string };

/** A client that a rule lets in must find its leaf, and one that none does must not get in: the minter gives first, takes last. */
async function enforceOnce(file: PolicyFile, parts: PolicyParts): Promise<Enforcement> {
  const { live, admin, clock, server } = parts;
  const before = await readFilterState(admin, policyFilterName).catch(() => undefined);
  live.prepare(file);
  let version: string;
  try {
    version = await parts.deliver(file);
  } catch (thrown) {
    live.withdraw();
    return { kind: 'undelivered', detail: systemReason(thrown) };
  }
  const waited = { version, refusalsBefore: before?.refusals ?? 0, deadline: takenWithin };
  const kind = await filterOutcome({ admin, clock, filter: policyFilterName, ...waited });
  if (kind === 'refused') live.withdraw();
  if (kind === 'taken') {
    live.take(file);
    server.reviewHeldNames();
    await parts.taken(file);
  }
  return { kind, version };
}

/** What is tried again and fails alike is told once. */
function report(end: Enforcement, { live, log, undelivered }: PolicyParts): void {
  if (end.kind === 'taken') {
    live.trouble('envoy', undefined);
    log.info('policy in force', { version: end.version });
    return;
  }
  const sentence = end.kind === 'undelivered' ? undelivered : words[end.kind];
  const reason = end.kind === 'undelivered' ? `${sentence}: ${end.detail}` : sentence;
  if (live.reasons().includes(reason)) return;
  live.trouble('envoy', reason);
  log.error(sentence, end.kind === 'undelivered' ? { detail: end.detail } : { version: end.version });
}

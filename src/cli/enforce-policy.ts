// Puts a changed policy in force in a running gateway: it is brought to Envoy, and counts once Envoy is seen to hold it: a
// file that Envoy cannot use shows in its counters alone, and in a line of its own log where warnings are on.
import { seconds, type Timer } from '../clock.ts';
import { policyFilterName } from '../bootstrap/policy-filter.ts';
import type { AdminClient } from '../envoy/admin-client.ts';
import { followedOutcome, readFollowedState, takenWithin, type FollowedOutcome } from '../envoy/followed-files.ts';
import { problemsOf, type LeafgateError } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import type { SdsServer } from '../sds/sds-server.ts';
import type { PolicyFile } from '../settings/policy-file.ts';
import { systemReason } from '../system-error.ts';
import { inTurn } from './in-turn.ts';
import type { OriginsEnd } from './live-origins.ts';
import { problemsText } from './problems-text.ts';
import { followPolicy, type LoadedPolicy } from './policy-source.ts';
import type { LivePolicy } from './live-policy.ts';
import type { Surroundings } from './surroundings.ts';

export type PolicyParts = Surroundings & {
  readonly loaded: LoadedPolicy;
  readonly live: LivePolicy;
  readonly admin: AdminClient;
  readonly server: Pick<SdsServer, 'reviewHeldNames'>;
  /** puts in force, before the rules, what of the same file is no rule */
  readonly putOrigins: (file: PolicyFile) => Promise<OriginsEnd>;
  /** puts the policy where Envoy looks; the version that Envoy then names. Rejects where it cannot be put there. */
  readonly deliver: (file: PolicyFile) => Promise<string>;
  /** what it means when it cannot, a sentence */
  readonly undelivered: string;
  /** told of a policy that was read, before anything is done for it */
  readonly changed: (file: PolicyFile) => void;
  /** told of one that is in force */
  readonly taken: (file: PolicyFile) => Promise<void>;
};

const againAfter = seconds(1);

const words = {
  refused: 'Envoy refused the policy that was written for it: the earlier one decides',
  late: 'Envoy has not taken the policy that was written for it: the earlier one decides',
  unusable: 'the certificates of changed `origins` cannot be used: the earlier policy decides, as a whole',
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
 * in time, is tried again, and so are certificates that may come after the list that names them; what Envoy refused it would
 * refuse again.
 */
function createEnforcer(parts: PolicyParts): (file: PolicyFile) => Promise<void> {
  const { clock, closers } = parts;
  let retry: Timer | undefined;
  const enforce = inTurn(async (file: PolicyFile) => {
    retry?.cancel();
    const end = await enforceOnce(file, parts);
    report(end, parts);
    if (end.kind !== 'taken' && end.kind !== 'refused') retry = clock.after(againAfter, () => void enforce(file));
  });
  closers.add('policy retries', () => retry?.cancel());
  return enforce;
}

type Enforcement =
  | { readonly kind: FollowedOutcome }
  | { readonly kind: 'undelivered'; readonly detail: string }
  | { readonly kind: 'unusable'; readonly problems: readonly LeafgateError[] };

const followed = { kind: 'filter', name: policyFilterName } as const;

/**
 * Origins first: a client that a rule lets in finds them as the same file has them. And such a client must find its leaf, while
 * one that no rule lets in must not get in: the minter gives first, takes last.
 */
async function enforceOnce(file: PolicyFile, parts: PolicyParts): Promise<Enforcement> {
  const { live, admin, clock, server, log } = parts;
  const origins = await parts.putOrigins(file);
  if (origins.kind === 'unwritten') return { kind: 'undelivered', detail: origins.detail };
  if (origins.kind === 'unusable') return { kind: 'unusable', problems: problemsOf(origins.error) };
  if (origins.kind !== 'taken') return origins;
  const before = await readFollowedState(admin, followed).catch(() => undefined);
  live.prepare(file);
  let version: string;
  try {
    version = await parts.deliver(file);
  } catch (thrown) {
    live.withdraw();
    return { kind: 'undelivered', detail: systemReason(thrown) };
  }
  const refusalsBefore = before?.refusals;
  const kind = await followedOutcome({ admin, clock, followed, version, refusalsBefore, deadline: takenWithin });
  if (kind === 'refused') live.withdraw();
  if (kind === 'taken') {
    live.take(file);
    server.reviewHeldNames();
    await parts.taken(file);
    log.info('policy in force', { version });
  }
  return { kind };
}

/** What is tried again and fails alike is told once. */
function report(end: Enforcement, parts: PolicyParts): void {
  const { live, log } = parts;
  if (end.kind === 'taken') {
    live.trouble('envoy', undefined);
    return;
  }
  const sentence = end.kind === 'undelivered' ? parts.undelivered : words[end.kind];
  const detail = detailOf(end);
  const reason = detail === undefined ? sentence : `${sentence}: ${detail}`;
  if (live.reasons().includes(reason)) return;
  live.trouble('envoy', reason);
  if (end.kind !== 'unusable') {
    log.error(sentence, detail === undefined ? {} : { detail });
    return;
  }
  for (const { message, code, remedy } of end.problems) log.error(sentence, { detail: message, remedy, code });
}

function detailOf(end: Enforcement): string | undefined {
  if (end.kind === 'undelivered') return end.detail;
  return end.kind === 'unusable' ? problemsText(end.problems) : undefined;
}

/** An actor is known by a certificate that was verified: without CAs for clients, which `setting` names, such a rule never fits. */
export function warnOfActors({ policy }: PolicyFile, setting: string, log: Log): void {
  const [rule] = policy.rules.filter(({ actors }) => actors.length > 0);
  if (rule !== undefined) log.warn(`a rule for actors never decides without ${setting}`, { rule: rule.name });
}

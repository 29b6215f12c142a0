// Puts a changed policy in force in a running gateway: Envoy's file is written, and the policy counts once Envoy is seen to
// hold it: a file that Envoy cannot use shows in its counters alone, and in a line of its own log where warnings are on.
import { join } from 'node:path';
import { seconds, type Timer } from '../clock.ts';
import { policyDocument, policyFilterName } from '../bootstrap/policy-filter.ts';
import { policyFile as policyFileName, renderJson } from '../bootstrap/rendered-files.ts';
import type { AdminClient } from '../envoy/admin-client.ts';
import { filterOutcome, readFilterState, type FilterOutcome } from '../envoy/followed-filters.ts';
import { replaceFile } from '../replace-file.ts';
import type { SdsServer } from '../sds/sds-server.ts';
import type { PolicyFile } from '../settings/policy-file.ts';
import { renderPolicyFile } from '../settings/render-policy-file.ts';
import { systemReason } from '../system-error.ts';
import type { GatewaySpec } from '../settings/gateway-spec.ts';
import type { GatewayFolder } from './gateway-folder.ts';
import { inTurn } from './in-turn.ts';
import { countRules } from './rule-counters.ts';
import { followPolicy, type LoadedPolicy } from './policy-source.ts';
import type { LivePolicy } from './live-policy.ts';
import type { Surroundings } from './surroundings.ts';

type EnforceParts = Surroundings & {
  readonly live: LivePolicy;
  readonly admin: AdminClient;
  readonly server: Pick<SdsServer, 'reviewHeldNames'>;
  /** folder of the files that Envoy follows */
  readonly renderedDir: string;
  /** what `leafgate policy` reads of a running gateway */
  readonly inForceFile: string;
};

/** 10,000 rules are in force after 0.2 s (measured); a machine may be busy */
const takenWithin = seconds(5);
const againAfter = seconds(1);

const words: { readonly [kind in Exclude<Enforcement['kind'], 'taken'>]: string } = {
  unwritten: 'a changed policy could not be written: the earlier one decides',
  refused: 'Envoy refused the policy that was written for it: the earlier one decides',
  late: 'Envoy has not taken the policy that was written for it: the earlier one decides',
};

/**
 * Of policies that come while one is being put in force only the newest counts. What could not be written, or was not taken
 * in time, is tried again; what Envoy refused it would refuse again.
 */
function createEnforcer(parts: EnforceParts): (file: PolicyFile) => Promise<void> {
  const { clock, closers } = parts;
  let retry: Timer | undefined;
  const enforce = inTurn(async (file: PolicyFile) => {
    retry?.cancel();
    const end = await enforceOnce(file, parts);
    report(end, parts);
    if (end.kind === 'late' || end.kind === 'unwritten') retry = clock.after(againAfter, () => void enforce(file));
  });
  closers.add('policy retries', () => retry?.cancel());
  return enforce;
}

export type GatewayPolicyParts = Omit<EnforceParts, 'renderedDir' | 'inForceFile'> & {
  readonly loaded: LoadedPolicy;
  readonly spec: GatewaySpec;
  readonly folder: GatewayFolder;
};

/** From now on the policy of a gateway, whose Envoy has begun with the loaded one, follows its source. */
export async function enforcePolicy(parts: GatewayPolicyParts): Promise<void> {
  const inForceFile = parts.folder.policyInForce;
  await writePolicyInForce(inForceFile, parts.loaded.file);
  warnOfActors(parts.loaded.file, parts);
  const apply = createEnforcer({ ...parts, renderedDir: parts.spec.paths.renderedDir, inForceFile });
  countRules(parts.spec.paths.adminSocket, parts.live, parts.metrics);
  followPolicy({
    ...parts,
    apply: (file) => {
      warnOfActors(file, parts);
      compareOrigins(file, parts);
      return apply(file);
    },
  });
}

const otherOrigins =
  'another list of `origins` needs a restart: the earlier one is in force, the rules are the new ones';

/** which client certificate an origin sees stands in what Envoy reads at its start; the files themselves are followed */
function compareOrigins({ origins }: PolicyFile, { spec, live, log }: GatewayPolicyParts): void {
  const isSame = JSON.stringify(origins) === JSON.stringify(spec.originCredentials);
  if (!isSame && !live.reasons().includes(otherOrigins)) log.error(otherOrigins);
  live.trouble('origins', isSame ? undefined : otherOrigins);
}

/** an actor is known by a certificate that was verified: without CAs for clients such a rule never fits */
function warnOfActors({ policy }: PolicyFile, { spec, log }: Pick<GatewayPolicyParts, 'spec' | 'log'>): void {
  if (spec.front?.clientCaFile !== undefined) return;
  const [rule] = policy.rules.filter(({ actors }) => actors.length > 0);
  if (rule !== undefined) log.warn('a rule for actors never decides without --client-ca', { rule: rule.name });
}

/** Writes what `leafgate policy` reads of a running gateway. */
async function writePolicyInForce(path: string, file: PolicyFile): Promise<void> {
  await replaceFile(path, renderPolicyFile(file), 0o600);
}

type Enforcement =
  { readonly kind: FilterOutcome; readonly version: string } | { readonly kind: 'unwritten'; readonly detail: string };

/** A client that a rule lets in must find its leaf, and one that none does must not get in: the minter gives first, takes last. */
async function enforceOnce(file: PolicyFile, parts: EnforceParts): Promise<Enforcement> {
  const { live, admin, clock, server, log } = parts;
  const document = policyDocument(file.policy, file.dryRun);
  const before = await readFilterState(admin, policyFilterName).catch(() => undefined);
  live.prepare(file);
  try {
    await replaceFile(join(parts.renderedDir, policyFileName), renderJson(document), 0o600);
  } catch (thrown) {
    live.withdraw();
    return { kind: 'unwritten', detail: systemReason(thrown) };
  }
  const waited = { version: document.version_info, refusalsBefore: before?.refusals ?? 0, deadline: takenWithin };
  const kind = await filterOutcome({ admin, clock, filter: policyFilterName, ...waited });
  if (kind === 'refused') live.withdraw();
  if (kind === 'taken') {
    live.take(file);
    server.reviewHeldNames();
    await writePolicyInForce(parts.inForceFile, file).catch((thrown: unknown) => {
      log.warn('`leafgate policy` shows an earlier policy', { path: parts.inForceFile, detail: systemReason(thrown) });
    });
  }
  return { kind, version: waited.version };
}

/** What is tried again and fails alike is told once. */
function report(end: Enforcement, { live, log }: EnforceParts): void {
  if (end.kind === 'taken') {
    live.trouble('envoy', undefined);
    log.info('policy in force', { version: end.version });
    return;
  }
  const sentence = words[end.kind];
  const reason = end.kind === 'unwritten' ? `${sentence}: ${end.detail}` : sentence;
  if (live.reasons().includes(reason)) return;
  live.trouble('envoy', reason);
  log.error(sentence, end.kind === 'unwritten' ? { detail: end.detail } : { version: end.version });
}

// What is asked of the API server before bundles are read from it: whether it serves them at all, and each rule that following
// them takes. A rule that is missing is for a person to add and stops the start; what passes is tried again for a short
// while. Must not know how bundles are followed.
import type { Clock } from '../clock.ts';
import { LeafgateError } from '../errors.ts';
import { throwAll } from '../problems.ts';
import { hasRule, roleOf, sayRule, type AccessRule } from '../kube/access-rule.ts';
import { bundleResource, findBundleVersion } from '../kube/find-bundle-version.ts';
import type { KubeClient } from '../kube/kube-types.ts';
import { isPassing, tryBriefly } from '../kube/try-briefly.ts';
import type { Log } from '../observe/log.ts';
import type { BundleAllowlist } from '../settings/bundle-allowlist.ts';
import { projectionErrors } from './projection-errors.ts';

export type AccessProbe = {
  readonly client: Pick<KubeClient, 'mayI' | 'resourcesOf'>;
  readonly clock: Clock;
  readonly log: Log;
  /** it failed, and is tried again */
  readonly retried?: () => void;
};

/** following by a list and a watch; one object is followed by its name, for which a rule may name it */
const followVerbs = ['list', 'watch'] as const;
const { group, plural } = bundleResource('v1');

/**
 * A cluster that serves no bundles is a warning: it may begin to while we run.
 * @throws one error with every rule that is missing, or `trust-api-unavailable` when the server could not be asked
 */
export function probeBundleAccess(allowlist: BundleAllowlist, probe: AccessProbe): Promise<void> {
  const attempt = async (): Promise<void> => {
    try {
      await askOnce(allowlist, probe);
    } catch (thrown) {
      if (isPassing(LeafgateError.from(thrown))) probe.retried?.();
      throw thrown;
    }
  };
  return tryBriefly(probe.clock, attempt, (last) =>
    projectionErrors.error('trust-api-unavailable', { detail: last.message }, last),
  );
}

async function askOnce(allowlist: BundleAllowlist, { client, log }: AccessProbe): Promise<void> {
  const version = await findBundleVersion(client);
  if (version === undefined)
    log.warn('the API server serves no ClusterTrustBundles: bundles of the cluster are unavailable');
  const missing: LeafgateError[] = [];
  for (const rule of rulesFor(allowlist)) if (!(await hasRule(rule, client))) missing.push(ruleMissing(rule));
  throwAll(missing);
}

/** whether any bundle comes from the cluster: without one no API server is looked for */
export function needsCluster(allowlist: BundleAllowlist): boolean {
  return rulesFor(allowlist).length > 0;
}

/** The right to follow all of them includes each by its name. */
function rulesFor(allowlist: BundleAllowlist): readonly AccessRule[] {
  const backends = [...allowlist.values()];
  if (backends.some(({ kind }) => kind === 'cluster-trust-bundles')) return rules();
  const names = backends.flatMap((backend) => (backend.kind === 'cluster-trust-bundle' ? [backend.name] : []));
  return [...new Set(names)].flatMap((name) => rules(name));
}

function rules(name?: string): readonly AccessRule[] {
  return followVerbs.map((verb) => ({
    verbs: [verb],
    group,
    resource: plural,
    ...(name === undefined ? {} : { name }),
  }));
}

function ruleMissing(rule: AccessRule): LeafgateError {
  return projectionErrors.error('trust-rule-missing', { rule: sayRule(rule), role: roleOf(rule) });
}

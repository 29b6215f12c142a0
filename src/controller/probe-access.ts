// What is asked of the API server before the controller starts: each rule by SelfSubjectAccessReview, and a bundle by a
// write that is only tried, so that admission speaks too. What a person must mend stops the start, all of it at once; what
// passes is tried again for a short while.
import { days, type Clock } from '../clock.ts';
import type { LeafgateError } from '../errors.ts';
import { throwAll } from '../problems.ts';
import { hasRule, roleOf, sayRule, type AccessRule } from '../kube/access-rule.ts';
import { kubeFailureOf } from '../kube/kube-failure.ts';
import type { KubeClient, KubeResource } from '../kube/kube-types.ts';
import { groupVersionOf } from '../kube/object-path.ts';
import { bundleObjectName } from '../settings/kubernetes-names.ts';
import { createCa } from '../x509/create-ca.ts';
import { encodeCertificatesPem } from '../x509/pem.ts';
import { isPassingFailure } from '../kube/try-briefly.ts';
import { controllerErrors } from './controller-errors.ts';
import { fieldManagers } from './field-managers.ts';
import { bundleWriteRules, requiredRules, type Requirement, type RuleTerms } from './required-rules.ts';

export type ProbeTerms = RuleTerms & {
  /** of the gateways that there are, within the bounds */
  readonly bundles: readonly PlannedBundle[];
  /** undefined: the API server serves no ClusterTrustBundles, which the conditions say */
  readonly bundleResource: KubeResource | undefined;
};

export type PlannedBundle = { readonly namespace: string; readonly signerName: string; readonly objectName: string };

export type ProbeParts = {
  readonly client: Pick<KubeClient, 'mayI' | 'apply'>;
  readonly clock: Clock;
  readonly randomBytes: (count: number) => Uint8Array;
};

/**
 * What gateways that there are will lack: their conditions say it too.
 * @throws one error with every rule that is missing, or with what any bundle would be refused for
 */
export async function probeAccess(terms: ProbeTerms, parts: ProbeParts): Promise<readonly LeafgateError[]> {
  throwAll(await missingOf(requiredRules(terms), parts.client));
  return terms.bundleResource === undefined ? [] : tryBundles(terms, terms.bundleResource, parts);
}

async function tryBundles(
  { signers, bundles }: ProbeTerms,
  resource: KubeResource,
  parts: ProbeParts,
): Promise<readonly LeafgateError[]> {
  const warnings: LeafgateError[] = [];
  for (const { signerName, objectName } of bundles) {
    const missing = await missingOf(bundleWriteRules(objectName), parts.client);
    const refused = missing.length > 0 ? undefined : await tryBundle({ signerName, objectName }, resource, parts);
    warnings.push(...missing, ...(refused === undefined ? [] : [refused]));
  }
  for (const { domain, path } of signers) {
    const signerName = `${domain}/${path ?? probeName}`;
    const objectName = bundleObjectName(signerName, probeName);
    // rights by name are for bundles of gateways only, and there is none yet
    if ((await missingOf(bundleWriteRules(objectName), parts.client)).length > 0) continue;
    const refused = await tryBundle({ signerName, objectName }, resource, parts);
    if (refused !== undefined) throw refused;
  }
  return warnings;
}

async function missingOf(
  requirements: readonly Requirement[],
  client: ProbeParts['client'],
): Promise<readonly LeafgateError[]> {
  const missing: LeafgateError[] = [];
  for (const requirement of requirements) {
    if (!(await isMet(requirement, client))) missing.push(ruleMissing(requirement[0]));
  }
  return missing;
}

async function isMet(requirement: Requirement, client: ProbeParts['client']): Promise<boolean> {
  for (const rule of requirement) if (await hasRule(rule, client)) return true;
  return false;
}

function ruleMissing(rule: AccessRule): LeafgateError {
  return controllerErrors.error('controller-rule-missing', { rule: sayRule(rule), role: roleOf(rule) });
}

const probeName = 'leafgate-probe';

type TriedBundle = { readonly signerName: string; readonly objectName: string };

/** With an anchor whose key is forgotten at once; nothing of it is kept. Undefined: it would be taken. */
async function tryBundle(
  { signerName, objectName }: TriedBundle,
  resource: KubeResource,
  { client, clock, randomBytes }: ProbeParts,
): Promise<LeafgateError | undefined> {
  const anchor = createCa({ now: clock.now(), lifetimeMs: days(1), randomBytes });
  const body = {
    apiVersion: groupVersionOf(resource),
    kind: resource.kind,
    metadata: { name: objectName },
    spec: { signerName, trustBundle: encodeCertificatesPem([anchor.certificate]) },
  };
  const terms = { fieldManager: fieldManagers.bundle, force: true, dryRun: true };
  try {
    await client.apply({ resource, name: objectName }, body, terms);
    return undefined;
  } catch (thrown) {
    const { kind, message } = kubeFailureOf(thrown);
    if (isPassingFailure(kind)) throw thrown;
    return controllerErrors.error('controller-bundle-refused', { signer: signerName, detail: message }, thrown);
  }
}

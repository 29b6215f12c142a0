// What has to be known of a cluster before the controller starts there: that it has the definition of EgressGateway, which
// version of ClusterTrustBundle it serves, and that every right is given.
import { bundleResource, findBundleVersion } from '../kube/find-bundle-version.ts';
import { kubeFailureOf } from '../kube/kube-failure.ts';
import type { KubeClient, KubeObject, KubeResource } from '../kube/kube-types.ts';
import { groupVersionOf } from '../kube/object-path.ts';
import { tryBriefly } from '../kube/try-briefly.ts';
import type { LeafgateError } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import { parseEgressGateway } from '../settings/egress-gateway.ts';
import { controllerErrors } from './controller-errors.ts';
import { probeAccess, type PlannedBundle, type ProbeParts } from './probe-access.ts';
import type { RuleTerms } from './required-rules.ts';
import { isSignerAllowed } from './signer-bounds.ts';
import { egressGateways } from './watched-kinds.ts';

export type PrepareParts = Omit<ProbeParts, 'client'> & { readonly client: KubeClient; readonly log: Log };

/**
 * The resource of bundles, undefined where none is served.
 * @throws controller-crd-missing, controller-rule-missing, controller-bundle-refused, controller-start-failed
 */
export function prepareController(terms: RuleTerms, parts: PrepareParts): Promise<KubeResource | undefined> {
  const look = async (): Promise<KubeResource | undefined> => {
    const { client, log } = parts;
    const served = await client.resourcesOf(groupVersionOf(egressGateways));
    if (served?.includes(egressGateways.plural) !== true) throw controllerErrors.error('controller-crd-missing');
    const version = await findBundleVersion(client);
    const resource = version && bundleResource(version);
    const bundles = (await Promise.all(terms.namespaces.map((namespace) => plannedIn(namespace, client)))).flat();
    const within = bundles.filter((bundle) => isSignerAllowed(terms.signers, bundle.namespace, bundle.signerName));
    for (const { code, message, remedy } of await probeAccess(
      { ...terms, bundles: within, bundleResource: resource },
      parts,
    )) {
      log.warn('a gateway will lack a right of the controller', { code, detail: message, remedy });
    }
    if (resource === undefined) log.warn('the API server serves no ClusterTrustBundles: nothing can be published yet');
    return resource;
  };
  return tryBriefly(parts.clock, look, startFailed);
}

function startFailed(last: LeafgateError): LeafgateError {
  return controllerErrors.error('controller-start-failed', { detail: last.message }, last);
}

/** What cannot be listed has no gateways that are known of: the rule that is missing is said by the probe. */
async function plannedIn(namespace: string, client: KubeClient): Promise<readonly PlannedBundle[]> {
  const objects = await client.list({ resource: egressGateways, namespace }).catch((thrown: unknown) => {
    if (kubeFailureOf(thrown).kind === 'forbidden') return { items: [] };
    throw thrown;
  });
  return objects.items.flatMap(plannedBundle);
}

function plannedBundle(object: KubeObject): readonly PlannedBundle[] {
  const reading = parseEgressGateway(object);
  if (reading.kind === 'refused') return [];
  const { namespace, spec } = reading.gateway;
  const { signerName, objectName } = spec.trustBundle;
  return [{ namespace, signerName, objectName }];
}

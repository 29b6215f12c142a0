// What is to be said of the bundle after it was looked at, written or refused. Pure.
import type { EpochMs } from '../clock.ts';
import type { KubeFailure } from '../kube/kube-failure.ts';
import type { ReasonOf } from './condition-table.ts';
import { timeText } from './bundle-record.ts';
import type { Judgement, ObjectName } from './controller-types.ts';
import { judge } from './judge.ts';
import type { PoolJudgement } from './judge-pool.ts';

/** How an attempt to have the bundle as it shall be has ended. */
export type Publication =
  /** it stands there as ours; `until`: withdrawn then, unless the pool comes back */
  | { readonly kind: 'stands'; readonly until?: EpochMs }
  /** there is none, or only one that is nobody's, and nothing to put there */
  | { readonly kind: 'none' }
  | { readonly kind: 'conflict'; readonly owner: ObjectName; readonly isCertain: boolean }
  | { readonly kind: 'foreign-signer'; readonly signerName: string }
  | { readonly kind: 'not-served' }
  | { readonly kind: 'signer-not-allowed' }
  | { readonly kind: 'failed'; readonly failure: Pick<KubeFailure, 'kind' | 'message'> };

export type PublicationTerms = {
  readonly objectName: string;
  readonly signerName: string;
  /** of the gateway */
  readonly namespace: string;
  readonly pool: PoolJudgement;
};

type Reason = ReasonOf<'TrustBundlePublished'>;

export function judgePublication(publication: Publication, terms: PublicationTerms): Judgement<Reason> {
  const bundle = `ClusterTrustBundle ${terms.objectName}`;
  switch (publication.kind) {
    case 'stands':
      return verdict('Published', sayStanding(bundle, publication.until, terms.pool));
    case 'none':
      return verdict('PoolNotReady', `${bundle} is not there: the pool has no anchors to publish, see CAPoolReady`);
    case 'conflict': {
      const owner = `${publication.owner.namespace}/${publication.owner.name}`;
      const doubt = publication.isCertain
        ? ''
        : ', which is in a namespace that this controller does not watch, so that nobody can tell whether it still exists';
      return verdict(
        'Conflict',
        `${bundle} belongs to the gateway ${owner}${doubt}: give one of the two another spec.trustBundle.name`,
      );
    }
    case 'foreign-signer':
      return verdict(
        'Conflict',
        `${bundle} has the signer ${publication.signerName}, not ${terms.signerName}: it is left alone`,
      );
    case 'not-served':
      return verdict(
        'APINotServed',
        `the API server serves ClusterTrustBundles in no version: Kubernetes 1.37 does; from 1.33 on enable the feature gate ClusterTrustBundle and the runtime configuration certificates.k8s.io/v1beta1/clustertrustbundles=true`,
      );
    case 'signer-not-allowed':
      return verdict(
        'SignerNotAllowed',
        `the controller was not started with the signer ${terms.signerName} for the namespace ${terms.namespace}: use an allowed signer, or add --signer '${terms.namespace}=${domainOf(terms.signerName)}/*'`,
      );
    case 'failed':
      return judgeFailure(publication.failure, bundle, terms);
    default:
      return publication satisfies never;
  }
}

function sayStanding(bundle: string, until: EpochMs | undefined, pool: PoolJudgement): string {
  if (until !== undefined)
    return `${bundle} stays as it was last published, and is withdrawn at ${timeText(until)} unless the pool comes back`;
  const count = pool.anchors.length;
  if (count === 0) return `${bundle} stays as it was last published, since the pool cannot be used: see CAPoolReady`;
  return `${bundle} has ${count === 1 ? 'the anchor' : `the ${count} anchors`} of the pool`;
}

function judgeFailure(
  { kind, message }: Pick<KubeFailure, 'kind' | 'message'>,
  bundle: string,
  { signerName }: PublicationTerms,
): Judgement<Reason> {
  const domain = domainOf(signerName);
  switch (kind) {
    case 'forbidden':
      // the admission plugin's refusal has no cause and no reason of its own: its sentence is all there is
      return message.includes('attest')
        ? verdict(
            'AttestDenied',
            `${message}: grant the controller the verb attest on signers of certificates.k8s.io, named ${signerName} or ${domain}/*`,
          )
        : verdict('Unavailable', `${message}: grant the controller this verb on ${bundle}`);
    case 'invalid':
    case 'too-large':
      return verdict('Rejected', `the API server refuses ${bundle}: ${message}`);
    case 'unauthorized':
    case 'not-found':
    case 'already-exists':
    case 'conflict':
    case 'gone':
    case 'too-many-requests':
    case 'unavailable':
    case 'bad-response':
      return verdict('Unavailable', `${bundle} cannot be read or written just now: ${message}; it is tried again`);
    default:
      return kind satisfies never;
  }
}

function domainOf(signerName: string): string {
  return signerName.split('/', 1)[0] ?? '';
}

function verdict(reason: Reason, message: string): Judgement<Reason> {
  return judge('TrustBundlePublished', reason, message);
}

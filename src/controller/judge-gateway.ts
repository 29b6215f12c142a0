// Everything that can be judged of a gateway before anything is written: each dependency by its judge, and the good inputs of
// its files. Pure: what the API said comes as an argument.
import { millis, type EpochMs } from '../clock.ts';
import { bundleContent } from '../kube/bundle-content.ts';
import type { ObjectPlace } from '../kube/kube-types.ts';
import type { ConfigMapKey, EgressGateway } from '../settings/egress-gateway-types.ts';
import { quantitySettings } from '../settings/quantity-settings.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { encodeCertificatesPem } from '../x509/pem.ts';
import { readBundleText } from './bundle-text.ts';
import { datesOf, earliestAfter } from './certificate-dates.ts';
import type { CommonRoots } from './common-roots.ts';
import type { Judgements, ObjectName, Observed, SecretContent } from './controller-types.ts';
import type { Look } from './followed-objects.ts';
import type { GatewayDependencies } from './gateway-dependencies.ts';
import { judgeCaBundle, type CaBundleJudgement } from './judge-ca-bundle.ts';
import { judgeClientCertificates } from './judge-client-certificates.ts';
import { judgePool, type PoolJudgement } from './judge-pool.ts';
import { judgeSdsTls, type ChannelFacts } from './judge-sds-tls.ts';
import { judgeServingSecret } from './judge-serving-secret.ts';
import { observedConfigMap, observedSecret } from './read-observed.ts';
import { requiredDnsNames, sdsServerName } from './required-dns-names.ts';

export type GatewayFacts = {
  readonly gateway: EgressGateway;
  readonly dependencies: GatewayDependencies;
  readonly look: (place: ObjectPlace) => Look;
  readonly now: EpochMs;
  readonly clusterDomain: string;
  /** what origins are verified with beside the gateway's own choice */
  readonly commonRoots: CommonRoots;
};

export type GatewayView = {
  readonly pool: PoolJudgement;
  /** of the dependencies; neither of what is published nor the summary */
  readonly judgements: Judgements;
  /** undefined without a serving certificate in the spec */
  readonly requiredDnsNames: readonly string[] | undefined;
  readonly originRootsPem: string | undefined;
  readonly clientRootsPem: string | undefined;
  readonly goodOriginSecrets: ReadonlySet<string>;
  /** PEM; undefined where the pool gives none now */
  readonly anchorsPem: string | undefined;
  /** of the SDS servers outside of its pods, where it has some */
  readonly sdsServerName: string;
  /** when something may be judged otherwise although nothing changes */
  readonly changesAt: EpochMs | undefined;
};

export function judgeGateway(facts: GatewayFacts): GatewayView {
  const { gateway, dependencies, look, now } = facts;
  const { spec, namespace, name } = gateway;
  const secret = (place: ObjectPlace): Observed<SecretContent> => observedSecret(look(place), place);
  const pool = judgePoolAt(dependencies.pool, { look, now, allowEd25519: spec.sds.allowEd25519 });
  const { serving } = dependencies;
  const dnsNames = requiredDnsNames(name, namespace, facts.clusterDomain);
  const origin = caBundle('OriginCABundleResolved', spec.origins.caBundle, facts);
  const client = caBundle('ClientCABundleResolved', spec.clients.caBundle, facts);
  const shown = judgeClientCertificates(
    dependencies.clientCertificates.map((place) => ({ secret: nameOf(place), observed: secret(place) })),
    now,
  );
  const front =
    serving && judgeServingSecret(secret(serving), { secret: nameOf(serving), requiredDnsNames: dnsNames, now });
  const channel = judgeSdsTls(spec.sds, channelFacts(facts));
  const bundles = [...(origin?.certificates ?? []), ...(client?.certificates ?? [])];
  const dates = [
    ...pool.changesAt,
    ...(front?.changesAt ?? []),
    ...shown.changesAt,
    ...channel.changesAt,
    ...datesOf(bundles),
  ];
  return {
    pool,
    judgements: {
      CAPoolReady: pool.judgement,
      TLSConfigured: channel.judgement,
      ...(front && { ServingTLSSecretReady: front.judgement }),
      ...(origin && { OriginCABundleResolved: origin.judgement }),
      ...(client && { ClientCABundleResolved: client.judgement }),
      ...(dependencies.clientCertificates.length > 0 && { OriginClientCertificatesReady: shown.judgement }),
    },
    requiredDnsNames: serving && dnsNames,
    originRootsPem: originRootsPem(origin, pool, facts),
    clientRootsPem: client === undefined || client.certificates.length === 0 ? undefined : pem(client.certificates),
    goodOriginSecrets: shown.good,
    anchorsPem: pool.anchors.length === 0 ? undefined : pem(pool.anchors.map(({ certificate }) => certificate)),
    sdsServerName: sdsServerName(name, namespace, facts.clusterDomain),
    changesAt: earliestAfter(now, dates),
  };
}

function channelFacts({ gateway, dependencies, look, now, clusterDomain }: GatewayFacts): ChannelFacts | undefined {
  const { sdsServer, sdsClient } = dependencies;
  if (sdsServer === undefined || sdsClient === undefined) return undefined;
  const side = (place: ObjectPlace) => ({ secret: nameOf(place), observed: observedSecret(look(place), place) });
  const serverName = sdsServerName(gateway.name, gateway.namespace, clusterDomain);
  return { server: side(sdsServer), client: side(sdsClient), serverName, now };
}

type PoolFacts = Pick<GatewayFacts, 'look' | 'now'> & { readonly allowEd25519: boolean };

export function judgePoolAt(place: ObjectPlace, { look, now, allowEd25519 }: PoolFacts): PoolJudgement {
  const shortestLeafMs = millis(quantitySettings.leafTtl.least);
  return judgePool(observedSecret(look(place), place), { secret: nameOf(place), now, allowEd25519, shortestLeafMs });
}

function nameOf({ namespace = '', name }: ObjectPlace): ObjectName {
  return { namespace, name };
}

function caBundle(
  condition: 'OriginCABundleResolved' | 'ClientCABundleResolved',
  ref: ConfigMapKey | undefined,
  { gateway, dependencies, look, now }: GatewayFacts,
): CaBundleJudgement | undefined {
  const place = condition === 'OriginCABundleResolved' ? dependencies.originCa : dependencies.clientCa;
  if (ref === undefined || place === undefined) return undefined;
  const configMap = { namespace: gateway.namespace, name: ref.name };
  return judgeCaBundle(observedConfigMap(look(place), place), { condition, configMap, key: ref.key, now });
}

/** Undefined while the chosen bundle is no good, or while nobody knows which CAs are the gateway's own. */
function originRootsPem(
  origin: CaBundleJudgement | undefined,
  pool: PoolJudgement,
  facts: GatewayFacts,
): string | undefined {
  const own = ownAnchors(pool, facts);
  if (own.length === 0 || origin?.certificates.length === 0) return undefined;
  return facts.commonRoots.pemWith(origin?.certificates ?? [], own);
}

/** Those of the pool, and those that are published: an anchor that leaves the pool is still trusted by actors. */
function ownAnchors(pool: PoolJudgement, { dependencies: { bundle }, look }: GatewayFacts): readonly Certificate[] {
  const known = bundle === undefined ? undefined : look(bundle);
  // one that somebody else wrote may be unreadable, and ours replaces it
  const published = known?.kind === 'found' ? readBundleText(bundleContent(known.object).trustBundle) : [];
  return [...pool.anchors.map(({ certificate }) => certificate), ...published];
}

function pem(certificates: readonly Certificate[]): string {
  return encodeCertificatesPem(certificates);
}

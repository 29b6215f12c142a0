// A round over a gateway whose spec cannot be read whole. What is wrong is said, and the files of the last good spec stay; what
// its clients trust goes on all the same, as far as pool and bundle could be read: a CA must not be held back, nor an edited
// bundle stand, because of a mistake in a policy.
import type { EpochMs } from '../clock.ts';
import { problemsOf } from '../errors.ts';
import type { KubeObject, KubeResource, ObjectPlace } from '../kube/kube-types.ts';
import type { EgressGatewayReading } from '../settings/egress-gateway.ts';
import type { EgressGatewayStatus } from '../settings/egress-gateway-types.ts';
import { earliestAfter } from './certificate-dates.ts';
import type { Judgements } from './controller-types.ts';
import type { FollowedObjects } from './followed-objects.ts';
import { judgePoolAt } from './judge-gateway.ts';
import { judgeReady } from './judge-ready.ts';
import { sayProblems } from './judge.ts';
import { nextRound, type RoundTerms } from './next-round.ts';
import { publishTrust, type PublishedTrust, type TrustParts } from './publish-trust.ts';
import { reportStatus, type ReportParts } from './report-status.ts';
import { isSignerAllowed, type SignerBound } from './signer-bounds.ts';
import { secrets } from './watched-kinds.ts';
import type { WorkOutcome } from './work-queue.ts';

type RefusedReading = Extract<EgressGatewayReading, { kind: 'refused' }>;

export type RefusedGateway = {
  readonly key: string;
  readonly object: KubeObject;
  readonly reading: RefusedReading;
};

export type KeepTrustParts = TrustParts &
  RoundTerms &
  Omit<ReportParts, 'now'> & {
    readonly followed: FollowedObjects;
    readonly signers: readonly SignerBound[];
    readonly seen: (key: string, status: EgressGatewayStatus | undefined) => void;
  };

export async function keepTrust(refused: RefusedGateway, parts: KeepTrustParts): Promise<WorkOutcome> {
  const { key, reading } = refused;
  const places = placesOf(reading, parts.bundles.current());
  parts.followed.hold(key, Object.values(places));
  if (Object.values(places).some((place) => parts.followed.look(place).kind === 'pending')) return { kind: 'done' };
  const now = parts.clock.now();
  const trust = await lookAfterTrust(refused, { places, now }, parts);
  const InvalidSpec = sayProblems(reading.problems.flatMap(problemsOf));
  const { servingTLS } = reading.status;
  const status = await reportStatus(
    {
      gateway: reading,
      judgements: { ...trust?.judgements, Ready: judgeReady(trust?.judgements ?? {}, { InvalidSpec }) },
      bundle: trust?.published.bundle,
      activeId: trust?.activeId,
      // as it was: whoever issues the certificate reads it there
      servingTls: servingTLS && { ...servingTLS, requiredDnsNames: servingTLS.requiredDNSNames },
    },
    { ...parts, now },
  );
  parts.seen(key, status);
  const changesAt = earliestAfter(now, trust?.poolChangesAt ?? []);
  return nextRound(trust?.published.publication, { changesAt }, parts);
}

type Places = { readonly pool?: ObjectPlace; readonly bundle?: ObjectPlace };

/** none where pool or bundle could not be read: of half of it nothing can be said */
function placesOf({ caPool, trustBundle, namespace }: RefusedReading, resource: KubeResource | undefined): Places {
  if (caPool === undefined || trustBundle === undefined) return {};
  return {
    pool: { resource: secrets, namespace, name: caPool.secretName },
    ...(resource && { bundle: { resource, name: trustBundle.objectName } }),
  };
}

type Trust = {
  readonly judgements: Judgements;
  readonly published: PublishedTrust;
  readonly activeId: string | undefined;
  readonly poolChangesAt: readonly EpochMs[];
};

async function lookAfterTrust(
  { object, reading }: RefusedGateway,
  { places: { pool: place }, now }: { readonly places: Places; readonly now: EpochMs },
  parts: KeepTrustParts,
): Promise<Trust | undefined> {
  const { trustBundle, allowEd25519, namespace } = reading;
  if (place === undefined || trustBundle === undefined) return undefined;
  const isAllowed = isSignerAllowed(parts.signers, namespace, trustBundle.signerName);
  await parts.writes.setFinalizer(object, isAllowed && trustBundle.deletionPolicy === 'Delete');
  const look = (at: ObjectPlace): ReturnType<FollowedObjects['look']> => parts.followed.look(at);
  const pool = judgePoolAt(place, { look, now, allowEd25519 });
  const owner = { ...reading, trustBundle };
  const resource = parts.bundles.current();
  const published = await publishTrust({ owner, pool, resource, look, isAllowed, now }, parts);
  const judgements = { CAPoolReady: pool.judgement, TrustBundlePublished: published.judgement };
  return { judgements, published, activeId: pool.activeId, poolChangesAt: pool.changesAt };
}

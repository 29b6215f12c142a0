// The work of one term of leadership: begins with a look at every gateway, and ends before anybody else may begin. Nothing is
// kept from one term to the next.
import { millis, type Clock, type DurationMs } from '../clock.ts';
import { LeafgateError } from '../errors.ts';
import type { EventRecorder } from '../kube/event-recorder.ts';
import type { KubeClient } from '../kube/kube-types.ts';
import type { Metrics } from '../observe/create-metrics.ts';
import type { Log } from '../observe/log.ts';
import type { EgressGatewayStatus } from '../settings/egress-gateway-types.ts';
import { auditChannels } from './audit-channels.ts';
import type { BundleVersionWatch } from './bundle-version-watch.ts';
import { createClusterWrites, isNotLeading } from './cluster-writes.ts';
import type { CommonRoots } from './common-roots.ts';
import { followByName, type Follow, type FollowedObjects } from './followed-objects.ts';
import type { GatewayIndex } from './gateway-index.ts';
import { rememberRenderings } from './remember-renderings.ts';
import { renderGateway } from './render-gateway.ts';
import { reconcileGateway } from './reconcile-gateway.ts';
import type { ShareText } from './share-texts.ts';
import type { SignerBound } from './signer-bounds.ts';
import { createTurnsByKey } from './turns-by-key.ts';
import { createWorkQueue, type WorkOutcome, type WorkQueue } from './work-queue.ts';

export type TermParts = {
  readonly client: KubeClient;
  readonly follow: Follow;
  readonly events: EventRecorder;
  readonly gateways: GatewayIndex;
  readonly bundles: BundleVersionWatch;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly mayWrite: () => boolean;
  readonly signers: readonly SignerBound[];
  readonly clusterDomain: string;
  readonly commonRoots: CommonRoots;
  readonly resyncMs: DurationMs;
  readonly share: ShareText;
};

export interface WorkTerm {
  /** a gateway came, changed or went */
  changed(key: string): void;
  /** all of them are to be looked at */
  allChanged(): void;
  readonly queue: WorkQueue;
  readonly followed: FollowedObjects;
  /** of each gateway as it was last seen */
  statuses(): ReadonlyMap<string, EgressGatewayStatus>;
  /** starts nothing more; settles when what runs has ended */
  close(): Promise<void>;
}

/** each round waits for the API server most of its time */
const parallel = 4;

export function beginTerm(parts: TermParts): WorkTerm {
  const { gateways, log, metrics, clock } = parts;
  const statuses = new Map<string, EgressGatewayStatus>();
  const audit = auditChannels(parts);
  const seen = (key: string, status: EgressGatewayStatus | undefined): void => {
    if (status === undefined) statuses.delete(key);
    else statuses.set(key, status);
    audit.seen(key, status);
  };
  const followed = followByName({ ...parts, changed: (owner) => queue.add(owner) });
  const render = rememberRenderings(renderGateway, parts.share);
  const writes = createClusterWrites(parts);
  const round = { ...parts, followed, seen, inTurn: createTurnsByKey(), writes, render };
  const queue = createWorkQueue({
    ...parts,
    parallel,
    run: (key) => timed(metrics, clock, () => reconcileGateway(key, round)),
    failed: (key, thrown) => {
      if (!isNotLeading(thrown)) tellFailure(log, key, thrown);
    },
  });
  const allChanged = (): void => gateways.keys().forEach((key) => queue.add(key));
  allChanged();
  return {
    changed: (key) => {
      queue.add(key);
      // others may have waited for the bundle that it had
      if (gateways.get(key) === undefined) allChanged();
    },
    allChanged,
    ...{ queue, followed },
    statuses: () => statuses,
    close: async () => {
      audit.close();
      await queue.close();
      await followed.close();
    },
  };
}

async function timed(metrics: Metrics, clock: Clock, run: () => Promise<WorkOutcome>): Promise<WorkOutcome> {
  const startedAt = clock.monotonic();
  let outcome: WorkOutcome = { kind: 'retry' };
  try {
    outcome = await run();
    return outcome;
  } finally {
    metrics.count('leafgate_controller_reconciles_total', { outcome: outcome.kind });
    metrics.observe('leafgate_controller_reconcile_seconds', millis(clock.monotonic() - startedAt) / 1000);
  }
}

function tellFailure(log: Log, key: string, thrown: unknown): void {
  const { code, message, remedy } = LeafgateError.from(thrown);
  log.warn('a round over a gateway failed and is tried again', { gateway: key, code, detail: message, remedy });
}

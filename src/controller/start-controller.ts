// The running controller: follows the gateways of its namespaces all the time, works while it leads, and stops its work before
// it gives the Lease back. Health tells whether it is alive and has seen the cluster; standing by is healthy.
import { millis, type Clock, type DurationMs } from '../clock.ts';
import { createEventRecorder } from '../kube/event-recorder.ts';
import { bundleResource, findBundleVersion } from '../kube/find-bundle-version.ts';
import { followObjects } from '../kube/follow-objects.ts';
import type { KubeClient, KubeObject, KubeResource, ObjectQuery } from '../kube/kube-types.ts';
import { electByLease, type LeaseElection } from '../kube/lease-election.ts';
import type { Metrics } from '../observe/create-metrics.ts';
import type { Health } from '../observe/health-server.ts';
import type { Log } from '../observe/log.ts';
import { countChannels } from './audit-channels.ts';
import { watchBundleVersion } from './bundle-version-watch.ts';
import type { CommonRoots } from './common-roots.ts';
import { gatewayKey, indexGateways, type GatewayFollower, type GatewayIndex } from './gateway-index.ts';
import { conditionTypes } from './condition-table.ts';
import type { Bounds, LeasePlace } from './required-rules.ts';
import { createTextSharing, sharingTexts } from './share-texts.ts';
import { beginTerm, type WorkTerm } from './work-term.ts';

export type ControllerRequest = Bounds & {
  readonly client: KubeClient;
  /** its calls end well before the renew deadline of the Lease */
  readonly leaseClient: KubeClient;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  /** unique for each process */
  readonly identity: string;
  readonly lease: LeasePlace;
  readonly clusterDomain: string;
  readonly commonRoots: CommonRoots;
  readonly resyncMs: DurationMs;
  /** what the API server serves now */
  readonly bundles: KubeResource | undefined;
};

export interface RunningController {
  live(): Health;
  ready(): Health;
  /** ends the work, then gives the Lease back */
  close(): Promise<void>;
}

const reportingController = 'leafgate.dev/controller';

export function startController(request: ControllerRequest): RunningController {
  return new Controller(request);
}

class Controller implements RunningController {
  readonly #request: ControllerRequest;
  readonly #gateways: GatewayIndex;
  readonly #election: LeaseElection;
  readonly #bundles;
  readonly #events;
  #term: WorkTerm | undefined;
  #hasSynced = false;
  #isLeading = false;

  constructor(request: ControllerRequest) {
    const { client, leaseClient, clock, log, identity, lease, namespaces } = request;
    this.#request = request;
    this.#events = createEventRecorder({
      ...request,
      controller: reportingController,
      instance: identity,
    });
    this.#bundles = watchBundleVersion({
      ...{ clock, log, initial: request.bundles },
      find: async () => {
        const version = await findBundleVersion(client);
        return version && bundleResource(version);
      },
      changed: () => this.#term?.allChanged(),
    });
    this.#gateways = indexGateways({
      namespaces,
      follow: (query, changed) => this.#followGateways(query, changed),
      changed: (key) => this.#term?.changed(key),
    });
    this.#election = electByLease({
      ...{ ...lease, client: leaseClient, identity, clock, log, random: request.random },
      onStarted: () => {
        this.#isLeading = true;
        this.#beginWhenSynced();
      },
      onStopped: () => this.#endTerm(),
    });
    request.metrics.beforeScrape(() => this.#measure());
  }

  live(): Health {
    return this.#election.isHealthy()
      ? { isOk: true, reasons: [] }
      : { isOk: false, reasons: ['the Lease has not been renewed for too long: something hangs'] };
  }

  ready(): Health {
    this.#hasSynced ||= this.#gateways.isSynced();
    const reasons = this.#gateways
      .troubles()
      .map(
        ({ namespace, failure }) => `EgressGateways of namespace ${namespace} cannot be followed: ${failure.message}`,
      );
    return {
      isOk: this.#hasSynced,
      reasons: this.#hasSynced ? reasons : ['the gateways are not known yet', ...reasons],
    };
  }

  async close(): Promise<void> {
    await this.#election.close();
    this.#bundles.close();
    await this.#gateways.close();
    await this.#events.close();
  }

  #followGateways(query: ObjectQuery, changed: (key: string) => void): GatewayFollower {
    return followObjects({
      ...this.#request,
      query,
      onChange: (change) => {
        changed(change.kind === 'put' ? keyOf(change.object) : gatewayKey(change.namespace ?? '', change.name));
      },
      onSynced: () => this.#beginWhenSynced(),
    });
  }

  /** Whether the owner of a bundle still exists is known only when every namespace that can be listed has been. */
  #beginWhenSynced(): void {
    if (!this.#isLeading || this.#term !== undefined) return;
    if (!this.#gateways.isSettled()) {
      // a namespace that cannot be listed says so only when it is asked
      this.#request.clock.after(millis(settleLookMs), () => this.#beginWhenSynced());
      return;
    }
    const { clock, log, random } = this.#request;
    const share = createTextSharing();
    const client = sharingTexts(this.#request.client, share);
    this.#term = beginTerm({
      ...this.#request,
      ...{ gateways: this.#gateways, bundles: this.#bundles, events: this.#events },
      share,
      mayWrite: () => this.#election.isLeader(),
      follow: (query, changed) =>
        followObjects({ ...{ client, clock, log, random, query }, onChange: changed, onSynced: changed }),
    });
  }

  async #endTerm(): Promise<void> {
    this.#isLeading = false;
    const term = this.#term;
    this.#term = undefined;
    await term?.close();
  }

  #measure(): void {
    const { metrics } = this.#request;
    const term = this.#term;
    metrics.set('leafgate_controller_is_leader', this.#election.isLeader() ? 1 : 0);
    metrics.set('leafgate_controller_waiting_gateways', term?.queue.waiting() ?? 0);
    metrics.set('leafgate_controller_oldest_wait_seconds', (term?.queue.oldestWaitMs() ?? 0) / 1000);
    const known = term?.followed.counts() ?? { found: 0, absent: 0, pending: 0, unavailable: 0 };
    for (const kind of ['found', 'absent', 'pending', 'unavailable'] as const) {
      metrics.set('leafgate_controller_followed_objects', known[kind], { known: kind });
    }
    measureStatuses(term, metrics);
  }
}

const settleLookMs = 250;

function keyOf({ metadata }: KubeObject): string {
  return gatewayKey(metadata.namespace ?? '', metadata.name);
}

function measureStatuses(term: WorkTerm | undefined, metrics: Metrics): void {
  const statuses = [...(term?.statuses().values() ?? [])];
  for (const [kind, count] of countChannels(statuses)) metrics.set('leafgate_controller_channels', count, { kind });
  for (const condition of conditionTypes) {
    for (const status of ['True', 'False', 'Unknown'] as const) {
      const count = statuses.filter(({ conditions }) =>
        conditions.some((one) => one.type === condition && one.status === status),
      ).length;
      metrics.set('leafgate_controller_conditions', count, { condition, status });
    }
  }
}

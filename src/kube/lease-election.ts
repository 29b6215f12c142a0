// One active of several processes, by a Lease, as client-go elects: the time of others is never compared with ours, what
// counts is how long we have seen a Lease unchanged. No fencing: whoever leads must write so that two of them for a moment
// do no harm. Must not know what the leader does.
import { millis, seconds } from '../clock.ts';
import type { Clock, DurationMs, Timer } from '../clock.ts';
import { LeafgateError } from '../errors.ts';
import { pause } from '../pause.ts';
import type { Log } from '../observe/log.ts';
import { kubeFailureOf } from './kube-failure.ts';
import type { KubeFailure } from './kube-failure.ts';
import type { KubeClient, KubeObject, ObjectPlace } from './kube-types.ts';
import { claimedLease, leases, newLease, readLease, releasedLease } from './lease-record.ts';

type ElectionTerms = {
  readonly leaseMs: DurationMs;
  /** a leader that could not renew for this long leads no more; less than leaseMs, so that it stops before others start */
  readonly renewDeadlineMs: DurationMs;
  readonly retryMs: DurationMs;
};

/** client-go's */
const electionDefaults: ElectionTerms = {
  leaseMs: seconds(15),
  renewDeadlineMs: seconds(10),
  retryMs: seconds(2),
};

export type ElectionRequest = {
  /** its calls must end well before the renew deadline: a client of its own, with a short callTimeoutMs */
  readonly client: Pick<KubeClient, 'get' | 'create' | 'replace'>;
  readonly namespace: string;
  readonly name: string;
  /** unique for each process: `<pod>_<random>` */
  readonly identity: string;
  readonly clock: Clock;
  /** in [0, 1) */
  readonly random: () => number;
  readonly log: Log;
  readonly terms?: ElectionTerms;
  readonly onStarted: () => void;
  /** ends the leader's work; the Lease is not given back, nor sought again, before it has resolved */
  readonly onStopped: () => void | Promise<void>;
};

export interface LeaseElection {
  /** false as soon as the last renewal is too old, also when no timer could fire */
  isLeader(): boolean;
  /** '' when nobody holds the Lease, undefined before it was seen */
  holder(): string | undefined;
  /** monotonic time of the last renewal of ours */
  lastRenewal(): DurationMs | undefined;
  /** false: we lead and have not renewed for longer than anybody should trust us, so something hangs */
  isHealthy(): boolean;
  /** why the Lease could not be read or written at the last attempt */
  trouble(): KubeFailure | undefined;
  /** stops the work, then gives the Lease back */
  close(): Promise<void>;
}

/** client-go's jitter of a candidate's attempts */
const candidateJitter = 1.2;
/** beyond the Lease's own time, before a leader that does not renew counts as hanging */
const healthToleranceMs = seconds(5);
const releaseAttempts = 3;

export function electByLease(request: ElectionRequest): LeaseElection {
  return new Election(request);
}

class Election implements LeaseElection {
  readonly #request: ElectionRequest;
  readonly #terms: ElectionTerms;
  readonly #place: ObjectPlace;
  readonly #ended = new AbortController();
  readonly #run: Promise<void>;
  /** as last written by us; replaced directly while we lead */
  #held: KubeObject | undefined;
  #seen: { readonly text: string; readonly holder: string; readonly at: DurationMs } | undefined;
  #isLeading = false;
  #hasClaimed = false;
  #renewedAt: DurationMs | undefined;
  #deadline: Timer | undefined;
  #stopping: Promise<void> = Promise.resolve();
  #trouble: KubeFailure | undefined;

  constructor(request: ElectionRequest) {
    this.#request = request;
    this.#terms = request.terms ?? electionDefaults;
    this.#place = { resource: leases, namespace: request.namespace, name: request.name };
    this.#run = this.#goOn();
  }

  isLeader(): boolean {
    return this.#isLeading && this.#renewalAge() < this.#terms.renewDeadlineMs;
  }

  holder(): string | undefined {
    return this.#seen?.holder;
  }

  lastRenewal(): DurationMs | undefined {
    return this.#renewedAt;
  }

  isHealthy(): boolean {
    return !this.#isLeading || this.#renewalAge() < this.#terms.leaseMs + healthToleranceMs;
  }

  trouble(): KubeFailure | undefined {
    return this.#trouble;
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await this.#run;
    this.#stopLeading('this process stops');
    await this.#stopping;
    if (this.#hasClaimed) await this.#release();
  }

  async #goOn(): Promise<void> {
    const { clock, random } = this.#request;
    while (!this.#ended.signal.aborted) {
      // work of an earlier term must have ended before a new term can begin
      await this.#stopping;
      await this.#attempt();
      const delay = this.#terms.retryMs * (this.#isLeading ? 1 : 1 + candidateJitter * random());
      await pause(clock, millis(delay), this.#ended.signal);
    }
  }

  async #attempt(): Promise<void> {
    const startedAt = this.#request.clock.monotonic();
    try {
      const held = (await this.#renewHeld()) ?? (await this.#seek());
      this.#tellTrouble(undefined);
      if (held === undefined) return;
      // the deadline may have passed while we asked: work that is being stopped is not started beside itself
      await this.#stopping;
      this.#claimed(held, startedAt);
    } catch (thrown) {
      // lost to another writer: the next attempt sees who it is
      const { kind } = kubeFailureOf(thrown);
      if (kind !== 'conflict' && kind !== 'already-exists') this.#tellTrouble(thrown);
    }
  }

  /** the short way of a leader; undefined when it is none, or was not successful */
  async #renewHeld(): Promise<KubeObject | undefined> {
    const held = this.#held;
    this.#held = undefined;
    if (!this.isLeader() || held === undefined) return undefined;
    try {
      return await this.#request.client.replace(this.#place, claimedLease(held, this.#claim()));
    } catch {
      // read it anew: it may have been written meanwhile, or be gone
      return undefined;
    }
  }

  /** undefined: it belongs to another */
  async #seek(): Promise<KubeObject | undefined> {
    const { client, identity } = this.#request;
    const lease = await client.get(this.#place);
    if (lease === undefined) return client.create(this.#place, newLease(this.#place, this.#claim()));
    const { holder, durationMs } = this.#observe(lease);
    const age = this.#request.clock.monotonic() - (this.#seen?.at ?? 0);
    // the duration in the Lease counts, not ours (kubernetes/kubernetes#114872)
    if (holder !== '' && holder !== identity && age < durationMs) {
      this.#stopLeading(`the Lease belongs to ${holder}`);
      return undefined;
    }
    return client.replace(this.#place, claimedLease(lease, this.#claim()));
  }

  #observe(lease: KubeObject) {
    const record = readLease(lease);
    if (record.text !== this.#seen?.text) {
      this.#seen = { text: record.text, holder: record.holder, at: this.#request.clock.monotonic() };
    }
    return record;
  }

  /** `startedAt`: from then on others may count, not from when the answer came */
  #claimed(held: KubeObject, startedAt: DurationMs): void {
    this.#observe(held);
    this.#held = held;
    this.#hasClaimed = true;
    this.#renewedAt = startedAt;
    this.#deadline?.cancel();
    const left = this.#terms.renewDeadlineMs - this.#renewalAge();
    this.#deadline = this.#request.clock.after(millis(Math.max(0, left)), () => {
      this.#stopLeading(`the Lease could not be renewed for ${this.#terms.renewDeadlineMs} ms`);
    });
    if (this.#isLeading || this.#ended.signal.aborted || left <= 0) return;
    this.#isLeading = true;
    this.#request.log.info('leads from now on', { resource: this.#name() });
    this.#guard(this.#request.onStarted);
  }

  #stopLeading(why: string): void {
    this.#deadline?.cancel();
    if (!this.#isLeading) return;
    this.#isLeading = false;
    this.#request.log.warn('leads no more', { resource: this.#name(), detail: why });
    this.#stopping = this.#stopWork();
  }

  async #stopWork(): Promise<void> {
    try {
      await this.#request.onStopped();
    } catch (thrown) {
      this.#request.log.error('the work of a leader failed to stop', { detail: LeafgateError.from(thrown).message });
    }
  }

  async #release(): Promise<void> {
    const { client, clock, identity, log } = this.#request;
    for (let attempt = 1; attempt <= releaseAttempts; attempt += 1) {
      try {
        const lease = await client.get(this.#place);
        if (lease === undefined || readLease(lease).holder !== identity) return;
        await client.replace(this.#place, releasedLease(lease, clock.now()));
        return;
      } catch (thrown) {
        const { kind, message } = kubeFailureOf(thrown);
        if (kind === 'conflict' && attempt < releaseAttempts) continue;
        log.warn('the Lease could not be given back and ends by its own time', {
          resource: this.#name(),
          detail: message,
        });
        return;
      }
    }
  }

  #tellTrouble(thrown: unknown): void {
    const failure = thrown === undefined ? undefined : kubeFailureOf(thrown);
    const isNews = failure !== undefined && failure.message !== this.#trouble?.message;
    this.#trouble = failure;
    if (!isNews) return;
    const { code, message, remedy } = LeafgateError.from(thrown);
    const fields = { resource: this.#name(), code, detail: message, remedy };
    this.#request.log.warn('the Lease cannot be read or written for now', fields);
  }

  #guard(run: () => void): void {
    try {
      run();
    } catch (thrown) {
      this.#request.log.error('the work of a leader failed to start', { detail: LeafgateError.from(thrown).message });
    }
  }

  #claim() {
    const { identity, clock } = this.#request;
    return { identity, durationMs: this.#terms.leaseMs, now: clock.now() };
  }

  #renewalAge(): number {
    return this.#renewedAt === undefined ? Infinity : this.#request.clock.monotonic() - this.#renewedAt;
  }

  #name(): string {
    return `leases "${this.#request.namespace}/${this.#request.name}"`;
  }
}

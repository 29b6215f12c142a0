// Writes Events (events.k8s.io/v1) about objects: one for the first time, a count for what repeats, and no more than a
// person would read. It never throws and never makes its caller wait: an Event that cannot be written is only logged.
import { minutes, millis, seconds } from '../clock.ts';
import type { Clock, DurationMs, Timer } from '../clock.ts';
import type { Log } from '../observe/log.ts';
import { eventName, fitNote } from './event-note.ts';
import { kubeFailureOf } from './kube-failure.ts';
import type { KubeClient, KubeObject, KubeResource, ObjectPlace } from './kube-types.ts';
import { microTime } from './micro-time.ts';

export type EventAbout = {
  readonly regarding: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    /** absent: cluster-scoped */
    readonly namespace?: string;
    readonly uid: string;
  };
  readonly type: 'Normal' | 'Warning';
  /** CamelCase */
  readonly reason: string;
  /** what was done or tried, CamelCase */
  readonly action: string;
  readonly note: string;
};

export interface EventRecorder {
  record(event: EventAbout): void;
  /** what is being written is awaited, what waits for its time is dropped */
  close(): Promise<void>;
}

export type RecorderRequest = {
  readonly client: Pick<KubeClient, 'create' | 'mergePatch'>;
  readonly clock: Clock;
  /** in [0, 1) */
  readonly random: () => number;
  readonly log: Log;
  /** a qualified name, such as leafgate.dev/controller */
  readonly controller: string;
  /** the pod */
  readonly instance: string;
};

const events: KubeResource = {
  group: 'events.k8s.io',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
  isNamespaced: true,
};

/** where Events about cluster-scoped objects must stand (422 elsewhere) */
const clusterNamespace = 'default';
const maxWordChars = 128;
/** new Events about one object: so many at once, then one each interval */
const burst = 10;
const refillMs = minutes(1);
/** a repetition is counted on the Event that is there, and written this often */
const seriesWriteMs = seconds(60);
/** without a repetition for this long the next one is a new Event */
const seriesEndMs = minutes(10);
/** while the API server does not answer */
const maxWriting = 20;
const maxRemembered = 1000;
const tellAgainMs = minutes(5);

type Series = {
  readonly place: ObjectPlace;
  count: number;
  lastAt: DurationMs;
  writtenAt: DurationMs;
  flush: Timer | undefined;
  /** what is being written of it: a count must not overtake its Event */
  tail: Promise<void>;
};
type Allowance = { left: number; at: DurationMs };

export function createEventRecorder(request: RecorderRequest): EventRecorder {
  return new Recorder(request);
}

class Recorder implements EventRecorder {
  readonly #request: RecorderRequest;
  readonly #series = new Map<string, Series>();
  readonly #allowances = new Map<string, Allowance>();
  readonly #writing = new Set<Promise<void>>();
  #toldAt: DurationMs | undefined;
  #isClosed = false;

  constructor(request: RecorderRequest) {
    this.#request = request;
  }

  record(event: EventAbout): void {
    if (this.#isClosed) return;
    const now = this.#request.clock.monotonic();
    const { regarding, type, reason, action, note } = event;
    const key = JSON.stringify([regarding.uid, regarding.kind, regarding.name, type, reason, action, note]);
    const known = this.#series.get(key);
    if (known !== undefined && now - known.lastAt < seriesEndMs) {
      known.count += 1;
      known.lastAt = now;
      this.#flushWhenDue(key, known);
      return;
    }
    known?.flush?.cancel();
    this.#series.delete(key);
    if (this.#isAllowed(JSON.stringify([regarding.uid, regarding.kind, regarding.name]), now)) this.#begin(key, event);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { flush } of this.#series.values()) flush?.cancel();
    await Promise.all(this.#writing);
  }

  #begin(key: string, event: EventAbout): void {
    const { clock, client } = this.#request;
    const body = this.#bodyOf(event);
    const { name, namespace = clusterNamespace } = body.metadata;
    const place = { resource: events, namespace, name };
    const now = clock.monotonic();
    const tail = Promise.resolve();
    const series: Series = { place, count: 1, lastAt: now, writtenAt: now, flush: undefined, tail };
    remember(this.#series, key, series);
    this.#write(key, series, async () => {
      await client.create(place, body);
    });
  }

  #bodyOf({ regarding, type, reason, action, note }: EventAbout): KubeObject {
    const { clock, random, controller, instance } = this.#request;
    const now = clock.now();
    const unique = `${now.toString(16)}${Math.floor(random() * 0x1_0000_0000)
      .toString(16)
      .padStart(8, '0')}`;
    return {
      apiVersion: 'events.k8s.io/v1',
      kind: events.kind,
      metadata: { name: eventName(regarding.name, unique), namespace: regarding.namespace ?? clusterNamespace },
      eventTime: microTime(now),
      reportingController: controller,
      reportingInstance: instance.slice(0, maxWordChars),
      type,
      reason: reason.slice(0, maxWordChars),
      action: action.slice(0, maxWordChars),
      note: fitNote(note),
      regarding: { ...regarding },
    };
  }

  #flushWhenDue(key: string, series: Series): void {
    if (series.flush !== undefined) return;
    const { clock } = this.#request;
    // the first repetition shows at once, later ones together
    const wait = series.count === 2 ? 0 : series.writtenAt + seriesWriteMs - clock.monotonic();
    if (wait <= 0) this.#flush(key, series);
    else
      series.flush = clock.after(millis(wait), () => {
        series.flush = undefined;
        this.#flush(key, series);
      });
  }

  #flush(key: string, series: Series): void {
    const { clock, client } = this.#request;
    series.writtenAt = clock.monotonic();
    const patch = { series: { count: series.count, lastObservedTime: microTime(clock.now()) } };
    this.#write(key, series, async () => {
      if (this.#series.get(key) === series) await client.mergePatch(series.place, patch);
    });
  }

  #write(key: string, series: Series, run: () => Promise<void>): void {
    if (this.#writing.size >= maxWriting) {
      this.#forget(key);
      return;
    }
    const written = series.tail
      .then(run)
      .catch((thrown: unknown) => {
        // perhaps it is gone, as Events are after an hour: the next one is new
        this.#forget(key);
        this.#tell(kubeFailureOf(thrown).message);
      })
      .finally(() => this.#writing.delete(written));
    series.tail = written;
    this.#writing.add(written);
  }

  #forget(key: string): void {
    this.#series.get(key)?.flush?.cancel();
    this.#series.delete(key);
  }

  #isAllowed(object: string, now: DurationMs): boolean {
    const known = this.#allowances.get(object) ?? { left: burst, at: now };
    const refilled = Math.floor((now - known.at) / refillMs);
    const left = Math.min(burst, known.left + refilled);
    const at = left === burst ? now : millis(known.at + refilled * refillMs);
    remember(this.#allowances, object, { left: Math.max(0, left - 1), at });
    return left > 0;
  }

  #tell(detail: string): void {
    const now = this.#request.clock.monotonic();
    if (this.#toldAt !== undefined && now - this.#toldAt < tellAgainMs) return;
    this.#toldAt = now;
    this.#request.log.warn('an Event could not be written', { detail });
  }
}

/** the longest unused makes room */
function remember<Value extends object>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  const oldest = map.size >= maxRemembered ? map.keys().next().value : undefined;
  if (oldest !== undefined) map.delete(oldest);
  map.set(key, value);
}

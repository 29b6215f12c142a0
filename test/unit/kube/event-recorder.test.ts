import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { eventName, fitNote } from '../../../src/kube/event-note.ts';
import { createEventRecorder } from '../../../src/kube/event-recorder.ts';
import type { EventAbout, EventRecorder } from '../../../src/kube/event-recorder.ts';
import { kubeError, ownFailure } from '../../../src/kube/kube-failure.ts';
import type { KubeObject } from '../../../src/kube/kube-types.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import type { FakeClock } from '../../support/fake-clock.ts';
import { createListeningLog } from '../../support/kube-world.ts';

let clock: FakeClock;
let recorder: EventRecorder;
let created: KubeObject[];
let patched: object[];
let failing: boolean;
/** what a create waits for */
let held: Promise<void>;
let log: ReturnType<typeof createListeningLog>;

beforeEach(() => {
  clock = createFakeClock(Date.UTC(2026, 0, 1, 0, 0, 0, 7));
  created = [];
  patched = [];
  failing = false;
  held = Promise.resolve();
  log = createListeningLog();
  const refuse = (): void => {
    if (failing) throw kubeError('create events', ownFailure('forbidden', 'no rule for events'));
  };
  recorder = createEventRecorder({
    clock,
    log,
    random: () => 0.5,
    controller: 'leafgate.dev/controller',
    instance: 'pod-1',
    client: {
      create: async (_, body) => {
        await held;
        refuse();
        created.push(body);
        return body;
      },
      mergePatch: async (place, patch) => {
        patched.push({ name: place.name, ...patch });
        refuse();
        return created[0]!;
      },
    },
  });
});
afterEach(() => recorder.close());

const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
const about = (more: Partial<EventAbout> = {}): EventAbout => ({
  regarding: {
    apiVersion: 'leafgate.dev/v1alpha1',
    kind: 'EgressGateway',
    name: 'out',
    namespace: 'egress',
    uid: 'u1',
  },
  type: 'Warning',
  reason: 'Expired',
  action: 'JudgePool',
  note: 'the CA has expired',
  ...more,
});

describe('an Event', () => {
  it('has all that the API server wants of it, beside its object', async () => {
    recorder.record(about());
    await settled();
    expect(created).toEqual([
      {
        apiVersion: 'events.k8s.io/v1',
        kind: 'Event',
        metadata: { name: expect.stringMatching(/^out\.[0-9a-f]{19}$/), namespace: 'egress' },
        eventTime: '2026-01-01T00:00:00.007000Z',
        reportingController: 'leafgate.dev/controller',
        reportingInstance: 'pod-1',
        type: 'Warning',
        reason: 'Expired',
        action: 'JudgePool',
        note: 'the CA has expired',
        regarding: about().regarding,
      },
    ]);
  });

  it('about a cluster-scoped object stands in default, under a name that an Event may have', async () => {
    const regarding = { apiVersion: 'certificates.k8s.io/v1', kind: 'ClusterTrustBundle', name: 'a.b/c:d', uid: 'u2' };
    recorder.record(about({ regarding }));
    await settled();
    expect(created[0]?.metadata).toMatchObject({ namespace: 'default', name: expect.stringMatching(/^a-b-c-d\./) });
  });

  it('that repeats is counted at once, then once a minute', async () => {
    for (let turn = 0; turn < 5; turn += 1) recorder.record(about());
    await settled();
    expect(created).toHaveLength(1);
    expect(patched).toMatchObject([{ series: { count: 2, lastObservedTime: '2026-01-01T00:00:00.007000Z' } }]);
    clock.advance(60_000);
    await settled();
    expect(patched).toHaveLength(2);
    expect(patched[1]).toMatchObject({ name: created[0]?.metadata.name, series: { count: 5 } });
  });

  it('is counted only when it is there', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    recorder.record(about());
    recorder.record(about());
    await settled();
    expect(patched).toHaveLength(0);
    resolve();
    await settled();
    expect([created.length, patched.length]).toEqual([1, 1]);
  });

  it('that could not be made is not counted', async () => {
    failing = true;
    recorder.record(about());
    recorder.record(about());
    await settled();
    expect([created.length, patched.length, log.lines.length]).toEqual([0, 0, 1]);
  });

  it('is a new one after ten minutes without it', async () => {
    recorder.record(about());
    await settled();
    clock.advance(600_000);
    recorder.record(about());
    await settled();
    expect(created).toHaveLength(2);
    expect(patched).toHaveLength(0);
  });

  it('does not flood: ten about one object, then one a minute, and others are not held back', async () => {
    for (let turn = 0; turn < 50; turn += 1) recorder.record(about({ note: `change ${turn}` }));
    await settled();
    expect(created).toHaveLength(10);
    recorder.record(about({ regarding: { ...about().regarding, name: 'other', uid: 'u9' } }));
    clock.advance(60_000);
    recorder.record(about({ note: 'later' }));
    recorder.record(about({ note: 'too soon' }));
    await settled();
    expect(created).toHaveLength(12);
  });

  it('that cannot be written harms nobody, is told seldom, and is tried anew the next time', async () => {
    failing = true;
    for (let turn = 0; turn < 3; turn += 1) {
      recorder.record(about());
      await settled();
    }
    expect(log.lines).toMatchObject([{ level: 'warn', fields: { detail: 'no rule for events' } }]);
    failing = false;
    recorder.record(about());
    await settled();
    expect(created).toHaveLength(1);
  });
});

describe('a note', () => {
  it('is never more than 1024 bytes and never half a character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 1500 }), fc.integer({ min: 0, max: 700 }), (text, count) => {
        const note = fitNote(text + 'é😀'.repeat(count));
        expect(Buffer.byteLength(note)).toBeLessThanOrEqual(1024);
        expect(note.isWellFormed()).toBe(text.isWellFormed());
      }),
    );
    expect(fitNote('x'.repeat(1024))).toHaveLength(1024);
    expect(Buffer.byteLength(fitNote('é'.repeat(600)))).toBe(1023);
  });

  it.each(['', ':::', 'A_B', 'x'.repeat(400), 'a.b.'])('of an object called %j has a name for its Event', (name) => {
    expect(eventName(name, 'ff')).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?\.ff$/);
  });
});

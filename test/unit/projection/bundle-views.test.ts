// What is known of the cluster's bundles says how old it is: the files alone look the same however long nobody has asked.
import { beforeEach, expect, test } from 'vitest';
import { minutes, seconds } from '../../../src/clock.ts';
import { createMetrics, type Metrics } from '../../../src/observe/create-metrics.ts';
import { createBundleViews, type BundleViews } from '../../../src/projection/bundle-views.ts';
import { createFakeClock, type FakeClock } from '../../support/fake-clock.ts';
import { createListeningLog } from '../../support/kube-world.ts';

let clock: FakeClock;
let log: ReturnType<typeof createListeningLog>;
let metrics: Metrics;
let views: BundleViews;
beforeEach(() => {
  clock = createFakeClock();
  log = createListeningLog();
  metrics = createMetrics({ withProcessMetrics: false });
  views = createBundleViews({ clock, log, metrics });
});

const sample = async (): Promise<number> =>
  Number(/^leafgate_bundle_view_age_seconds (\S+)$/m.exec(await metrics.render())?.[1]);
const said = (): readonly string[] => log.lines.map(({ level, sentence }) => `${level} ${sentence}`);

test('a view counts from its first confirmation, and of several the oldest one until it is closed', async () => {
  const [one, two] = [views.open(), views.open()];
  clock.advance(minutes(60));
  expect([views.age(), views.troubles(), await sample()]).toEqual([undefined, [], 0]);
  one.confirmed();
  clock.advance(seconds(20));
  two.confirmed();
  clock.advance(seconds(10));
  expect([views.age(), await sample()]).toEqual([seconds(30), 30]);
  one.close();
  expect([views.age(), await sample()]).toEqual([seconds(10), 10]);
  expect(clock.pendingTimers()).toBe(1);
  two.close();
  expect([views.age(), await sample(), clock.pendingTimers()]).toEqual([undefined, 0, 0]);
});

test('one that is older than five minutes is told once, and once when it is confirmed again', () => {
  const view = views.open();
  view.confirmed();
  clock.advance(minutes(5) - 1);
  expect([views.troubles(), said()]).toEqual([[], []]);
  clock.advance(minutes(2));
  const sentence =
    'the API server last confirmed the bundles of the cluster 6 minutes ago: trust files stay as they were then';
  expect(views.troubles()).toEqual([sentence]);
  expect(said()).toEqual(['warn what is known of the bundles of the cluster is old']);
  clock.advance(minutes(10));
  const next = views.open();
  view.close();
  clock.advance(seconds(5));
  expect(said()).toHaveLength(1);
  next.confirmed();
  clock.advance(seconds(5));
  expect(views.troubles()).toEqual([]);
  expect(said().slice(1)).toEqual(['info the bundles of the cluster are known as they are now']);
});

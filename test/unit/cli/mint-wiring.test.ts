// What is counted with every name and handed over at a scrape.
import { expect, test } from 'vitest';
import { millis } from '../../../src/clock.ts';
import { mintEvents, sdsEvents } from '../../../src/cli/mint-wiring.ts';
import type { AskedName } from '../../../src/names/name-types.ts';
import { createMetrics } from '../../../src/observe/create-metrics.ts';
import type { Log } from '../../../src/observe/log.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const ignored = (): void => undefined;
const silentLog: Log = { debug: ignored, info: ignored, warn: ignored, error: ignored, with: () => silentLog };

test('streams, their ends, answers and leaves are in the metrics at every scrape', async () => {
  const metrics = createMetrics({ withProcessMetrics: false });
  const parts = { metrics, log: silentLog, clock: createFakeClock() };
  const sds = sdsEvents(parts);
  const mint = mintEvents(parts);
  const lines = async (): Promise<readonly string[]> => (await metrics.render()).split('\n');
  const answer = { name: 'a.test' as AskedName, why: undefined, serialHex: '', waitMs: millis(1) };
  for (const kind of ['ads', 'per-name', 'per-name', 'per-name'] as const) sds.streamOpened(kind);
  sds.streamClosed('per-name', 'peer-left');
  sds.answered({ ...answer, outcome: 'minted' });
  sds.answered({ ...answer, outcome: 'cached' });
  mint.cacheHit('a.test');
  mint.refused('b.test', 'policy', 'default');
  expect(await lines()).toEqual(
    expect.arrayContaining([
      'leafgate_sds_streams{kind="ads"} 1',
      'leafgate_sds_streams{kind="per-name"} 2',
      'leafgate_sds_streams_ended_total{end="peer-left"} 1',
      'leafgate_sds_answers_total{kind="secret"} 2',
      'leafgate_leaf_cache_hits_total 1',
      'leafgate_names_refused_total{reason="policy"} 1',
      'leafgate_names_refused_total{reason="wildcard"} 0',
      'leafgate_sds_answer_seconds_count 2',
    ]),
  );
  sds.streamClosed('per-name', 'peer-left');
  sds.streamClosed('ads', 'slow-reader');
  sds.answered({ ...answer, outcome: 'removed', why: 'policy' });
  expect(await lines()).toEqual(
    expect.arrayContaining([
      'leafgate_sds_streams{kind="ads"} 0',
      'leafgate_sds_streams{kind="per-name"} 1',
      'leafgate_sds_streams_ended_total{end="peer-left"} 2',
      'leafgate_sds_streams_ended_total{end="slow-reader"} 1',
      'leafgate_sds_answers_total{kind="removal"} 1',
    ]),
  );
});

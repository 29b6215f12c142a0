// When lost records are told, how often, and how they are counted.
import { beforeEach, describe, expect, it } from 'vitest';
import { startLossWatch, type LossCounts, type LossWatch } from '../../../src/cli/loss-watch.ts';
import { createMetrics, type Metrics } from '../../../src/observe/create-metrics.ts';
import type { Log } from '../../../src/observe/log.ts';
import { createFakeClock, type FakeClock } from '../../support/fake-clock.ts';

const nothing: LossCounts = { failedWrites: 0, completedWrites: 0, lines: 0, linesRead: 0, outputLost: 0 };

describe('the watch over lost records', () => {
  let clock: FakeClock;
  let metrics: Metrics;
  let said: string[];
  let counts: LossCounts | undefined;
  let watch: LossWatch;

  beforeEach(async () => {
    clock = createFakeClock();
    metrics = createMetrics({ withProcessMetrics: false });
    said = [];
    counts = nothing;
    const say = (sentence: string, fields?: object): void => void said.push(`${sentence} ${JSON.stringify(fields)}`);
    const log: Log = { debug: say, info: say, warn: say, error: say, with: () => log };
    watch = startLossWatch({ clock, log, metrics, counts: () => Promise.resolve(counts), cause: () => 'full' });
    await settle();
  });

  /** all that is promised already */
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const look = async (change: Partial<LossCounts>): Promise<void> => {
    counts = { ...(counts ?? nothing), ...change };
    clock.advance(2_000);
    await settle();
  };
  const lost = async (): Promise<number> => {
    const text = await metrics.render();
    return Number(/leafgate_record_lines_lost_total\{reason="not-written"\} (\d+)/.exec(text)?.[1]);
  };

  it('says nothing while every line is written', async () => {
    for (let lines = 1; lines < 5; lines += 1) await look({ lines, linesRead: lines, completedWrites: lines });
    expect([said, watch.reasons()]).toEqual([[], []]);
  });

  it('tells a loss once, gives it as a reason, and says when it is over', async () => {
    await look({ failedWrites: 1, lines: 20 });
    for (let failedWrites = 2; failedWrites < 10; failedWrites += 1)
      await look({ failedWrites, lines: failedWrites * 20 });
    expect(said).toEqual(['records are lost: the access log cannot be written {"detail":"full","lost":1}']);
    expect(watch.reasons()).toEqual(['records are lost: the access log cannot be written (full)']);
    await look({ completedWrites: 1 });
    expect(said.slice(1)).toEqual([expect.stringMatching(/^records are written again/)]);
    expect(watch.reasons()).toEqual([]);
  });

  it('does not take silence for the end of it', async () => {
    await look({ failedWrites: 1, lines: 20 });
    await look({});
    expect(watch.reasons()).toHaveLength(1);
  });

  it('tells a long one again every ten minutes', async () => {
    for (let failedWrites = 1; failedWrites <= 601; failedWrites += 1) await look({ failedWrites });
    expect(said).toHaveLength(3);
  });

  it('counts each failed write as a line, and all lines that are missing once nothing is under way', async () => {
    await look({ lines: 100, linesRead: 60, completedWrites: 3 });
    expect(await lost()).toBe(0);
    await look({ lines: 200, linesRead: 80, failedWrites: 4 });
    expect(await lost()).toBe(4);
    await look({ linesRead: 90 });
    expect(await lost()).toBe(110);
    await look({ lines: 300, linesRead: 140 });
    expect(await lost()).toBe(110);
  });

  it('never takes lines that are read late for lost ones', async () => {
    await look({ lines: 100, linesRead: 0 });
    await look({});
    expect(await lost()).toBe(0);
  });

  it('tells that nobody takes the output, and tells it seldom', async () => {
    await look({ outputLost: 5 });
    expect(watch.reasons()).toEqual(['lines of output are lost: nobody takes them']);
    await look({});
    expect(watch.reasons()).toEqual([]);
    await look({ outputLost: 6 });
    expect(said).toEqual(['lines of output are lost: nobody takes them {"lost":5}']);
  });

  it('keeps what it knows while Envoy does not answer', async () => {
    await look({ failedWrites: 1 });
    counts = undefined;
    clock.advance(2_000);
    await settle();
    expect(watch.reasons()).toHaveLength(1);
  });

  it('looks a last time when it is closed, and never again', async () => {
    counts = { ...nothing, failedWrites: 7 };
    await watch.close();
    expect([await lost(), clock.pendingTimers()]).toEqual([7, 0]);
  });
});

// What the SDS port reports, as log lines and metrics.
import { expect, test } from 'vitest';
import { channelEvents } from '../../../src/cli/channel-wiring.ts';
import { createMetrics } from '../../../src/observe/create-metrics.ts';
import type { Log, LogFields } from '../../../src/observe/log.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

function watch() {
  const clock = createFakeClock();
  const metrics = createMetrics({ withProcessMetrics: false });
  const lines: string[] = [];
  const write =
    (level: string) =>
    (sentence: string, fields: LogFields = {}): void =>
      void lines.push(`${level} ${sentence} ${JSON.stringify(fields)}`);
  const log: Log = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    with: () => log,
  };
  const count = async (sample: string): Promise<number> => {
    const line = (await metrics.render()).split('\n').find((one) => one.startsWith(`${sample} `));
    return Number(line?.slice(sample.length));
  };
  return { events: channelEvents({ log, metrics, clock }), lines, clock, count };
}

test('a flood of one reason is one line a second, with how many were left out, and all are counted', async () => {
  const { events, lines, clock, count } = watch();
  const refuse = (): void => events.refused({ peer: '192.0.2.1:1', reason: 'no-certificate', detail: 'x' });
  for (let knock = 0; knock < 500; knock += 1) refuse();
  events.refused({ peer: '192.0.2.2:1', reason: 'expired', detail: 'y' });
  clock.advance(1000);
  refuse();
  expect(lines).toHaveLength(3);
  expect(lines[2]).toContain('"lost":499');
  expect(await count('leafgate_sds_peers_refused_total{reason="no-certificate"}')).toBe(501);
  expect(await count('leafgate_sds_peers_refused_total{reason="expired"}')).toBe(1);
  expect(await count('leafgate_sds_peers_refused_total{reason="not-listed"}')).toBe(0);
});

test('a probe of the port is no warning', () => {
  const { events, lines } = watch();
  events.refused({ peer: '192.0.2.1:1', reason: 'left', detail: 'ECONNRESET' });
  expect(lines[0]).toMatch(/^debug/);
});

test('who is let in by a common name is warned about, everybody else told', async () => {
  const { events, lines, count } = watch();
  events.admitted({ peer: '192.0.2.1:1', by: 'dns', name: 'envoy.test' });
  events.admitted({ peer: '192.0.2.2:1', by: 'common-name', name: 'old.test' });
  expect(lines).toEqual([
    expect.stringMatching(/^info an SDS peer was let in .*envoy\.test/),
    expect.stringMatching(/^warn an SDS peer was let in by its common name, the last resort.*old\.test/),
  ]);
  expect(await count('leafgate_sds_peers_admitted_total{by="common-name"}')).toBe(1);
});

test('each listed name that comes has a line, many connections of one name in a second have one', () => {
  const { events, lines } = watch();
  for (const name of ['one.test', 'two.test', 'one.test', 'one.test']) {
    events.admitted({ peer: '192.0.2.1:1', by: 'dns', name });
  }
  expect(lines).toHaveLength(2);
});

test('names that nobody listed share a line a second, cut and escaped', () => {
  const { events, lines } = watch();
  for (let index = 0; index < 100; index += 1) {
    events.admitted({ peer: '192.0.2.1:1', by: 'any', name: `\u0000${'x'.repeat(60_000)}${index}` });
  }
  expect(lines).toHaveLength(1);
  expect(lines[0]?.length).toBeLessThan(500);
  expect(lines[0]).not.toContain('\u0000');
});

test('an open connection that is ended is told with its name', async () => {
  const { events, lines, count } = watch();
  events.ended({ peer: '192.0.2.1:1', reason: 'not-listed', name: 'envoy.test' });
  expect(lines[0]).toMatch(/^warn the connection of an SDS peer was ended.*envoy\.test/);
  expect(await count('leafgate_sds_peers_ended_total{reason="not-listed"}')).toBe(1);
});

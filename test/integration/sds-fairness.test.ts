// `leafgate sds` between a peer that asks for all it can and one that asks as Envoy does: the greedy one must cost the
// other no answer. The only figure here is the answer deadline, which is a promise; how fast it is belongs in the bench.
import { setInterval } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { defaultSdsSettings } from '../../src/sds/sds-settings.ts';
import { connectGrpc } from '../harness/grpc-peer.ts';
import { startProcess } from '../support/run-command.ts';
import type { StartedProcess } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { startSdsCommand, writePool } from '../support/sds-command-under-test.ts';
import type { SdsCommandUnderTest } from '../support/sds-command-under-test.ts';
import { createTempFolder } from '../support/temp-folder.ts';

const floodPeer = new URL('../support/flood-peer.ts', import.meta.url).pathname;
/** between two asks of the good peer: it must not become a flood itself */
const askEveryMs = 20;

const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function start() {
  const folder = createTempFolder();
  closing.push(() => folder.remove());
  const sds = await startSdsCommand({ folder, poolFile: writePool(folder.file('pool.json')).file });
  closing.push(() => sds.stop());
  const flood = async (...args: readonly string[]): Promise<StartedProcess> => {
    const env = scrubbedEnvironment(folder.path);
    const child = startProcess(process.execPath, [floodPeer, sds.socket, ...args], { env });
    closing.push(() => child.stop());
    await child.waitForOutput(/asking/);
    return child;
  };
  return { sds, flood };
}

/** Asks a new name at a time until `isOver`; how long each answer took. */
async function askMeanwhile(socket: string, isOver: () => boolean): Promise<readonly number[]> {
  const peer = connectGrpc(socket);
  closing.push(() => peer.close());
  const stream = peer.open();
  const waits: number[] = [];
  const ticks = setInterval(askEveryMs);
  while (!isOver()) {
    await ticks.next();
    const askedAt = performance.now();
    stream.send({ subscribe: [`good${waits.length}.test`] });
    const { nonce } = await stream.next();
    waits.push(performance.now() - askedAt);
    stream.send({ nonce });
  }
  await ticks.return?.();
  return waits;
}

async function unmintedNames(sds: SdsCommandUnderTest): Promise<readonly number[]> {
  const reasons = ['too-many-names', 'deadline', 'rate-limited', 'peer-behind'];
  return Promise.all(reasons.map((reason) => sds.metric(`leafgate_names_unavailable_total{reason="${reason}"}`)));
}

describe('while a peer asks', () => {
  const floods = [
    ['49,000 names on each of six streams', ['6', '49000']],
    ['49,000 names on each of six streams and acknowledges none', ['6', '49000', 'silent']],
  ] as const;

  test.each(floods)(
    '%s, every name of another peer is answered within the deadline',
    async (_what, args) => {
      const { sds, flood } = await start();
      const greedy = await flood(...args);
      const waits = await askMeanwhile(sds.socket, () => greedy.stdout().includes('answers in'));
      // the flood must have been one
      expect(waits.length).toBeGreaterThan(10);
      expect(Math.max(...waits)).toBeLessThan(defaultSdsSettings.answerDeadlineMs);
    },
    120_000,
  );

  test('three times the names of a stream in one request, the same holds, and removals are counted by reason', async () => {
    const { sds, flood } = await start();
    const greedy = await flood('1', '149000');
    const waits = await askMeanwhile(sds.socket, () => greedy.stdout().includes('answers in'));
    expect(Math.max(...waits)).toBeLessThan(defaultSdsSettings.answerDeadlineMs);
    const [tooMany = 0, ...others] = await unmintedNames(sds);
    const minted = await sds.metric('leafgate_leaves_minted_total');
    expect(tooMany).toBeGreaterThan(0);
    expect(others.reduce((sum, count) => sum + count, minted + tooMany)).toBe(149_000 + waits.length);
    expect(sds.process.stderr()).toContain('its stream asks for more than 50000 names');
  }, 120_000);
});

// How long one leaf keeps the event loop: names, policy, key, encoding, signature and PEM, with the default CA, in process.
import { randomBytes } from 'node:crypto';
import { systemClock } from '../../src/clock.ts';
import { createMinter } from '../../src/mint/create-minter.ts';
import { silentMintEvents } from '../../src/mint/mint-events.ts';
import { defaultMintSettings, shortestLeafMs } from '../../src/mint/mint-settings.ts';
import { askedNameFromText } from '../../src/names/parse-asked-name.ts';
import { createPool } from '../../src/pool/create-pool.ts';
import { parsePool } from '../../src/pool/parse-pool.ts';

const warmUp = 10_000;
const measured = 20_000;
const usPerMs = 1000;

/** One sentence with p50, p99.9 and the longest, in microseconds. */
export function benchLeaf(): string {
  const bytes = createPool({ now: systemClock.now(), randomBytes }).reveal();
  const terms = { source: 'bench', now: systemClock.now(), allowEd25519: false, shortestLeafMs };
  const pool = parsePool(bytes, terms);
  const minter = createMinter({
    pool: () => pool,
    mayMint: () => ({ allowed: true, rule: 'bench' }),
    clock: systemClock,
    randomBytes,
    settings: { ...defaultMintSettings, missesPerSecond: 1_000_000, missBurst: 1_000_000 },
    events: silentMintEvents,
  });
  const tookUs: number[] = [];
  for (let index = 0; index < warmUp + measured; index += 1) {
    const startedAt = performance.now();
    const outcome = minter.mint(askedNameFromText(`leaf-${index}.bench.test`));
    const took = (performance.now() - startedAt) * usPerMs;
    if ('then' in outcome || outcome.kind !== 'granted')
      throw new Error('a leaf of the default CA was not minted at once');
    if (index >= warmUp) tookUs.push(took);
  }
  tookUs.sort((one, other) => one - other);
  const at = (share: number): string => (tookUs[Math.floor(share * (tookUs.length - 1))] ?? 0).toFixed(0);
  return `one leaf in process, default CA: p50 ${at(0.5)} µs, p99.9 ${at(0.999)} µs, longest of ${measured} ${at(1)} µs`;
}

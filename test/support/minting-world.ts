// A minter with everything around it in the test's hands: clock, policy, pool, dice, and a list of what it reported.
import { randomBytes } from 'node:crypto';
import { minutes } from '../../src/clock.ts';
import { createMinter } from '../../src/mint/create-minter.ts';
import type { MinterParts } from '../../src/mint/create-minter.ts';
import { defaultMintSettings } from '../../src/mint/mint-settings.ts';
import type { MintSettings } from '../../src/mint/mint-settings.ts';
import type { Leaf, Minter, MintOutcome } from '../../src/mint/mint-types.ts';
import { askedNameFromText } from '../../src/names/parse-asked-name.ts';
import { parsePool } from '../../src/pool/parse-pool.ts';
import type { Pool } from '../../src/pool/pool-types.ts';
import { testNow } from './ca-workshop.ts';
import { createFakeClock } from './fake-clock.ts';
import type { FakeClock } from './fake-clock.ts';
import { caFields, poolBytes } from './pool-workshop.ts';

export type MintingWorld = {
  readonly minter: Minter;
  readonly clock: FakeClock;
  /** one line an event, as `minted dns a.test`, `refused policy`, `unavailable rate-limited` */
  readonly told: string[];
  pool: Pool | undefined;
  mayMint: MinterParts['mayMint'];
  /** mints and expects a leaf, synchronous or not */
  leaf(name: string): Promise<Leaf>;
  /** what the minter says at once; throws when it makes a promise */
  mint(name: string): MintOutcome;
  /** what the minter says in the end */
  ask(name: string): Promise<MintOutcome>;
};

export type WorldOptions = {
  readonly pool?: Pool | undefined;
  readonly settings?: Partial<MintSettings>;
  readonly draw?: (count: number) => Uint8Array;
};

export function poolOf(bytes: Uint8Array, now = testNow): Pool {
  return parsePool(bytes, { source: 'pool.json', now, allowEd25519: false, shortestLeafMs: minutes(2) });
}

export function onePool(): Pool {
  return poolOf(poolBytes([caFields('one')]));
}

export function createMintingWorld(options: WorldOptions = {}): MintingWorld {
  const clock = createFakeClock(testNow);
  const told: string[] = [];
  const world: MintingWorld = {
    minter: createMinter({
      pool: () => world.pool,
      mayMint: (name) => world.mayMint(name),
      clock,
      randomBytes: options.draw ?? randomBytes,
      settings: { ...defaultMintSettings, ...options.settings },
      events: {
        minted: ({ nameKind, name }) => told.push(`minted ${nameKind} ${name}`),
        cacheHit: (name) => told.push(`cached ${name}`),
        refused: (_asked, reason, rule) => told.push(['refused', reason, rule ?? ''].join(' ').trim()),
        unavailable: (reason) => told.push(`unavailable ${reason}`),
        leafCheckFailed: (error) => told.push(`check failed ${error.code}`),
        leafKeyRenewed: () => told.push('key renewed'),
      },
    }),
    clock,
    told,
    pool: 'pool' in options ? options.pool : onePool(),
    mayMint: () => ({ allowed: true, rule: 'test' }),
    mint(name) {
      const outcome = world.minter.mint(askedNameFromText(name));
      if (outcome instanceof Promise) throw new Error(`${name}: a promise`);
      return outcome;
    },
    ask: async (name) => world.minter.mint(askedNameFromText(name)),
    async leaf(name) {
      const outcome = await world.ask(name);
      if (outcome.kind !== 'granted') throw new Error(`${name}: ${JSON.stringify(outcome)}`);
      return outcome.leaf;
    },
  };
  return world;
}

// CAs whose signature is made off the event loop (RSA, P-384): single flight, deadline, and a pool that changes while
// a leaf is being signed.
import { describe, expect, it } from 'vitest';
import type { MintOutcome } from '../../../src/mint/mint-types.ts';
import { createKeyring, makeCa, makeKey } from '../../support/ca-workshop.ts';
import { createMintingWorld, onePool, poolOf } from '../../support/minting-world.ts';
import { caFields, poolBytes } from '../../support/pool-workshop.ts';
import type { TestKeyKind } from '../../support/ca-workshop.ts';

const keyring = createKeyring();

function poolOfKind(kind: TestKeyKind) {
  return poolOf(poolBytes([caFields('one', makeCa({ key: keyring(kind) }))]));
}

describe.each(['RSA-2048', 'P-384'] as const)('a CA of %s', (kind) => {
  it('grants by promise, then from the cache at once', async () => {
    const world = createMintingWorld({ pool: poolOfKind(kind) });
    expect(() => world.mint('a.test')).toThrow('a promise');
    expect(await world.ask('a.test')).toMatchObject({ kind: 'granted', fresh: true });
    expect(world.mint('a.test')).toMatchObject({ kind: 'granted', fresh: false });
  });

  it('signs once for a hundred asks of one cold name', async () => {
    const world = createMintingWorld({ pool: poolOfKind(kind), settings: { missBurst: 1, missesPerSecond: 1 } });
    const asks = Array.from({ length: 100 }, (_, index) => world.ask(index % 2 === 0 ? 'a.test' : 'A.TEST.'));
    const serials = new Set((await Promise.all(asks)).map((outcome) => serialOf(outcome)));
    expect(serials.size).toBe(1);
    expect(world.told.filter((line) => line.startsWith('minted'))).toHaveLength(1);
  });

  // lru-cache's fetch would fail 40 of these 50 as "evicted" (isaacs/node-lru-cache#320)
  it('answers fifty names that are asked at once with a cache of ten', async () => {
    const world = createMintingWorld({ pool: poolOfKind(kind), settings: { maxCachedLeaves: 10 } });
    const asks = Array.from({ length: 50 }, (_, index) => world.ask(`n${index}.test`));
    for (const outcome of await Promise.all(asks)) expect(outcome.kind).toBe('granted');
  });

  it('drops what has waited past the deadline, unsigned', async () => {
    const world = createMintingWorld({ pool: poolOfKind(kind) });
    const asks = Array.from({ length: 20 }, (_, index) => world.ask(`n${index}.test`));
    world.clock.advance(2000);
    const kinds = (await Promise.all(asks)).map((outcome) =>
      outcome.kind === 'unavailable' ? outcome.reason : outcome.kind,
    );
    expect(kinds.slice(0, 4)).toEqual(['granted', 'granted', 'granted', 'granted']);
    expect(new Set(kinds.slice(4))).toEqual(new Set(['deadline']));
    expect(await world.ask('n19.test')).toMatchObject({ kind: 'granted' });
  });

  it('gives the leaf of the new CA when the pool changes while it signs', async () => {
    const world = createMintingWorld({ pool: poolOfKind(kind) });
    const ask = world.ask('a.test');
    world.pool = onePool();
    expect(await ask).toMatchObject({ kind: 'granted' });
    expect(versionOf(await ask).slice(0, 8)).toBe(world.pool.active.keyIdPrefix);
  });

  it('refuses what the policy forbids while it signs', async () => {
    const world = createMintingWorld({ pool: poolOfKind(kind) });
    const ask = world.ask('a.test');
    world.mayMint = () => ({ allowed: false, rule: 'late' });
    expect(await ask).toEqual({ kind: 'refused', reason: 'policy', rule: 'late' });
  });

  it('says "not now" when a leaf fails its check, and tries anew for the next ask', async () => {
    const world = createMintingWorld({ pool: poolOfKind(kind) });
    const { signer } = world.pool!;
    world.pool = { ...world.pool!, signer: { ...signer, key: makeKey(kind) } };
    expect(await world.ask('a.test')).toEqual({ kind: 'unavailable', reason: 'internal' });
    expect(await world.ask('a.test')).toEqual({ kind: 'unavailable', reason: 'internal' });
    expect(world.told.filter((line) => line.startsWith('check failed'))).toHaveLength(2);
  });
});

function serialOf(outcome: MintOutcome): string {
  if (outcome.kind !== 'granted') throw new Error(outcome.kind);
  return outcome.leaf.serialHex;
}

function versionOf(outcome: MintOutcome): string {
  if (outcome.kind !== 'granted') throw new Error(outcome.kind);
  return outcome.leaf.version;
}

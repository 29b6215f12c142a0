// Time, keys and CAs: how long a leaf, a leaf key and a cache entry live, and what a change of the pool does to them.
import { describe, expect, it } from 'vitest';
import { hours, minutes, minus, plus, seconds } from '../../../src/clock.ts';
import { checkEvery, defaultMintSettings } from '../../../src/mint/mint-settings.ts';
import { extension } from '../../../src/x509/encode-extensions.ts';
import { contextConstructed, contextPrimitive, sequence } from '../../../src/x509/forge-asn1.ts';
import { goodList, makeCa, testNow } from '../../support/ca-workshop.ts';
import { createMintingWorld, onePool, poolOf } from '../../support/minting-world.ts';
import { caFields, chainFields, poolBytes } from '../../support/pool-workshop.ts';

/** a pool whose one CA ends after this many minutes */
function poolEndingIn(count: number) {
  return poolOf(poolBytes([caFields('one', makeCa({ notAfter: plus(testNow, minutes(count)) }))]));
}

describe('the end of a leaf', () => {
  it('is never beyond the end of its signer', async () => {
    const world = createMintingWorld({ pool: poolEndingIn(10) });
    expect((await world.leaf('a.test')).notAfter).toBe(testNow + minutes(10));
  });

  it('is never beyond the end of any certificate of the chain', async () => {
    const root = makeCa({ notAfter: plus(testNow, minutes(20)) });
    const middle = makeCa({ issuer: root });
    const world = createMintingWorld({ pool: poolOf(poolBytes([chainFields('one', root, middle)])) });
    const leaf = await world.leaf('a.test');
    expect(leaf.notAfter).toBe(testNow + minutes(20));
    expect(
      Buffer.from(leaf.chainPem)
        .toString()
        .match(/BEGIN CERTIFICATE/g),
    ).toHaveLength(2);
  });

  it.each([
    [120, 'granted'],
    [119, 'unavailable'],
  ] as const)('a signer with %d seconds of life left: %s', (left, kind) => {
    const world = createMintingWorld({ pool: poolEndingIn(10) });
    world.clock.advance(minutes(10) - seconds(left));
    expect(world.mint('a.test')).toMatchObject({ kind });
    expect(world.told.at(-1)).toBe(kind === 'granted' ? 'minted dns a.test' : 'unavailable signer-expired');
  });

  it('a signer whose life has not begun does not sign', () => {
    const world = createMintingWorld();
    world.clock.setWallTime(testNow - hours(48));
    expect(world.mint('a.test')).toEqual({ kind: 'unavailable', reason: 'signer-not-yet-valid' });
  });

  it('decides the TTL: a minute before it, at least a second', () => {
    const { minter } = createMintingWorld();
    expect(minter.resourceTtl(plus(testNow, hours(1)))).toBe(minutes(59));
    expect(minter.resourceTtl(plus(testNow, seconds(61)))).toBe(seconds(1));
    expect(minter.resourceTtl(minus(testNow, hours(1)))).toBe(seconds(1));
  });
});

describe('a cached leaf', () => {
  it('is served again as it is while enough of its life is left', async () => {
    const world = createMintingWorld();
    const leaf = await world.leaf('a.test');
    world.clock.advance(minutes(40));
    expect(await world.leaf('a.test')).toBe(leaf);
    expect(world.told.at(-1)).toBe('cached a.test');
  });

  it('is re-minted before its rest is too short to be useful', async () => {
    const world = createMintingWorld();
    const leaf = await world.leaf('a.test');
    world.clock.advance(leaf.notAfter - testNow - minutes(7) + 1);
    expect((await world.leaf('a.test')).notAfter).toBeGreaterThan(leaf.notAfter);
  });

  // lru-cache's own TTL runs on performance.now() and would still serve it (facts: reliability 2.5)
  it('ends by the wall clock, also when that jumps', async () => {
    const world = createMintingWorld();
    const leaf = await world.leaf('a.test');
    world.clock.setWallTime(testNow + hours(1));
    expect(await world.leaf('a.test')).not.toBe(leaf);
  });

  it('is not served before its beginning, when the wall clock is set back', async () => {
    const world = createMintingWorld();
    const leaf = await world.leaf('a.test');
    world.clock.setWallTime(testNow - minutes(6));
    expect(await world.leaf('a.test')).not.toBe(leaf);
  });

  it('is served to its end when its signer cannot give more', async () => {
    const world = createMintingWorld({ pool: poolEndingIn(10) });
    const leaf = await world.leaf('a.test');
    world.clock.advance(minutes(8));
    expect(await world.leaf('a.test')).toBe(leaf);
  });

  it('makes way for others at the size of the cache, the least used first', async () => {
    const world = createMintingWorld({ settings: { maxCachedLeaves: 3 } });
    for (const label of ['a', 'b', 'c', 'a', 'd', 'a', 'b']) await world.leaf(`${label}.test`);
    expect(world.told.filter((line) => line.startsWith('cached'))).toEqual(['cached a.test', 'cached a.test']);
    expect(world.told.at(-1)).toBe('minted dns b.test');
  });

  it('is not served again once a peer has rejected it', async () => {
    const world = createMintingWorld();
    const leaf = await world.leaf('a.test');
    world.minter.forgetLeaf('A.Test.' as never);
    world.minter.forgetLeaf('not a name' as never);
    expect(await world.leaf('a.test')).not.toBe(leaf);
  });

  it('lives at the shortest lifetime too', async () => {
    const world = createMintingWorld({ settings: { leafLifetimeMs: minutes(2) } });
    expect(await world.leaf('a.test')).toBe(await world.leaf('a.test'));
  });
});

describe('a leaf key', () => {
  it('serves for one leaf lifetime', async () => {
    const world = createMintingWorld();
    const first = await world.leaf('a.test');
    world.clock.advance(hours(1) - 1);
    expect((await world.leaf('b.test')).privateKeyPem).toBe(first.privateKeyPem);
    world.clock.advance(1);
    expect((await world.leaf('c.test')).privateKeyPem).not.toBe(first.privateKeyPem);
    expect(world.told.filter((line) => line === 'key renewed')).toHaveLength(2);
  });

  it('is not kept longer because the wall clock was set back', async () => {
    const world = createMintingWorld();
    const first = await world.leaf('a.test');
    world.clock.advance(hours(1));
    world.clock.setWallTime(testNow);
    expect((await world.leaf('b.test')).privateKeyPem).not.toBe(first.privateKeyPem);
  });

  it('is another one with another signer', async () => {
    const world = createMintingWorld();
    const first = await world.leaf('a.test');
    world.pool = onePool();
    expect((await world.leaf('a.test')).privateKeyPem).not.toBe(first.privateKeyPem);
  });
});

describe('a change of the pool', () => {
  it('counts for the next ask: the new active CA signs, cached leaves of the old one are gone', async () => {
    const world = createMintingWorld();
    const old = await world.leaf('a.test');
    const before = world.pool;
    world.pool = onePool();
    const fresh = await world.leaf('a.test');
    expect(fresh.version.slice(0, 8)).toBe(world.pool.active.keyIdPrefix);
    world.pool = before;
    expect(await world.leaf('a.test')).not.toBe(old);
  });

  it('costs no leaf when the file was only rewritten', async () => {
    const bytes = poolBytes([caFields('one')]);
    const world = createMintingWorld({ pool: poolOf(bytes) });
    const leaf = await world.leaf('a.test');
    world.pool = poolOf(bytes);
    expect(await world.leaf('a.test')).toBe(leaf);
  });

  it('is followed when only the root above the same signer is renewed and lives longer', async () => {
    const oldRoot = makeCa({ notAfter: plus(testNow, minutes(20)) });
    const { key, certificate } = oldRoot;
    const newRoot = makeCa({ key, subjectDer: certificate.subjectDer });
    const middle = makeCa({ issuer: oldRoot });
    const world = createMintingWorld({ pool: poolOf(poolBytes([chainFields('one', oldRoot, middle)])) });
    await world.leaf('a.test');
    world.pool = poolOf(poolBytes([chainFields('one', newRoot, middle)]));
    expect((await world.leaf('a.test')).notAfter).toBeGreaterThan(testNow + minutes(50));
  });

  it('is followed when only the chain of the same key changes', async () => {
    const root = makeCa();
    const key = makeCa({ issuer: root });
    const short = poolOf(poolBytes([chainFields('one', root, key)]));
    const renewed = makeCa({ issuer: root, key: key.key, subjectDer: key.certificate.subjectDer });
    const world = createMintingWorld({ pool: short });
    const leaf = await world.leaf('a.test');
    world.pool = poolOf(poolBytes([chainFields('one', root, renewed)]));
    expect(await world.leaf('a.test')).not.toBe(leaf);
  });
});

describe('the check of made leaves', () => {
  it('sees the first leaf of a key and one in a thousand after it', async () => {
    let checks = 0;
    const world = createMintingWorld({ settings: { missBurst: 1e9, missesPerSecond: 1e9 } });
    const { signer } = world.pool!;
    // checkLeaf is what reads the public key of the CA's certificate
    const counting = new Proxy(signer.certificate.native, {
      get(target, property) {
        if (property === 'publicKey') checks += 1;
        return Reflect.get(target, property, target) as unknown;
      },
    });
    world.pool = { ...world.pool!, signer: { ...signer, certificate: { ...signer.certificate, native: counting } } };
    await world.leaf('first.test');
    expect(checks).toBe(1);
    for (let count = 1; count < checkEvery; count += 1) await world.leaf(`n${count}.test`);
    expect(checks).toBe(1);
    await world.leaf('thousand.test');
    expect(checks).toBe(2);
  });
});

describe('name constraints', () => {
  it('of the CA are honoured before anything is made', () => {
    const subtree = sequence(contextPrimitive(2, Buffer.from('inside.test')));
    const constraints = extension('2.5.29.30', 'critical', sequence(contextConstructed(0, subtree)));
    const ca = makeCa({ extensions: (good) => [...goodList(good), constraints] });
    const world = createMintingWorld({ pool: poolOf(poolBytes([caFields('one', ca)])) });
    expect(world.mint('b.other.test')).toEqual({ kind: 'refused', reason: 'name-constraint' });
    expect(world.told).toEqual(['refused name-constraint']);
    expect(world.mint('a.inside.test')).toMatchObject({ kind: 'granted' });
  });
});

it('the defaults are those of the design', () => {
  expect(defaultMintSettings).toEqual({
    leafLifetimeMs: 3_600_000,
    maxCachedLeaves: 10_000,
    missesPerSecond: 2000,
    missBurst: 10_000,
    answerDeadlineMs: 2000,
  });
});

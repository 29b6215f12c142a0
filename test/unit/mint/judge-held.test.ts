// What becomes of a leaf that Envoy says it holds, from its version alone (facts: reliability S7).
import { describe, expect, it } from 'vitest';
import { days, hours, seconds } from '../../../src/clock.ts';
import { formatVersion, parseVersion } from '../../../src/mint/sds-version.ts';
import { askedNameFromText } from '../../../src/names/parse-asked-name.ts';
import { makeCa, testNow } from '../../support/ca-workshop.ts';
import { createMintingWorld, onePool, poolOf } from '../../support/minting-world.ts';
import { caFields, poolBytes } from '../../support/pool-workshop.ts';

const asked = askedNameFromText('A.test');

function version(prefix: string, leftMs: number): string {
  return `${prefix}.${(testNow + leftMs) / 1000}.0a1b`;
}

describe('a held version', () => {
  it('stays when its CA is in the pool and its life is long enough', async () => {
    const world = createMintingWorld();
    const leaf = await world.leaf('a.test');
    expect(world.minter.judgeHeld(asked, leaf.version)).toEqual({ kind: 'keep', notAfter: leaf.notAfter });
  });

  it('stays when its CA is in the pool but no longer signs', () => {
    const old = makeCa();
    const both = poolOf(poolBytes([caFields('old', old), caFields('new')], 'new'));
    const prefix = Buffer.from(old.keyId).toString('hex').slice(0, 8);
    const world = createMintingWorld({ pool: both });
    expect(world.minter.judgeHeld(asked, version(prefix, hours(1)))).toMatchObject({ kind: 'keep' });
  });

  it('stays while there is no pool at all', () => {
    const world = createMintingWorld({ pool: undefined });
    expect(world.minter.judgeHeld(asked, version('00112233', hours(1)))).toMatchObject({ kind: 'keep' });
  });

  it('makes way when its CA has left the pool', async () => {
    const world = createMintingWorld();
    const leaf = await world.leaf('a.test');
    world.pool = onePool();
    expect(world.minter.judgeHeld(asked, leaf.version)).toEqual({ kind: 'replace' });
  });

  const pool = onePool();
  const prefix = pool.active.keyIdPrefix;
  const rows = [
    ['has 70 s left: the margin and a little', version(prefix, seconds(70)), 'keep'],
    ['has a second less', version(prefix, seconds(69)), 'replace'],
    ['is past its end', version(prefix, -1000), 'replace'],
    ['lives as long as the longest leaf', version(prefix, days(1)), 'keep'],
    ['lives longer than any leaf of ours', version(prefix, days(1) + 1000), 'replace'],
    ['is empty', '', 'replace'],
    ['is not ours', '1', 'replace'],
    ['has upper case', version(prefix, hours(1)).toUpperCase(), 'replace'],
    ['has something before it', ` ${version(prefix, hours(1))}`, 'replace'],
    ['has something after it', `${version(prefix, hours(1))}\n`, 'replace'],
    ['has no serial', version(prefix, hours(1)).slice(0, -4), 'replace'],
    ['is a megabyte', `${version(prefix, hours(1))}${'0'.repeat(1_000_000)}`, 'replace'],
  ] as const;

  it.each(rows)('that %s: %s → %s', (_what, held, kind) => {
    const world = createMintingWorld({ pool });
    expect(world.minter.judgeHeld(asked, held)).toMatchObject({ kind });
  });

  it('goes when the name is no longer allowed, however good it is', async () => {
    const world = createMintingWorld();
    const leaf = await world.leaf('a.test');
    world.mayMint = () => ({ allowed: false, rule: 'r' });
    expect(world.minter.judgeHeld(asked, leaf.version)).toEqual({ kind: 'refuse', reason: 'policy', rule: 'r' });
    expect(world.minter.judgeHeld(askedNameFromText('a b'), leaf.version)).toEqual({
      kind: 'refuse',
      reason: 'bad-character',
    });
  });
});

describe('a version', () => {
  it('is read back as it was written', async () => {
    const world = createMintingWorld();
    const leaf = await world.leaf('a.test');
    const { keyIdPrefix } = world.pool!.active;
    expect(parseVersion(leaf.version)).toEqual({ keyIdPrefix, notAfter: leaf.notAfter, serialHex: leaf.serialHex });
    expect(formatVersion(keyIdPrefix, leaf.notAfter, leaf.serialHex)).toBe(leaf.version);
  });
});

// The order of the checks, and what each of them may cost.
import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { hours, minutes, seconds } from '../../../src/clock.ts';
import { readCertificate } from '../../../src/x509/read-certificate.ts';
import { testNow } from '../../support/ca-workshop.ts';
import { createMintingWorld, onePool } from '../../support/minting-world.ts';

function certificatesIn(chainPem: Uint8Array): readonly X509Certificate[] {
  const blocks =
    Buffer.from(chainPem)
      .toString('latin1')
      .match(/-----BEGIN[^]*?END CERTIFICATE-----\n/g) ?? [];
  return blocks.map((block) => new X509Certificate(block));
}

describe('a mint', () => {
  it('gives a leaf for exactly the name, with its key, signed by the active CA', async () => {
    const world = createMintingWorld();
    const leaf = await world.leaf('api.example.com');
    const [certificate] = certificatesIn(leaf.chainPem);
    expect(certificate?.subjectAltName).toBe('DNS:api.example.com');
    expect(certificate?.verify(world.pool!.active.anchor.native.publicKey)).toBe(true);
    expect(Buffer.from(leaf.privateKeyPem.reveal()).toString()).toContain('BEGIN PRIVATE KEY');
    expect(leaf.version).toBe(
      `${world.pool!.active.keyIdPrefix}.${leaf.notAfter / 1000}.${certificate?.serialNumber.toLowerCase()}`,
    );
    expect(world.told).toEqual(['key renewed', 'minted dns api.example.com']);
  });

  it('gives an address an address', async () => {
    const [certificate] = certificatesIn((await createMintingWorld().leaf('10.0.0.1')).chainPem);
    expect(certificate?.subjectAltName).toBe('IP Address:10.0.0.1');
  });

  it('stands between five minutes ago and an hour from now, less a tenth at most', async () => {
    const world = createMintingWorld();
    for (let count = 0; count < 50; count += 1) {
      const leaf = await world.leaf(`n${count}.test`);
      const read = readCertificate(certificatesIn(leaf.chainPem)[0]!.raw);
      expect([read.notBefore, read.notAfter]).toEqual([leaf.notBefore, leaf.notAfter]);
      expect(leaf.notBefore).toBe(testNow - minutes(5));
      expect(leaf.notAfter).toBeLessThanOrEqual(testNow + hours(1));
      expect(leaf.notAfter).toBeGreaterThanOrEqual(testNow + minutes(54) - seconds(1));
    }
  });

  it('spreads the ends of leaves that are asked at the same instant', async () => {
    const world = createMintingWorld();
    const ends = new Set<number>();
    for (let count = 0; count < 50; count += 1) ends.add((await world.leaf(`n${count}.test`)).notAfter);
    expect(ends.size).toBeGreaterThan(20);
  });

  it('shares one leaf between all spellings of a name', async () => {
    const world = createMintingWorld();
    const first = await world.leaf('Api.Example.com');
    for (const spelling of ['api.example.com', 'API.EXAMPLE.COM', 'api.example.com.']) {
      expect(await world.leaf(spelling)).toBe(first);
    }
    const address = await world.leaf('2001:DB8:0::1');
    expect(await world.leaf('2001:db8::1')).toBe(address);
  });
});

describe('a refusal', () => {
  const refusals = [
    ['', 'empty'],
    ['a b', 'bad-character'],
    ['*.example.com', 'wildcard'],
    ['-a.test', 'bad-label'],
    ['1.2.3.400', 'not-an-address'],
    ['a'.repeat(254), 'too-long'],
  ] as const;

  it.each(refusals)('of %j says %s', (name, reason) => {
    const world = createMintingWorld();
    expect(world.mint(name)).toEqual({ kind: 'refused', reason });
  });

  it('by policy names the rule', () => {
    const world = createMintingWorld();
    world.mayMint = () => ({ allowed: false, rule: 'no-banks' });
    expect(world.mint('bank.test')).toEqual({ kind: 'refused', reason: 'policy', rule: 'no-banks' });
  });

  it('costs neither a key nor a random byte nor a cache entry', () => {
    let drawn = 0;
    const world = createMintingWorld({ draw: (count) => new Uint8Array((drawn += count)) });
    world.mayMint = () => ({ allowed: false, rule: 'none' });
    for (const name of ['', 'a b', 'a.test', '10.0.0.1']) world.mint(name);
    expect(drawn).toBe(0);
    expect(world.told.filter((line) => !line.startsWith('refused'))).toEqual([]);
  });

  it('does not take a token that an allowed name needs', () => {
    const world = createMintingWorld({ settings: { missesPerSecond: 1, missBurst: 1 } });
    world.mayMint = (name) => ({ allowed: name.kind === 'dns' && name.host === 'good.test', rule: 'r' });
    for (let count = 0; count < 10; count += 1) world.mint(`bad${count}.test`);
    expect(world.mint('good.test')).toMatchObject({ kind: 'granted' });
  });

  it('comes before a missing signer: what is never allowed does not become "later"', () => {
    const world = createMintingWorld({ pool: undefined });
    world.mayMint = () => ({ allowed: false, rule: 'r' });
    expect(world.mint('a.test')).toMatchObject({ kind: 'refused' });
  });

  it('ends with the policy that made it', () => {
    const world = createMintingWorld();
    world.mayMint = () => ({ allowed: false, rule: 'r' });
    world.mint('a.test');
    world.mayMint = () => ({ allowed: true, rule: 'r' });
    expect(world.mint('a.test')).toMatchObject({ kind: 'granted' });
  });

  it('shows no more of a long name than a name can have', () => {
    const seen: string[] = [];
    const world = createMintingWorld();
    world.told.push = (...lines) => seen.push(...lines);
    world.mint('a'.repeat(100_000));
    expect(seen.join('').length).toBeLessThan(100);
  });

  it('takes back a cached leaf: policy is asked for hits too', async () => {
    const world = createMintingWorld();
    await world.leaf('a.test');
    world.mayMint = () => ({ allowed: false, rule: 'r' });
    expect(world.mint('a.test')).toMatchObject({ kind: 'refused' });
  });
});

describe('"not now"', () => {
  it('is the answer while there is no pool, and is not remembered', () => {
    const world = createMintingWorld({ pool: undefined });
    expect(world.mint('a.test')).toEqual({ kind: 'unavailable', reason: 'no-signer' });
    world.pool = onePool();
    expect(world.mint('a.test')).toMatchObject({ kind: 'granted' });
  });

  it('is the answer beyond the burst, and only for what is not cached', () => {
    const world = createMintingWorld({ settings: { missesPerSecond: 2, missBurst: 3 } });
    const kinds = ['a', 'b', 'c', 'd'].map((label) => world.mint(`${label}.test`).kind);
    expect(kinds).toEqual(['granted', 'granted', 'granted', 'unavailable']);
    for (let count = 0; count < 1000; count += 1) expect(world.mint('a.test')).toMatchObject({ fresh: false });
    expect(world.mint('e.test')).toEqual({ kind: 'unavailable', reason: 'rate-limited' });
    world.clock.advance(500);
    expect(world.mint('d.test')).toMatchObject({ kind: 'granted' });
    expect(world.mint('e.test')).toMatchObject({ kind: 'unavailable' });
  });

  it('never becomes an exception', () => {
    const world = createMintingWorld();
    world.mayMint = () => {
      throw new Error('policy broke');
    };
    expect(world.mint('a.test')).toEqual({ kind: 'unavailable', reason: 'internal' });
    expect(world.minter.judgeHeld('a.test' as never, 'x')).toEqual({ kind: 'replace' });
  });

  it('is the answer for a leaf that does not pass its check, which is then in no cache', () => {
    const world = createMintingWorld();
    const { signer } = world.pool!;
    world.pool = { ...world.pool!, signer: { ...signer, key: onePool().signer.key } };
    expect(world.mint('a.test')).toEqual({ kind: 'unavailable', reason: 'internal' });
    expect(world.mint('a.test')).toEqual({ kind: 'unavailable', reason: 'internal' });
    expect(world.told).toContain('check failed mint-leaf-check-failed');
    expect(world.told.filter((line) => line.startsWith('minted') || line.startsWith('cached'))).toEqual([]);
  });
});

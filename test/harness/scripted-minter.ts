// A minter whose every answer the test decides. Its leaves are no certificates, but each has its own version and end.
import { epoch, hours, millis, plus } from '../../src/clock.ts';
import type { Clock, DurationMs, EpochMs } from '../../src/clock.ts';
import type { HeldVerdict, Leaf, Minter, MintOutcome, SdsVersion } from '../../src/mint/mint-types.ts';
import type { AskedName } from '../../src/names/name-types.ts';
import { SecretBytes } from '../../src/secret-bytes.ts';

export class ScriptedMinter implements Minter {
  /** names that are refused by policy */
  readonly denied = new Set<string>();
  /** names that cannot be minted now */
  readonly unavailable = new Set<string>();
  /** versions whose CA has left the pool */
  readonly retired = new Set<string>();
  /** names whose mint is a promise, with what settles it */
  readonly slow = new Map<string, ((outcome: MintOutcome) => void)[]>();
  readonly minted: string[] = [];
  readonly forgotten: string[] = [];
  readonly leaves = new Map<string, Leaf>();
  leafLifetime: DurationMs = hours(1);
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  mint(asked: AskedName): MintOutcome | Promise<MintOutcome> {
    const waiting = this.slow.get(asked);
    if (waiting === undefined) return this.outcome(asked);
    return new Promise<MintOutcome>((resolve) => waiting.push(resolve));
  }

  /** from now on the name's mint does not settle before `finish` */
  makeSlow(name: string): void {
    this.slow.set(name, []);
  }

  finish(name: string): void {
    const waiting = this.slow.get(name) ?? [];
    this.slow.delete(name);
    for (const settle of waiting) settle(this.outcome(name));
  }

  judgeHeld(asked: AskedName, version: string): HeldVerdict {
    if (this.denied.has(asked)) return { kind: 'refuse', reason: 'policy' };
    const leaf = this.leaves.get(version);
    if (leaf === undefined || this.retired.has(version)) return { kind: 'replace' };
    const isDying = leaf.notAfter - this.#clock.now() < 70_000;
    return isDying ? { kind: 'replace' } : { kind: 'keep', notAfter: leaf.notAfter };
  }

  forgetLeaf(asked: AskedName): void {
    this.forgotten.push(asked);
  }

  resourceTtl(notAfter: EpochMs): DurationMs {
    return millis(Math.max(1000, notAfter - this.#clock.now() - 60_000));
  }

  outcome(name: string): MintOutcome {
    if (this.denied.has(name)) return { kind: 'refused', reason: 'policy' };
    if (this.unavailable.has(name)) return { kind: 'unavailable', reason: 'rate-limited' };
    this.minted.push(name);
    const serialHex = this.minted.length.toString(16).padStart(32, '0');
    const notAfter = plus(this.#clock.now(), this.leafLifetime);
    const leaf: Leaf = {
      version: `c0ffee00.${Math.floor(notAfter / 1000)}.${serialHex}` as SdsVersion,
      serialHex,
      notBefore: epoch(this.#clock.now() - 300_000),
      notAfter,
      chainPem: Buffer.from(`chain ${serialHex}`),
      privateKeyPem: new SecretBytes(Buffer.from(`key ${serialHex}`)),
    };
    this.leaves.set(leaf.version, leaf);
    return { kind: 'granted', leaf, fresh: true };
  }
}

// Minters with one fault each, around a real one: what the suites must notice, and what the server must survive.
import { epoch, minutes, minus } from '../../src/clock.ts';
import type { AskedName } from '../../src/names/name-types.ts';
import { askedNameFromText } from '../../src/names/parse-asked-name.ts';
import type { Leaf, Minter, MintOutcome } from '../../src/mint/mint-types.ts';
import { createLeafKey } from '../../src/x509/leaf-key.ts';

/** Grants leaves with a key that is not theirs, which Envoy rejects (KEY_VALUES_MISMATCH), while `isBroken`. */
export function withForeignKey(minter: Minter, isBroken: () => boolean): Minter {
  const { privateKeyPem } = createLeafKey(epoch(Date.now()));
  return changingLeaves(minter, (leaf) => (isBroken() ? { ...leaf, privateKeyPem } : leaf));
}

/** Never answers. */
export function silentMinter(minter: Minter): Minter {
  return { ...delegating(minter), mint: () => new Promise<MintOutcome>(() => undefined) };
}

/** Signs for another name than the one asked for. */
export function misnamingMinter(minter: Minter): Minter {
  const wrong = (): AskedName => askedNameFromText('another-name.test');
  return { ...delegating(minter), mint: () => minter.mint(wrong()) };
}

/** Says that a leaf has been outlived, so that the shortest TTL goes out with it. */
export function hastyMinter(minter: Minter): Minter {
  return changingLeaves(minter, (leaf) => ({ ...leaf, notAfter: minus(epoch(Date.now()), minutes(1)) }));
}

/** Takes no held version for good, so that every reconnect mints anew. */
export function forgetfulMinter(minter: Minter): Minter {
  return { ...delegating(minter), judgeHeld: () => ({ kind: 'replace' }) };
}

/** Grants whatever is asked, by the name that may be minted. */
export function lenientMinter(minter: Minter): Minter {
  return {
    ...delegating(minter),
    mint: (asked) => {
      const outcome = minter.mint(asked);
      const isRefused = !(outcome instanceof Promise) && outcome.kind === 'refused';
      return isRefused ? { kind: 'unavailable', reason: 'internal' } : outcome;
    },
  };
}

function changingLeaves(minter: Minter, change: (leaf: Leaf) => Leaf): Minter {
  const changed = (outcome: MintOutcome): MintOutcome =>
    outcome.kind === 'granted' ? { ...outcome, leaf: change(outcome.leaf) } : outcome;
  return {
    ...delegating(minter),
    mint: (asked) => {
      const outcome = minter.mint(asked);
      return outcome instanceof Promise ? outcome.then(changed) : changed(outcome);
    },
  };
}

/** the real minter's methods as properties, so that they can be spread */
function delegating(minter: Minter): Minter {
  return {
    mint: (asked) => minter.mint(asked),
    judgeHeld: (asked, version) => minter.judgeHeld(asked, version),
    resourceTtl: (notAfter) => minter.resourceTtl(notAfter),
    forgetLeaf: (asked) => minter.forgetLeaf(asked),
  };
}

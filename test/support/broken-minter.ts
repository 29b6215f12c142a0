// A minter with a fault, around a real one: what Envoy rejects, and what the server must then put right.
import { epoch } from '../../src/clock.ts';
import type { Minter, MintOutcome } from '../../src/mint/mint-types.ts';
import { createLeafKey } from '../../src/x509/leaf-key.ts';

/** Grants leaves with a key that is not theirs, which Envoy rejects (KEY_VALUES_MISMATCH), while `isBroken`. */
export function withForeignKey(minter: Minter, isBroken: () => boolean): Minter {
  const { privateKeyPem } = createLeafKey(epoch(Date.now()));
  const changed = (outcome: MintOutcome): MintOutcome =>
    outcome.kind === 'granted' && isBroken() ? { ...outcome, leaf: { ...outcome.leaf, privateKeyPem } } : outcome;
  return {
    mint: (asked) => {
      const outcome = minter.mint(asked);
      return outcome instanceof Promise ? outcome.then(changed) : changed(outcome);
    },
    judgeHeld: (asked, version) => minter.judgeHeld(asked, version),
    resourceTtl: (notAfter) => minter.resourceTtl(notAfter),
    forgetLeaf: (asked) => minter.forgetLeaf(asked),
  };
}

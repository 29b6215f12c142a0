// From the bytes of a pool to a Pool that can sign, or to all reasons why it cannot. A fault of a CA that does not sign
// never hinders the one that does: that CA is left out and named in `faults`. Pure.
import { epoch } from '../clock.ts';
import { LeafgateError } from '../errors.ts';
import type { Signer } from '../x509/certificate-types.ts';
import { examinePool, type PoolTerms } from './examine-pool.ts';
import type { Pool, PoolCa } from './pool-types.ts';

/** Throws one error with all problems of the pool and its active CA. */
export function parsePool(bytes: Uint8Array, terms: PoolTerms): Pool {
  const reading = examinePool(bytes, terms);
  const active = reading.active.value;
  if (active === undefined) throw allOf(reading.active.faults);
  return {
    cas: reading.cas.flatMap(({ value }) => (value === undefined ? [] : [value])),
    active,
    signer: signerOf(active),
    faults: reading.cas.flatMap(({ faults }) => faults),
    sha256: reading.sha256,
  };
}

/** Every fault at once, of all CAs, for a person who asks; empty when the pool is good. */
export function verifyPool(bytes: Uint8Array, terms: PoolTerms): readonly LeafgateError[] {
  try {
    return examinePool(bytes, terms).cas.flatMap(({ faults }) => faults);
  } catch (thrown) {
    return [LeafgateError.from(thrown)];
  }
}

function signerOf({ anchor, intermediates, signingKey }: PoolCa): Signer {
  const notAfters = [anchor, ...intermediates].map(({ notAfter }) => notAfter);
  return {
    certificate: intermediates[0] ?? anchor,
    key: signingKey,
    chain: intermediates,
    notAfter: epoch(Math.min(...notAfters)),
  };
}

function allOf(faults: readonly LeafgateError[]): LeafgateError {
  const [first, ...others] = faults;
  if (first === undefined) return LeafgateError.from(new Error('a CA without value and without fault'));
  return LeafgateError.all([first, ...others]);
}

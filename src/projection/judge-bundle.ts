// What a bundle is, from how its backend stands: certificates to trust, nothing yet, or a problem with its cause. Pure.
import type { EpochMs } from '../clock.ts';
import type { LeafgateError } from '../errors.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import type { BackingState } from './backing.ts';
import { isExpired, sanitiseBundle, type BundleFault } from './sanitise-bundle.ts';

export type BundleCause = 'unknown-name' | 'missing-object' | 'unavailable' | 'unusable';
/** a label of leafgate_bundle_refusals_total */
type RefusalReason = 'missing-object' | 'unavailable' | BundleFault;

export type JudgedBundle =
  | { readonly kind: 'pending' }
  | {
      readonly kind: 'ready';
      readonly certificates: readonly Certificate[];
      /** of `certificates`: kept, since who withdraws an anchor is its owner; never all of them */
      readonly expired: readonly Certificate[];
      /** labels of blocks that are no certificates and were left out */
      readonly leftOut: readonly string[];
    }
  | {
      readonly kind: 'refused';
      readonly cause: BundleCause;
      readonly reason: RefusalReason;
      readonly error: LeafgateError;
    };

export function judgeBundle(state: BackingState, now: EpochMs): JudgedBundle {
  switch (state.kind) {
    case 'pending':
      return state;
    case 'failed': {
      const cause = state.cause === 'too-large' ? 'unusable' : state.cause;
      return { kind: 'refused', cause, reason: state.cause, error: state.error };
    }
    case 'certificates':
      // distributions keep expired roots, for signatures of their day
      return { kind: 'ready', certificates: state.certificates, expired: [], leftOut: [] };
    case 'texts': {
      const bundle = sanitiseBundle(state.texts, now);
      if (bundle.kind === 'refused') {
        return { kind: 'refused', cause: 'unusable', reason: bundle.fault, error: bundle.error };
      }
      const { certificates, leftOut } = bundle;
      return { kind: 'ready', certificates, expired: expiredOf(certificates, now), leftOut };
    }
    default:
      return state satisfies never;
  }
}

/** How many there are; a bundle of nothing else is refused, and they stay in the files that it was written to. */
export function expiredIn(judged: JudgedBundle): number {
  if (judged.kind === 'ready') return judged.expired.length;
  return judged.kind === 'refused' && judged.reason === 'expired' ? Number(judged.error.fields['count']) : 0;
}

function expiredOf(certificates: readonly Certificate[], now: EpochMs): readonly Certificate[] {
  return certificates.filter((certificate) => isExpired(certificate, now));
}

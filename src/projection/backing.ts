// How a backend of a bundle stands, in one of a few ways at any time. Must not know which backends there are.
import type { LeafgateError } from '../errors.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import type { BackingText } from './sanitise-bundle.ts';

export type BackingState =
  /** the first answer is not there yet */
  | { readonly kind: 'pending' }
  /** from where anything may come, so that it is sanitised strictly */
  | { readonly kind: 'texts'; readonly texts: readonly BackingText[] }
  /** read leniently already: system roots */
  | { readonly kind: 'certificates'; readonly certificates: readonly Certificate[] }
  | { readonly kind: 'failed'; readonly cause: BackingFailure; readonly error: LeafgateError };

type BackingFailure = 'missing-object' | 'unavailable' | 'too-large';

/** a backend that is followed */
export interface Backing {
  /** the same object until the state changes */
  state(): BackingState;
  close(): Promise<void>;
}

export const pendingState: BackingState = { kind: 'pending' };

// What the minter tells whoever watches it; the commands wire it to log and metrics. Host names may go to the log and
// the record, never into a metric label: clients choose them. Must not know pino or prom-client.
import type { DurationMs } from '../clock.ts';
import type { LeafgateError } from '../errors.ts';
import type { RefusalReason, UnavailableReason } from './mint-types.ts';

/** canonical text of the name: a host name or an address */
type CanonicalName = string;

export type MintEvents = {
  readonly minted: (leaf: {
    readonly nameKind: 'dns' | 'ip';
    readonly name: CanonicalName;
    readonly serialHex: string;
    readonly tookMs: DurationMs;
  }) => void;
  readonly cacheHit: (name: CanonicalName) => void;
  /** `asked` is what the client sent, one char a byte, cut when too long to be a name: escape it before it is shown */
  readonly refused: (asked: string, reason: RefusalReason, rule: string | undefined) => void;
  readonly unavailable: (reason: UnavailableReason, error: LeafgateError | undefined) => void;
  /** a leaf did not pass the check after its signature and was not served: the operator must look */
  readonly leafCheckFailed: (error: LeafgateError) => void;
  readonly leafKeyRenewed: () => void;
};

export const silentMintEvents: MintEvents = {
  minted: () => undefined,
  cacheHit: () => undefined,
  refused: () => undefined,
  unavailable: () => undefined,
  leafCheckFailed: () => undefined,
  leafKeyRenewed: () => undefined,
};

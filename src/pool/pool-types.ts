// A pool: all CAs of a gateway, one of them active. The wire format is design section 4's JSON, shared with
// agent-substrate; this is its parsed, checked form.
import type { KeyObject } from 'node:crypto';
import type { EpochMs } from '../clock.ts';
import type { LeafgateError } from '../errors.ts';
import type { Certificate, Signer } from '../x509/certificate-types.ts';

export type PoolCa = {
  /** chosen by whoever wrote the pool; unique in it */
  readonly id: string;
  /** the root: what clients trust */
  readonly anchor: Certificate;
  readonly intermediates: readonly Certificate[];
  readonly signingKey: KeyObject;
  /** first 8 hex digits of the signing certificate's subject key id: the first part of an SDS version */
  readonly keyIdPrefix: string;
  readonly addedAt?: EpochMs;
  readonly activatedAt?: EpochMs;
};

export type Pool = {
  readonly cas: readonly PoolCa[];
  readonly active: PoolCa;
  /** signs for the active CA */
  readonly signer: Signer;
  /** what is wrong with CAs that were left out; a fault of an inactive CA never hinders the active one */
  readonly faults: readonly LeafgateError[];
  /** lower-case hex SHA-256 of the pool's bytes */
  readonly sha256: string;
};

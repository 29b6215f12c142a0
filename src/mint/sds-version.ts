// The version of an SDS resource speaks for itself (design section 4), so that a restarted server, which remembers
// nothing, can tell from it alone whether a held leaf is still good. Must not know pools or policies.
import { epoch, type EpochMs } from '../clock.ts';
import type { SdsVersion } from './mint-types.ts';

export type ParsedVersion = {
  /** first 8 hex digits of the signing CA's key id */
  readonly keyIdPrefix: string;
  readonly notAfter: EpochMs;
  readonly serialHex: string;
};

/** 12 digits of seconds reach the year 33658; a serial has at most 20 octets (RFC 5280 4.1.2.2) */
const versionSyntax = /^([0-9a-f]{8})\.([1-9][0-9]{0,11})\.([0-9a-f]{1,40})$/;

export function formatVersion(keyIdPrefix: string, notAfter: EpochMs, serialHex: string): SdsVersion {
  return `${keyIdPrefix}.${Math.floor(notAfter / 1000)}.${serialHex}` as SdsVersion;
}

/** Reads a version that a peer declares; undefined when it was not written by `formatVersion`. */
export function parseVersion(text: string): ParsedVersion | undefined {
  const match = versionSyntax.exec(text);
  if (match === null) return undefined;
  const [, keyIdPrefix = '', seconds = '', serialHex = ''] = match;
  return { keyIdPrefix, notAfter: epoch(Number(seconds) * 1000), serialHex };
}

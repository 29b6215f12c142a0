// The trust files under the names that programs read, the same in every JSON: `ready` of `up`, and `status`.
import type { TrustFiles } from '../projection/trust-files.ts';

/** `ca`: the CA alone; `caAndSystem`: with the system's roots; `caAndSystemPkcs12`: the same for Java; `wgetrc`: for wget */
export type TrustNames = {
  readonly ca: string;
  readonly caAndSystem: string;
  readonly caAndSystemPkcs12: string;
  readonly wgetrc: string;
};

export function trustNames({ caFile, mergedFile, p12File, wgetrcFile }: TrustFiles): TrustNames {
  return { ca: caFile, caAndSystem: mergedFile, caAndSystemPkcs12: p12File, wgetrc: wgetrcFile };
}

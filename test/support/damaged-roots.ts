// Roots of which some bytes were changed before they signed themselves: whatever two parsers may disagree on, sooner or later.
import { sign, type KeyObject } from 'node:crypto';
import { derTags, DerReader } from '../../src/x509/der-reader.ts';
import { derValue } from '../../src/x509/der-writer.ts';

export type Damage = { readonly at: number; readonly byte: number };

/** `der` signed anew by `key` with SHA-256, each byte of its body changed as stated; places beyond the end begin anew */
export function damageRoot(der: Uint8Array, key: KeyObject, damages: readonly Damage[]): Uint8Array {
  const certificate = new DerReader(der).enter(derTags.sequence);
  const body = Buffer.from(certificate.next(derTags.sequence).raw);
  const algorithm = certificate.next(derTags.sequence).raw;
  for (const { at, byte } of damages) body[at % body.length] = byte;
  const signature = derValue(derTags.bitString, Uint8Array.of(0), sign('sha256', body, key));
  return derValue(derTags.sequence, body, algorithm, signature);
}

// Signs an encoded leaf: on the spot where that takes microseconds (P-256), off the event loop where it takes longer.
// The key stays a KeyObject: a PEM string would be parsed again for each signature (107 to 293 µs, measured).
import type { Der, Signer } from './certificate-types.ts';
import { derTags } from './der-reader.ts';
import { DerWriter } from './der-writer.ts';
import type { LeafDraft } from './leaf-template.ts';
import { signatureSchemeOf, signOffLoop, signSync } from './signature-scheme.ts';

export function canSignSynchronously(signer: Signer): boolean {
  return signatureSchemeOf(signer.key).isQuick;
}

/** For signers that `canSignSynchronously`; with another it blocks the event loop for milliseconds. */
export function signLeafSync(draft: LeafDraft): Der {
  return assembleCertificate(draft, signSync(draft.scheme, draft.signer.key, draft.tbs));
}

export async function signLeaf(draft: LeafDraft): Promise<Der> {
  return assembleCertificate(draft, await signOffLoop(draft.scheme, draft.signer.key, draft.tbs));
}

const noUnusedBits = Uint8Array.of(0);

/** Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm, signature BIT STRING } (RFC 5280 4.1) */
export function assembleCertificate(draft: Pick<LeafDraft, 'tbs' | 'scheme'>, signature: Uint8Array): Der {
  const { tbs, scheme } = draft;
  const writer = new DerWriter(tbs.length + scheme.identifierDer.length + signature.length + 16);
  writer.prepend(signature);
  writer.prepend(noUnusedBits);
  writer.header(derTags.bitString);
  writer.prepend(scheme.identifierDer);
  writer.prepend(tbs);
  writer.header(derTags.sequence);
  return writer.finish();
}

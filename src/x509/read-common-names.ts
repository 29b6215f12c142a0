// The common names of a subject, for those who still tell peers apart by them. Only text that every reader takes alike is
// read; a value in another encoding is left out. It must not judge.
import type { Der } from './certificate-types.ts';
import { derTags, DerReader, objectIdText } from './der-reader.ts';
import { objectIds } from './object-ids.ts';

/** UTF8String, PrintableString, IA5String (X.680 8.6) */
const textTags: readonly number[] = [0x0c, 0x13, 0x16];

/** In the order of the subject; usually one, and nobody agrees on which counts where there are more. */
export function readCommonNames(subjectDer: Der): readonly string[] {
  const names: string[] = [];
  const subject = new DerReader(subjectDer).enter(derTags.sequence);
  while (!subject.isAtEnd) {
    const attributes = new DerReader(subject.next(derTags.set).content);
    while (!attributes.isAtEnd) {
      const attribute = attributes.enter(derTags.sequence);
      const isCommonName = objectIdText(attribute.next(derTags.objectId).content) === objectIds.commonName;
      const { tag, content } = attribute.any();
      if (isCommonName && textTags.includes(tag)) names.push(Buffer.from(content).toString('utf8'));
    }
  }
  return names;
}

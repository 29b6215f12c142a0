// The pieces of a certificate as they are written, for whoever asks how another reader will take them. It must not judge them.
import { contextTag, derTags, DerReader, type DerValue } from './der-reader.ts';
import { nextExtension, type ExtensionValue } from './read-extensions.ts';

export type CertificateParts = {
  /** raw Names */
  readonly issuer: Uint8Array;
  readonly subject: Uint8Array;
  /** the inside of SubjectPublicKeyInfo */
  readonly publicKeyInfo: Uint8Array;
  readonly extensions: readonly ExtensionValue[];
};

/** @throws `der-malformed`; never for what `readCertificate` has read */
export function readCertificateParts(der: Uint8Array): CertificateParts {
  const body = new DerReader(der).enter(derTags.sequence).enter(derTags.sequence);
  body.optional(contextTag(0, 'constructed'));
  body.next(derTags.integer);
  body.next(derTags.sequence);
  const issuer = body.next(derTags.sequence).raw;
  body.next(derTags.sequence);
  const subject = body.next(derTags.sequence).raw;
  const publicKeyInfo = body.next(derTags.sequence).content;
  body.optional(contextTag(1, 'primitive'));
  body.optional(contextTag(2, 'primitive'));
  const field = body.optional(contextTag(3, 'constructed'));
  return { issuer, subject, publicKeyInfo, extensions: field === undefined ? [] : readValues(field) };
}

function readValues({ content }: DerValue): readonly ExtensionValue[] {
  const list = new DerReader(content).enter(derTags.sequence);
  const values: ExtensionValue[] = [];
  while (!list.isAtEnd) values.push(nextExtension(list));
  return values;
}

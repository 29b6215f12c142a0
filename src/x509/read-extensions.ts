// What this product understands of the extensions of a certificate (RFC 5280 4.2.1). Strict where it reads, silent about
// what it does not know: the list of headings still names it. It must not judge whether the certificate is any good.
import type { Certificate, GeneralName } from './certificate-types.ts';
import {
  contextTag,
  derTags,
  objectIdText,
  readBitString,
  readBoolean,
  readDerValue,
  readSmallInteger,
  DerReader,
} from './der-reader.ts';
import { objectIds } from './object-ids.ts';
import { readNameConstraints } from './read-name-constraints.ts';
import { x509Errors } from './x509-errors.ts';

/** the members of a Certificate that come from its extensions */
export type ReadExtensions = Pick<
  Certificate,
  | 'extensions'
  | 'basicConstraints'
  | 'keyUsage'
  | 'extendedKeyUsage'
  | 'subjectKeyId'
  | 'authorityKeyId'
  | 'nameConstraints'
  | 'subjectAltName'
>;

/** ordinary certificates have about ten */
const maxExtensions = 64;

type Heading = { readonly id: string; readonly critical: boolean };

export type ExtensionValue = Heading & { readonly content: Uint8Array };

/** `list`: the SEQUENCE OF Extension */
export function readExtensions(list: DerReader): ReadExtensions {
  const extensions: Heading[] = [];
  let known: Omit<ReadExtensions, 'extensions'> = {};
  while (!list.isAtEnd) {
    const { id, critical, content } = nextExtension(list);
    if (extensions.some((earlier) => earlier.id === id)) throw malformed(`the extension ${id} twice`);
    extensions.push({ id, critical });
    if (extensions.length > maxExtensions) throw malformed(`more than ${maxExtensions} extensions`);
    known = { ...known, ...readKnown({ id, critical }, content) };
  }
  return { ...known, extensions };
}

/** the next of a SEQUENCE OF Extension, as it is written */
export function nextExtension(list: DerReader): ExtensionValue {
  const member = list.enter(derTags.sequence);
  const id = objectIdText(member.next(derTags.objectId).content);
  const criticalFlag = member.optional(derTags.boolean);
  const critical = criticalFlag !== undefined && readBoolean(criticalFlag);
  const { content } = member.next(derTags.octetString);
  member.end();
  return { id, critical, content };
}

function readKnown({ id, critical }: Heading, content: Uint8Array): Omit<ReadExtensions, 'extensions'> {
  switch (id) {
    case objectIds.basicConstraints:
      return { basicConstraints: { critical, ...readBasicConstraints(content) } };
    case objectIds.keyUsage:
      return { keyUsage: { critical, ...readKeyUsage(content) } };
    case objectIds.extendedKeyUsage:
      return { extendedKeyUsage: readExtendedKeyUsage(content) };
    case objectIds.subjectKeyId:
      return { subjectKeyId: readSubjectKeyId(content) };
    case objectIds.authorityKeyId:
      return readAuthorityKeyId(content);
    case objectIds.subjectAltName:
      return { subjectAltName: { critical, names: readGeneralNames(content) } };
    case objectIds.nameConstraints:
      return { nameConstraints: { critical, ...readNameConstraints(content) } };
    default:
      return {};
  }
}

function readBasicConstraints(content: Uint8Array): { isCa: boolean; pathLength?: number } {
  const reader = openSequence(content);
  const flag = reader.optional(derTags.boolean);
  const length = reader.optional(derTags.integer);
  reader.end();
  const isCa = flag !== undefined && readBoolean(flag);
  return length === undefined ? { isCa } : { isCa, pathLength: readSmallInteger(length) };
}

function readKeyUsage(content: Uint8Array): { keyCertSign: boolean; digitalSignature: boolean } {
  const value = readDerValue(content);
  if (value.tag !== derTags.bitString) throw malformed('a key usage that is no bit string');
  const first = readBitString(value).bits[0] ?? 0;
  // RFC 5280 4.2.1.3: bit 0 is digitalSignature, bit 5 keyCertSign, counted from the highest
  return { digitalSignature: (first & 0x80) !== 0, keyCertSign: (first & 0x04) !== 0 };
}

function readExtendedKeyUsage(content: Uint8Array): readonly string[] {
  const reader = openSequence(content);
  const purposes: string[] = [];
  while (!reader.isAtEnd) purposes.push(objectIdText(reader.next(derTags.objectId).content));
  return purposes;
}

function readSubjectKeyId(content: Uint8Array): Uint8Array {
  const value = readDerValue(content);
  if (value.tag !== derTags.octetString) throw malformed('a subject key id that is no octet string');
  return value.content;
}

function readAuthorityKeyId(content: Uint8Array): { authorityKeyId?: Uint8Array } {
  const keyId = openSequence(content).optional(contextTag(0, 'primitive'));
  return keyId === undefined ? {} : { authorityKeyId: keyId.content };
}

function readGeneralNames(content: Uint8Array): readonly GeneralName[] {
  const reader = openSequence(content);
  const names: GeneralName[] = [];
  while (!reader.isAtEnd) {
    const value = reader.any();
    if (value.tag === contextTag(2, 'primitive')) {
      names.push({ kind: 'dns', text: Buffer.from(value.content).toString('latin1') });
    } else if (value.tag === contextTag(6, 'primitive')) {
      names.push({ kind: 'uri', text: Buffer.from(value.content).toString('latin1') });
    } else if (value.tag === contextTag(7, 'primitive')) {
      names.push({ kind: 'ip', octets: value.content });
    } else {
      names.push({ kind: 'other', tagNumber: value.tag & 0x1f });
    }
  }
  return names;
}

/** the inside of an extension's value, which must be one SEQUENCE and nothing more */
function openSequence(content: Uint8Array): DerReader {
  const value = readDerValue(content);
  if (value.tag !== derTags.sequence) throw malformed('an extension that is no sequence');
  return new DerReader(value.content);
}

function malformed(reason: string): Error {
  return x509Errors.error('der-malformed', { reason });
}

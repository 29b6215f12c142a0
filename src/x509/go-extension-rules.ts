// How Go's crypto/x509 reads the extensions that it knows (Go 1.26, parser.go). Each rule may throw `der-malformed`, which
// means that it does not. It must not know whether a certificate is any good otherwise. Pure.
import {
  contextTag,
  derTags,
  objectIdText,
  readBitString,
  readDerValue,
  DerReader,
  type DerValue,
} from './der-reader.ts';
import { objectIds } from './object-ids.ts';

export type ExtensionRule = {
  /** for people */
  readonly name: string;
  readonly isRead: (content: Uint8Array) => boolean;
  readonly isNeverCritical?: boolean;
};

/** of the general names (RFC 5280 4.2.1.6) */
const [mailTag, dnsTag, uriTag, addressTag] = [1, 2, 6, 7].map((number) => contextTag(number, 'primitive'));

export const extensionRules: { readonly [id: string]: ExtensionRule } = {
  [objectIds.subjectKeyId]: { name: 'a subject key id', isNeverCritical: true, isRead: () => true },
  [objectIds.authorityKeyId]: { name: 'an authority key id', isNeverCritical: true, isRead: isSequence },
  [objectIds.keyUsage]: { name: 'a key usage', isRead: (content) => hasNoStrayBits(readDerValue(content)) },
  [objectIds.subjectAltName]: {
    name: 'subject alternative names',
    isRead: (content) => membersOf(content).every(isGeneralName),
  },
  [objectIds.nameConstraints]: { name: 'name constraints', isRead: areConstraints },
  '2.5.29.31': {
    name: 'distribution points of revocation lists',
    isRead: (content) => membersOf(content).every(isDistributionPoint),
  },
  '2.5.29.32': { name: 'certificate policies', isRead: arePolicies },
  '2.5.29.33': { name: 'policy mappings', isRead: (content) => membersOf(content).every(isPolicyMapping) },
  '2.5.29.36': { name: 'policy constraints', isRead: arePolicyConstraints },
  '2.5.29.54': {
    name: 'a limit of policies',
    isRead: (content) => isShortInteger(readDerValue(content), derTags.integer),
  },
  '1.3.6.1.5.5.7.1.1': {
    name: 'an authority information access',
    isNeverCritical: true,
    isRead: (content) => membersOf(content).every(isAccessDescription),
  },
};

function openSequence(content: Uint8Array): DerReader {
  return new DerReader(content).enter(derTags.sequence);
}

function isSequence(content: Uint8Array): boolean {
  return readDerValue(content).tag === derTags.sequence;
}

function membersOf(content: Uint8Array): readonly DerValue[] {
  return valuesOf(openSequence(content));
}

function valuesOf(reader: DerReader): readonly DerValue[] {
  const members: DerValue[] = [];
  while (!reader.isAtEnd) members.push(reader.any());
  return members;
}

/** bits that do not count must be zero */
function hasNoStrayBits(value: DerValue): boolean {
  const { bits, unused } = readBitString(value);
  return ((bits.at(-1) ?? 0) & ((1 << unused) - 1)) === 0;
}

function isGeneralName({ tag, content }: DerValue): boolean {
  switch (tag) {
    case mailTag:
    case dnsTag:
      return isAscii(content);
    case uriTag:
      return isUri(latin1(content));
    case addressTag:
      return content.length === 4 || content.length === 16;
    default:
      return true;
  }
}

function areConstraints(content: Uint8Array): boolean {
  const outer = new DerReader(readDerValue(content).content);
  const subtrees = [0, 1].flatMap((number) => {
    const list = outer.optional(contextTag(number, 'constructed'));
    return list === undefined ? [] : valuesOf(new DerReader(list.content));
  });
  // RFC 5280 4.2.1.10: at least one
  return outer.isAtEnd && subtrees.length > 0 && subtrees.every(isSubtree);
}

function isSubtree({ tag, content }: DerValue): boolean {
  if (tag !== derTags.sequence) return false;
  const base = new DerReader(content).any();
  const text = latin1(base.content);
  switch (base.tag) {
    case dnsTag:
      return isDomain(text);
    case mailTag:
      return text.includes('@') ? isMailbox(text) : isDomain(text);
    case uriTag:
      return !isAddress(text) && isDomain(text);
    case addressTag:
      return isRange(base.content);
    default:
      return true;
  }
}

function isRange(content: Uint8Array): boolean {
  if (content.length !== 8 && content.length !== 32) return false;
  const mask = [...content.subarray(content.length / 2)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return /^1*0*$/.test(mask);
}

function isDistributionPoint({ tag, content }: DerValue): boolean {
  if (tag !== derTags.sequence) return false;
  const name = new DerReader(content).optional(contextTag(0, 'constructed'));
  // of its two forms Go reads the one with whole names
  return name === undefined || new DerReader(name.content).any().tag === contextTag(0, 'constructed');
}

function arePolicies(content: Uint8Array): boolean {
  const ids = membersOf(content).map((policy) => {
    const id = new DerReader(asSequence(policy)).next(derTags.objectId);
    return objectIdText(id.content);
  });
  return new Set(ids).size === ids.length;
}

function isPolicyMapping(value: DerValue): boolean {
  const reader = new DerReader(asSequence(value));
  return [reader.next(derTags.objectId), reader.next(derTags.objectId)].every(({ content }) => content.length > 0);
}

function arePolicyConstraints(content: Uint8Array): boolean {
  const reader = openSequence(content);
  return [0, 1].every((number) => {
    const tag = contextTag(number, 'primitive');
    const value = reader.optional(tag);
    return value === undefined || isShortInteger(value, tag);
  });
}

/** of as many octets as it needs, at most eight */
function isShortInteger({ tag, content }: DerValue, wanted: number): boolean {
  const [first = 0, second = 0] = content;
  const isShortest = content.length === 1 || !((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80));
  return tag === wanted && content.length > 0 && content.length <= 8 && isShortest;
}

function isAccessDescription(value: DerValue): boolean {
  return new DerReader(asSequence(value)).next(derTags.objectId).content.length > 0;
}

/** the inside of a value that must be a SEQUENCE */
function asSequence({ raw }: DerValue): Uint8Array {
  return new DerReader(raw).next(derTags.sequence).content;
}

/** A name or, with a dot before it, all below one; empty means every name. */
function isDomain(text: string): boolean {
  const labels = text.replace(/^\./, '').split('.');
  return text === '' || labels.every((label) => /^[\x21-\x2d\x2f-\x7e]+$/.test(label));
}

function isMailbox(text: string): boolean {
  const [, domain] = /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*@(.+)$/.exec(text) ?? [];
  return domain !== undefined && isDomain(domain);
}

function isAddress(text: string): boolean {
  return text.includes(':') || /^[0-9.]+$/.test(text);
}

/** as RFC 3986 has it, with a scheme; its host is a name, an IPv4 address, or none */
function isUri(text: string): boolean {
  if (!/^[a-z][a-z0-9+.-]*:(?:[\w.~!$&'()*+,;=:@/?#-]|%[0-9a-f]{2})*$/i.test(text)) return false;
  const [, authority] = /^[^:]+:\/\/([^/?#]*)/.exec(text) ?? [];
  const [, host] = /^([\w.~-]*)(?::[0-9]+)?$/.exec(authority ?? '') ?? [];
  return host !== undefined && isDomain(host);
}

function isAscii(content: Uint8Array): boolean {
  return content.every((byte) => byte < 0x80);
}

function latin1(content: Uint8Array): string {
  return Buffer.from(content).toString('latin1');
}

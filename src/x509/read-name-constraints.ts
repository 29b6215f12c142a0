// Name constraints of a CA as they are written (RFC 5280 4.2.1.10). What they mean for a name is name-constraints.ts.
import type { IpRange, NameConstraints } from './certificate-types.ts';
import { contextTag, derTags, readDerValue, readSmallInteger, DerReader } from './der-reader.ts';
import { x509Errors } from './x509-errors.ts';

type Subtrees = {
  readonly dns: readonly string[];
  readonly ip: readonly IpRange[];
  readonly unsupported: readonly string[];
};

/** far above what a CA carries, far below what would make each mint slow */
const maxSubtrees = 1000;

/** GeneralName forms by tag number (RFC 5280 4.2.1.6) */
const forms: readonly string[] = [
  'otherName',
  'rfc822Name',
  'dNSName',
  'x400Address',
  'directoryName',
  'ediPartyName',
  'uniformResourceIdentifier',
  'iPAddress',
  'registeredID',
];

export function readNameConstraints(content: Uint8Array): Omit<NameConstraints, 'critical'> {
  const value = readDerValue(content);
  if (value.tag !== derTags.sequence) throw malformed('name constraints that are no sequence');
  const reader = new DerReader(value.content);
  const permitted = readSubtrees(reader.optional(contextTag(0, 'constructed'))?.content);
  const excluded = readSubtrees(reader.optional(contextTag(1, 'constructed'))?.content);
  reader.end();
  return {
    permittedDns: permitted.dns,
    excludedDns: excluded.dns,
    permittedIp: permitted.ip,
    excludedIp: excluded.ip,
    unsupported: [...new Set([...permitted.unsupported, ...excluded.unsupported])],
  };
}

function readSubtrees(content: Uint8Array | undefined): Subtrees {
  const dns: string[] = [];
  const ip: IpRange[] = [];
  const unsupported: string[] = [];
  const reader = new DerReader(content ?? new Uint8Array());
  for (let count = 1; !reader.isAtEnd; count += 1) {
    if (count > maxSubtrees) throw malformed(`more than ${maxSubtrees} name constraints`);
    const subtree = reader.enter(derTags.sequence);
    const base = subtree.any();
    const minimum = subtree.optional(contextTag(0, 'primitive'));
    if (!subtree.isAtEnd || (minimum !== undefined && readSmallInteger(minimum) !== 0))
      unsupported.push('minimum or maximum');
    if (base.tag === contextTag(2, 'primitive')) dns.push(Buffer.from(base.content).toString('latin1').toLowerCase());
    else if (base.tag === contextTag(7, 'primitive')) ip.push(readRange(base.content));
    else if (!cannotTouchLeaf(base.tag)) unsupported.push(forms[base.tag & 0x1f] ?? `form ${base.tag & 0x1f}`);
  }
  return { dns, ip, unsupported };
}

/** A leaf has neither a mail address nor a URI, so that constraints of those forms never apply to it. */
function cannotTouchLeaf(tag: number): boolean {
  return tag === contextTag(1, 'primitive') || tag === contextTag(6, 'primitive');
}

function readRange(content: Uint8Array): IpRange {
  if (content.length !== 8 && content.length !== 32)
    throw malformed('an address range that is neither 8 nor 32 octets');
  const half = content.length / 2;
  return { address: content.subarray(0, half), mask: content.subarray(half) };
}

function malformed(reason: string): Error {
  return x509Errors.error('der-malformed', { reason });
}

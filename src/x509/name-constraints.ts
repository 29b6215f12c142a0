// Whether the CAs above a leaf allow it to carry a name (RFC 5280 4.2.1.10), asked before anything is signed: a leaf
// that violates a constraint would fail in every client. Pure.
import type { ParsedName } from '../names/name-types.ts';
import type { Certificate, IpRange, NameConstraints } from './certificate-types.ts';

type LeafName = Exclude<ParsedName, { readonly kind: 'refused' }>;

/** `chain`: the root and every intermediate, in any order */
export function isNamePermitted(chain: readonly Certificate[], name: LeafName): boolean {
  return chain.every(({ nameConstraints }) => nameConstraints === undefined || permits(nameConstraints, name));
}

/**
 * Constraints of a form that this product cannot check forbid every leaf: RFC 5280 demands it of critical ones, and
 * OpenSSL holds a directoryName against the leaf's subject, critical or not.
 */
export function forbidsEveryLeaf(constraints: NameConstraints): boolean {
  const { unsupported, critical } = constraints;
  return unsupported.length > 0 && (critical || unsupported.includes('directoryName'));
}

function permits(constraints: NameConstraints, name: LeafName): boolean {
  if (forbidsEveryLeaf(constraints)) return false;
  switch (name.kind) {
    case 'dns': {
      const within = (base: string) => isHostWithin(name.host, base);
      return isWithin(constraints.permittedDns, constraints.excludedDns, within);
    }
    case 'ip': {
      const within = (range: IpRange) => isAddressWithin(name.address.octets, range);
      return isWithin(constraints.permittedIp, constraints.excludedIp, within);
    }
    default:
      return name satisfies never;
  }
}

/** No permitted subtree of a form means that the form is free. */
function isWithin<Base>(
  permitted: readonly Base[],
  excluded: readonly Base[],
  matches: (base: Base) => boolean,
): boolean {
  return (permitted.length === 0 || permitted.some(matches)) && !excluded.some(matches);
}

/** A base covers itself and what is below it; with a leading dot only what is below it, as OpenSSL and Go have it. */
function isHostWithin(host: string, base: string): boolean {
  if (base === '') return true;
  return base.startsWith('.') ? host.endsWith(base) : host === base || host.endsWith(`.${base}`);
}

function isAddressWithin(octets: Uint8Array, { address, mask }: IpRange): boolean {
  if (octets.length !== address.length) return false;
  return octets.every((octet, index) => ((octet ^ (address[index] ?? 0)) & (mask[index] ?? 0)) === 0);
}

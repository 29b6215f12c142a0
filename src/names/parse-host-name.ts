// Host names: what is one, why not, and the one canonical form that caches, policies and certificates share.
// Single labels and `localhost` are names like any other: whether they may be reached is the policy's affair.
import type { HostName, NameRefusal } from './name-types.ts';

/** without the trailing dot (RFC 1035 2.3.4); also the longest name asked for, its trailing dot included */
export const maxNameBytes = 253;
const maxLabelBytes = 63;

/** A-labels only: a U-label in a certificate matches nowhere. Underscore: `_dmarc.example.com` and the like are in use. */
const allowedCharacters = /^[a-z0-9_.-]*$/i;
/** what WHATWG URL and inet_aton readers take for an address (URL Standard, "ends in a number checker") */
const numericLabel = /^(?:\d+|0x[0-9a-f]*)$/;

export type HostNameVerdict =
  { readonly kind: 'host'; readonly host: HostName } | { readonly kind: 'refused'; readonly reason: NameRefusal };

/** The canonical form: lower case, without ONE trailing dot. Undefined for anything that is not a host name. */
export function parseHostName(text: string): HostName | undefined {
  const verdict = judgeHostName(text);
  return verdict.kind === 'host' ? verdict.host : undefined;
}

/** The canonical form, or the first reason against it; characters come before shape, so that a reason is stable. */
export function judgeHostName(text: string): HostNameVerdict {
  const reason = refusalOf(text);
  return reason === undefined ? { kind: 'host', host: canonical(text) as HostName } : { kind: 'refused', reason };
}

function refusalOf(text: string): NameRefusal | undefined {
  if (text === '') return 'empty';
  if (text.length > maxNameBytes) return 'too-long';
  if (text.includes('*')) return 'wildcard';
  if (!allowedCharacters.test(text)) return 'bad-character';
  const labels = canonical(text).split('.');
  if (!labels.every(isLabel)) return 'bad-label';
  // resolvers that read it as an address would go to another place than the one that was judged
  return numericLabel.test(labels.at(-1) ?? '') ? 'not-an-address' : undefined;
}

function canonical(text: string): string {
  return (text.endsWith('.') ? text.slice(0, -1) : text).toLowerCase();
}

function isLabel(label: string): boolean {
  return label.length > 0 && label.length <= maxLabelBytes && !label.startsWith('-') && !label.endsWith('-');
}

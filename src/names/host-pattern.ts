// Patterns that rules and allow lists are written in: `example.com`, `*.example.com`, `192.0.2.1`.
// `*.x` holds every name below x at any depth, never x itself: Envoy's domain matcher decides the same way.
import { parseIpAddress } from './ip-address.ts';
import type { HostPattern, ValidName } from './name-types.ts';
import { parseHostName } from './parse-host-name.ts';

const anyBelow = '*.';

/** Undefined for what is none: a bare `*`, a star elsewhere than in front, a port, a scheme, a path. */
export function parseHostPattern(text: string): HostPattern | undefined {
  if (text.startsWith(anyBelow)) {
    const suffix = parseHostName(text.slice(anyBelow.length));
    return suffix === undefined ? undefined : { kind: 'suffix', suffix };
  }
  const address = parseIpAddress(text);
  if (address !== undefined) return { kind: 'address', address };
  const host = parseHostName(text);
  return host === undefined ? undefined : { kind: 'exact', host };
}

export function hostPatternMatches(pattern: HostPattern, name: ValidName): boolean {
  switch (pattern.kind) {
    case 'exact':
      return name.kind === 'dns' && name.host === pattern.host;
    case 'suffix':
      return name.kind === 'dns' && name.host.endsWith(`.${pattern.suffix}`);
    case 'address':
      return name.kind === 'ip' && name.address.text === pattern.address.text;
    default:
      return pattern satisfies never;
  }
}

/** The canonical text, which parses back to an equal pattern. */
export function hostPatternText(pattern: HostPattern): string {
  switch (pattern.kind) {
    case 'exact':
      return pattern.host;
    case 'suffix':
      return `${anyBelow}${pattern.suffix}`;
    case 'address':
      return pattern.address.text;
    default:
      return pattern satisfies never;
  }
}

// The nftables rules that bring connections to the transparent listener: pure text, for IPv4 and IPv6 alike. They are only
// printed; whoever may load them decides.
import { cliErrors } from './cli-errors.ts';

export type TransparentRules = {
  /** where clients' packets come in; undefined: everywhere but loopback */
  readonly interfaceName: string | undefined;
  /** of the transparent listener */
  readonly port: number;
  /** destination ports that are redirected; undefined: all of TCP */
  readonly destinationPorts: readonly number[] | undefined;
};

/** IFNAMSIZ is 16 with its final zero (Linux, netdevice(7)); a star at the end stands for any ending (nft(8)) */
const interfacePattern = /^[A-Za-z0-9_.:@-]{1,15}\*?$/;
const maxPort = 65_535;

export function parseInterfaceName(text: string): string {
  if (interfacePattern.test(text)) return text;
  throw cliErrors.error('transparent-interface', { value: text });
}

/** `80,443`, or `all` as undefined */
export function parseDestinationPorts(text: string): readonly number[] | undefined {
  if (text === 'all') return undefined;
  const ports = text.split(',').map((port) => (/^\d{1,5}$/.test(port) ? Number(port) : NaN));
  if (ports.every((port) => port >= 1 && port <= maxPort)) return [...new Set(ports)];
  throw cliErrors.error('transparent-ports', { value: text });
}

/**
 * Loading them again replaces them. Connections to the machine itself are left alone. QUIC is answered at once with "port
 * unreachable" where it comes in (from Linux 5.9 on), so that clients turn to TCP without a wait, forwarded or not.
 */
export function transparentRules({ interfaceName, port, destinationPorts }: TransparentRules): string {
  const from = interfaceName === undefined ? 'iifname != "lo"' : `iifname "${interfaceName}"`;
  const to = destinationPorts === undefined ? 'meta l4proto tcp' : `tcp dport { ${destinationPorts.join(', ')} }`;
  return [
    '# Made by leafgate. Load: leafgate transparent rules | nft -f -    Remove: nft delete table inet leafgate',
    'table inet leafgate',
    'delete table inet leafgate',
    'table inet leafgate {',
    '  chain take_tcp {',
    '    type nat hook prerouting priority dstnat; policy accept;',
    `    ${from} fib daddr type != local ${to} redirect to :${port}`,
    '  }',
    '  chain reject_quic {',
    '    type filter hook prerouting priority mangle; policy accept;',
    `    ${from} fib daddr type != local udp dport 443 reject with icmpx port-unreachable`,
    '  }',
    '}',
    '',
  ].join('\n');
}

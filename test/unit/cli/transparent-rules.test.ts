// The rules that are printed, and what is refused before it could become part of one.
import { describe, expect, test } from 'vitest';
import { parseDestinationPorts, parseInterfaceName, transparentRules } from '../../../src/cli/transparent-rules.ts';

const rulesFor = (given: Partial<Parameters<typeof transparentRules>[0]>): string =>
  transparentRules({ interfaceName: 'eth1', port: 15_001, destinationPorts: [80, 443], ...given });

describe('the rules', () => {
  test('redirect TCP and reject QUIC for both families, once however often they are loaded', () => {
    expect(rulesFor({}))
      .toBe(`# Made by leafgate. Load: leafgate transparent rules | nft -f -    Remove: nft delete table inet leafgate
table inet leafgate
delete table inet leafgate
table inet leafgate {
  chain take_tcp {
    type nat hook prerouting priority dstnat; policy accept;
    iifname "eth1" fib daddr type != local tcp dport { 80, 443 } redirect to :15001
  }
  chain reject_quic {
    type filter hook prerouting priority mangle; policy accept;
    iifname "eth1" fib daddr type != local udp dport 443 reject with icmpx port-unreachable
  }
}
`);
  });

  test('hold for every interface but loopback when none is named, and for all of TCP when asked', () => {
    const rules = rulesFor({ interfaceName: undefined, destinationPorts: undefined });
    expect(rules).toContain('iifname != "lo" fib daddr type != local meta l4proto tcp redirect to :15001');
  });
});

describe('an interface', () => {
  test.each(['eth0', 'veth-client', 'br-1a2b', 'veth*', 'wlan0.100'])('%s is taken', (text) => {
    expect(parseInterfaceName(text)).toBe(text);
  });

  test.each(['', 'a b', 'eth0"; flush ruleset', '*', 'more-than-fifteen', 'a/b'])('%j is refused', (text) => {
    expect(() => parseInterfaceName(text)).toThrow(expect.objectContaining({ code: 'transparent-interface' }));
  });
});

describe('ports', () => {
  test('are a list, each once, or all', () => {
    expect(parseDestinationPorts('80,443,80')).toEqual([80, 443]);
    expect(parseDestinationPorts('all')).toBeUndefined();
  });

  test.each(['', '0', '65536', '80,', '80;443', 'http', '-1'])('%j is refused', (text) => {
    expect(() => parseDestinationPorts(text)).toThrow(expect.objectContaining({ code: 'transparent-ports' }));
  });
});

// Which chain a tunnel goes to, and that nothing is forwarded unread unless a rule says so (hole H1).
import { describe, expect, it } from 'vitest';
import { bootstrapDocument } from '../../../src/bootstrap/generate-envoy-files.ts';
import { gatewaySpec } from '../../support/gateway-spec.ts';
import { at, typedIn, valuesOf } from '../../support/json-walk.ts';
import { evaluate } from '../../support/matcher-model.ts';

const listener = at(bootstrapDocument(gatewaySpec()), 'static_resources', 'listeners', 'inner');

type Shown = 'tls' | 'http/1.1' | 'h2c' | 'nothing';

type Tunnel = { readonly serverName?: string; readonly port?: number; readonly alpn?: string };

function chainFor(
  rule: string | undefined,
  shown: Shown,
  { serverName, port = 443, alpn = '' }: Tunnel = {},
): string | undefined {
  return evaluate(at(listener, 'filter_chain_matcher'), {
    'leafgate.rule': rule,
    'leafgate.port': String(port),
    TransportProtocolInput: shown === 'tls' ? 'tls' : 'raw_buffer',
    ServerNameInput: serverName,
    // the same input has what a ClientHello offers by ALPN
    ApplicationProtocolInput: shown === 'http/1.1' || shown === 'h2c' ? `'${shown}'` : alpn,
  });
}

describe('a tunnel', () => {
  it.each([
    ['intercept:default', 'tls', 'intercept'],
    ['intercept:default', 'http/1.1', 'clear'],
    ['intercept:default', 'h2c', 'clear'],
    ['intercept:default', 'nothing', undefined],
    ['relay:pinned', 'tls', 'relay'],
    ['relay:pinned', 'http/1.1', 'clear'],
    ['relay:pinned', 'nothing', undefined],
    ['tcp:raw', 'tls', 'tcp'],
    ['tcp:raw', 'http/1.1', 'tcp'],
    ['tcp:raw', 'nothing', 'tcp'],
    ['deny:lost', 'nothing', undefined],
    ['intercept:tcp:', 'nothing', undefined],
    [undefined, 'tls', 'intercept'],
    [undefined, 'nothing', undefined],
  ] as const)('by rule %s that shows %s goes to %s', (rule, shown, chain) => {
    expect(chainFor(rule, shown)).toBe(chain);
  });

  it.each([
    ['a.example', 'intercept'],
    ['xn--bcher-kva.example', 'intercept'],
    ['_dmarc.a.example', 'intercept'],
    ['a'.repeat(253), 'intercept'],
    ['a'.repeat(254), undefined],
    ['*.example', undefined],
    ['a b.example', undefined],
    ['bücher.example', undefined],
    ['a\nb.example', undefined],
  ] as const)('that is to be decrypted under the server name %j goes to %s', (serverName, chain) => {
    expect(chainFor('intercept:default', 'tls', { serverName })).toBe(chain);
    expect(chainFor('intercept:default', 'tls', { serverName, alpn: "'h2','http/1.1'" })).toBe(chain);
  });

  it.each([
    ['tcp:raw', 'nothing', 'tcp-own-ports'],
    ['relay:pinned', 'tls', 'relay-own-ports'],
    ['relay:pinned', 'http/1.1', 'clear'],
    ['intercept:default', 'tls', 'intercept'],
  ] as const)('by rule %s that shows %s at a port of the gateway itself goes to %s', (rule, shown, chain) => {
    expect(chainFor(rule, shown, { port: 3128 })).toBe(chain);
    expect(chainFor(rule, shown, { port: 13_128 })).not.toBe(`${chain}-own-ports`);
  });

  it('that matches no chain is closed: there is no chain by default', () => {
    expect(valuesOf(listener, 'default_filter_chain')).toEqual([]);
    expect(at(listener, 'filter_chain_matcher', 'on_no_match')).toBeUndefined();
  });
});

describe('the chains that forward unread', () => {
  it.each(['relay', 'relay-own-ports', 'tcp', 'tcp-own-ports'])(
    '%s resolves through the guarded cache before it connects',
    (name) => {
      const filters = at(listener, 'filter_chains', name, 'filters') as { name: string }[];
      const order = filters.map((filter) => filter.name);
      const proxy = order.indexOf('envoy.filters.network.sni_dynamic_forward_proxy');
      expect(proxy).toBeGreaterThanOrEqual(0);
      expect(order.indexOf('envoy.filters.network.tcp_proxy')).toBe(proxy + 1);
      expect(valuesOf(filters[proxy], 'resolved_address_filter')).toHaveLength(1);
    },
  );

  it.each(['relay', 'relay-own-ports'])('%s compares names before anything else', (name) => {
    const filters = at(listener, 'filter_chains', name, 'filters') as { name: string }[];
    expect(filters.slice(0, 2).map((filter) => filter.name)).toEqual([
      'envoy.filters.network.set_filter_state',
      'envoy.filters.network.rbac',
    ]);
    const [rbac] = typedIn(filters[1], 'envoy.extensions.filters.network.rbac.v3.RBAC');
    expect(at(rbac, 'rules', 'action')).toBe('DENY');
  });
});

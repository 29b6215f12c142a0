// Where a redirected connection goes: to a CONNECT by its server name or by its address, to clear HTTP, or nowhere.
import { describe, expect, it } from 'vitest';
import { bootstrapDocument } from '../../../src/bootstrap/generate-envoy-files.ts';
import { parseListenAddress } from '../../../src/settings/parse-listen.ts';
import { parseCidrSetting } from '../../../src/settings/parse-targets.ts';
import { gatewaySpec } from '../../support/gateway-spec.ts';
import { at, objectsIn, typedIn, valuesOf } from '../../support/json-walk.ts';
import { evaluate } from '../../support/matcher-model.ts';

const spec = gatewaySpec({
  transparent: { addresses: ['0.0.0.0:0', '[::]:0'].map((text) => parseListenAddress(text).address), port: 15_001 },
  allowFrom: [parseCidrSetting('10.0.0.0/8', '--allow-from')],
});
const bootstrap = bootstrapDocument(spec);
const listeners = at(bootstrap, 'static_resources', 'listeners');
const transparent = at(listeners, 'transparent');

type Shown = {
  readonly from?: string;
  readonly port?: number;
  readonly shows?: 'tls' | 'http/1.1' | 'h2c' | 'nothing';
  readonly serverName?: string;
  /** what a ClientHello offers */
  readonly alpn?: string;
};

function chainFor({ from = '10.1.2.3', port = 443, shows = 'tls', serverName, alpn = '' }: Shown): string | undefined {
  return evaluate(at(transparent, 'filter_chain_matcher'), {
    DirectSourceIPInput: from,
    DestinationPortInput: String(port),
    TransportProtocolInput: shows === 'tls' ? 'tls' : 'raw_buffer',
    ServerNameInput: serverName,
    ApplicationProtocolInput: shows === 'tls' ? alpn : shows === 'nothing' ? '' : `'${shows}'`,
  });
}

describe('a redirected connection', () => {
  it.each<[string, Shown, string | undefined]>([
    ['TLS with a name', { serverName: 'a.test' }, 'redirected-by-name'],
    ['TLS with a name that offers HTTP/1.1', { serverName: 'a.test', alpn: "'h2','http/1.1'" }, 'redirected-by-name'],
    ['TLS without a name', {}, 'redirected-by-address'],
    ['TLS without a name that offers HTTP/1.1', { alpn: "'http/1.1'" }, 'redirected-by-address'],
    ['TLS with an odd name', { serverName: 'a b.test' }, undefined],
    ['TLS with an odd name that offers HTTP/1.1', { serverName: 'a\r\nb.test', alpn: "'http/1.1'" }, undefined],
    ['clear HTTP', { shows: 'http/1.1', port: 80 }, 'redirected-http'],
    ['HTTP/2 in clear', { shows: 'h2c', port: 8080 }, 'redirected-http'],
    ['nothing in time, or another protocol', { shows: 'nothing', port: 22 }, 'redirected-by-address'],
  ])('that shows %s goes to %s', (_, shown, chain) => {
    expect(chainFor(shown)).toBe(chain);
  });

  it.each<[string, Shown]>([
    ['nobody has redirected', { port: 15_001, serverName: 'a.test' }],
    ['nobody has redirected and that shows nothing', { port: 15_001, shows: 'nothing' }],
    ['nobody has redirected and that shows HTTP', { port: 15_001, shows: 'http/1.1' }],
    ['asks for clear HTTP at a port of the gateway itself', { port: 3128, shows: 'http/1.1' }],
    ['comes from elsewhere', { from: '192.0.2.1', serverName: 'a.test' }],
  ])('is closed when it %s', (_, shown) => {
    expect(chainFor(shown)).toBeUndefined();
    expect(valuesOf(transparent, 'default_filter_chain')).toEqual([]);
  });

  it('is taken on IPv4 and IPv6, and its destination found out first', () => {
    expect(valuesOf(transparent, 'socket_address')).toEqual([
      { address: '0.0.0.0', port_value: 15_001 },
      { address: '::', port_value: 15_001 },
    ]);
    const filters = at(transparent, 'listener_filters') as { name: string }[];
    expect(filters.map(({ name }) => name.split('.').at(-1))).toEqual([
      'original_dst',
      'tls_inspector',
      'http_inspector',
    ]);
  });
});

describe('the CONNECT that it becomes', () => {
  it('names the server name or the address, with the port that the client meant', () => {
    expect(valuesOf(transparent, 'tunneling_config')).toEqual([
      { hostname: '%REQUESTED_SERVER_NAME%:%DOWNSTREAM_LOCAL_PORT%' },
      { hostname: '%DOWNSTREAM_LOCAL_ADDRESS%' },
    ]);
  });

  it('is decided by the very filters that decide a client’s own', () => {
    const namesOf = (listener: string): unknown =>
      (at(managersIn(at(listeners, listener))[0], 'http_filters') as { name: string }[]).map(({ name }) => name);
    expect(namesOf('redirected')).toEqual(namesOf('explicit'));
  });

  it('carries the client’s address, since it comes from Envoy itself', () => {
    const shared = objectsIn(transparent).filter(({ value }) => 'shared_with_upstream' in value);
    expect(new Set(shared.map(({ value }) => value['object_key']))).toEqual(
      new Set(['leafgate.redirected_client', 'leafgate.redirected_network']),
    );
    for (const { value } of shared) expect(value['factory_key']).toBe('envoy.hashable_string');
    const clients = objectsIn(at(listeners, 'redirected')).filter(
      ({ value }) => value['object_key'] === 'leafgate.client',
    );
    expect(clients.length).toBeGreaterThan(0);
    for (const { value } of clients)
      expect(JSON.stringify(value)).toContain('FILTER_STATE(leafgate.redirected_client:PLAIN)');
  });

  it('is counted by the client’s own network, not by where it comes from', () => {
    const limits = { ...spec.limits, clientRate: { perSecond: 10, burst: 20 } };
    const limited = at(bootstrapDocument({ ...spec, limits }), 'static_resources', 'listeners');
    const actionsOf = (listener: string): string => JSON.stringify(valuesOf(at(limited, listener), 'rate_limits'));
    expect(actionsOf('redirected')).toContain('leafgate.redirected_network');
    expect(actionsOf('redirected')).not.toContain('masked_remote_address\":{');
    expect(actionsOf('transparent')).toContain('masked_remote_address');
  });

  it('can come from nowhere else: its listener is inside Envoy', () => {
    expect(at(listeners, 'redirected', 'internal_listener')).toEqual({});
    expect(at(listeners, 'redirected', 'address')).toBeUndefined();
  });
});

describe('clear HTTP', () => {
  const [manager] = managersIn(at(transparent, 'filter_chains', 'redirected-http'));

  it('dials the host of the request at the port that the client meant', () => {
    const byKey = new Map(
      objectsIn(manager).map(({ value }) => [value['object_key'], JSON.stringify(value['format_string'])]),
    );
    expect(byKey.get('envoy.upstream.dynamic_host')).toContain('request.host');
    for (const key of ['envoy.upstream.dynamic_port', 'leafgate.port'])
      expect(byKey.get(key)).toContain('%DOWNSTREAM_LOCAL_PORT%');
  });

  it('passes the comparison, the overrides, the guards and the policy', () => {
    const names = (at(manager, 'http_filters') as { name: string }[]).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['names', 'resolve', 'own-address', 'policy', 'literal-guard']));
  });
});

describe('without transparent mode', () => {
  it('there is no such listener, nor its cluster', () => {
    const plain = JSON.stringify(bootstrapDocument(gatewaySpec()));
    expect(plain).not.toMatch(/original_dst|"redirected"/);
  });
});

function managersIn(root: unknown): readonly unknown[] {
  return typedIn(root, 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager');
}

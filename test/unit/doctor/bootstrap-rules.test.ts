import { describe, expect, test } from 'vitest';
import { generateEnvoyFiles } from '../../../src/bootstrap/generate-envoy-files.ts';
import { readableFiles } from '../../../src/bootstrap/readable-files.ts';
import { bootstrapChecks, bootstrapProblemSpecs, type BootstrapFacts } from '../../../src/doctor/bootstrap-checks.ts';
import { readBootstrapTree } from '../../../src/doctor/bootstrap-tree.ts';
import { runChecks } from '../../../src/doctor/check-types.ts';
import type { Problem } from '../../../src/doctor/problem-table.ts';
import type { HostName } from '../../../src/names/name-types.ts';
import type { RemoteSds } from '../../../src/settings/gateway-spec.ts';
import { gatewaySpec } from '../../support/gateway-spec.ts';
import {
  addCluster,
  addHttpFilter,
  addListener,
  ads,
  chain,
  drop,
  grpc,
  listener,
  originCluster,
  ownBootstrap,
  perName,
  printedBootstrap,
  push,
  sdsCluster,
  selector,
  set,
  tls,
  type Change,
  type Path,
} from '../../support/own-bootstrap.ts';

const rest: Omit<BootstrapFacts, 'reading'> = { sdsServers: [], validation: { kind: 'passed', version: '1.40.0' } };

function problemsIn(text: string, facts: Partial<BootstrapFacts> = {}): readonly Problem[] {
  const reports = runChecks(bootstrapChecks, { ...rest, reading: readBootstrapTree(text), ...facts });
  return reports.flatMap(({ result }) => (result.kind === 'found' ? result.problems : []));
}

const type = (name: string): string => `type.googleapis.com/envoy.extensions.${name}`;
const tcpChain = {
  filters: [{ name: 'tcp', typed_config: { '@type': type('filters.network.tcp_proxy.v3.TcpProxy') } }],
};
const modern = { tls_params: { tls_maximum_protocol_version: 'TLSv1_3' } };
const source: Path = [...selector, 'config_source'];
const retry: Path = [...grpc, 'retry_policy'];
const timeout: Path = [...chain, 'transport_socket_connect_timeout'];
const http2: Path = [
  ...[...sdsCluster, 'typed_extension_protocol_options', 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions'],
  ...['explicit_http_config', 'http2_protocol_options'],
];
const overTcp = (address: string): object => ({
  cluster_name: 'sds',
  endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address: { address, port_value: 8443 } } } }] }],
});
const anyServer = {
  name: 'envoy.transport_sockets.tls',
  typed_config: { '@type': type('transport_sockets.tls.v3.UpstreamTlsContext'), common_tls_context: modern },
};
const roots = { trusted_ca: { filename: '/etc/envoy/tls/ca.crt' } };
const serverBy = (validation_context: object): object => ({
  ...anyServer,
  typed_config: { ...anyServer.typed_config, common_tls_context: { ...modern, validation_context } },
});
const pipe: Path = ['admin', 'address', 'pipe'];
const adminOn = (address: string): Change =>
  set(['admin', 'address'], { socket_address: { address, port_value: 9901 } });
const sharedObject = (factory: string, shared: string | undefined): object => ({
  name: 'set',
  typed_config: {
    '@type': type('filters.http.set_filter_state.v3.Config'),
    on_request_headers: [{ object_key: 'me.host', factory_key: factory, shared_with_upstream: shared }],
  },
});
const dfp = (filter: object | undefined): object => ({
  name: 'dfp',
  typed_config: {
    '@type': type('filters.http.dynamic_forward_proxy.v3.FilterConfig'),
    dns_cache_config: { name: 'egress', ...(filter === undefined ? {} : { resolved_address_filter: filter }) },
  },
});
const fromAds = { validation_context_sds_secret_config: { name: 'roots', sds_config: { ads: {} } } };
const anyCertificate = { validation_context: { trust_chain_verification: 'ACCEPT_UNTRUSTED' } };
const together =
  (...changes: readonly Change[]): Change =>
  (bootstrap) => {
    for (const change of changes) change(bootstrap);
  };

/** what is done to a good bootstrap, and the problem that names it */
const cases: readonly (readonly [string, Change, string])[] = [
  ['no selector', drop([...tls, 'common_tls_context', 'custom_tls_certificate_selector']), 'selector-missing'],
  [
    'no selector, and listeners from elsewhere',
    together(
      drop([...tls, 'common_tls_context', 'custom_tls_certificate_selector']),
      set(['dynamic_resources', 'lds_config'], { ads: {}, resource_api_version: 'V3' }),
    ),
    'selector-elsewhere',
  ],
  ['a field of another version', set([...selector, 'max_secrets'], 5), 'selector-field-unknown'],
  [
    'no default name',
    drop([...selector, 'certificate_mapper', 'typed_config', 'default_value']),
    'selector-default-missing',
  ],
  ['two sources', addListener(set([...source, 'initial_fetch_timeout'], '1s')), 'selector-sources-differ'],
  ['state of the world', set([...ads, 'api_type'], 'GRPC'), 'selector-not-delta'],
  ['no API type', drop([...ads, 'api_type']), 'selector-not-delta'],
  ['names from a file', set(source, { path_config_source: { path: '/x' } }), 'selector-not-delta'],
  ['no ads_config', drop(['dynamic_resources']), 'ads-without-config'],
  [
    'a secret of ADS in a static cluster',
    addCluster(originCluster({ ...modern, ...fromAds })),
    'ads-in-static-cluster',
  ],
  ['the node each time', set([...ads, 'set_node_on_first_message_only'], false), 'node-on-every-message'],
  ['the node each time, per name', perName(drop(['set_node_on_first_message_only'])), 'node-on-every-message'],
  ['the usual back-off', drop(retry), 'retry-back-off-long'],
  ['a long back-off', set([...retry, 'retry_back_off'], { base_interval: '0.5s' }), 'retry-back-off-long'],
  ['no timeout', drop(timeout), 'handshake-unbounded'],
  ['a timeout of nothing', set(timeout, '0s'), 'handshake-unbounded'],
  ['a short timeout', set(timeout, '1.5s'), 'handshake-time-short'],
  ['tickets', drop([...tls, 'disable_stateless_session_resumption']), 'session-resumption'],
  ['sessions', set([...tls, 'disable_stateful_session_resumption'], false), 'session-resumption'],
  [
    'statistics a name',
    set(['stats_config', 'stats_matcher', 'exclusion_list', 'patterns'], [{ prefix: 'sds.' }]),
    'name-statistics',
  ],
  ['another cluster', set([...grpc, 'cluster_name'], 'sdss'), 'sds-cluster-unknown'],
  [
    'HTTP/1.1 to the SDS server',
    drop([...sdsCluster, 'typed_extension_protocol_options']),
    'sds-cluster-without-http2',
  ],
  ['no keepalive', drop([...http2, 'connection_keepalive']), 'sds-cluster-without-keepalive'],
  ['1,024 streams', together(perName(), drop([...sdsCluster, 'circuit_breakers'])), 'sds-cluster-stream-limit'],
  ['another machine in clear', set([...sdsCluster, 'load_assignment'], overTcp('192.0.2.1')), 'sds-cluster-in-clear'],
  [
    'a server that is not verified',
    together(
      set([...sdsCluster, 'load_assignment'], overTcp('192.0.2.1')),
      set([...sdsCluster, 'transport_socket'], anyServer),
    ),
    'sds-cluster-unverified',
  ],
  [
    'a server that any certificate will do for',
    together(
      set([...sdsCluster, 'load_assignment'], overTcp('192.0.2.1')),
      set([...sdsCluster, 'transport_socket'], serverBy({ ...roots, trust_chain_verification: 'ACCEPT_UNTRUSTED' })),
    ),
    'sds-cluster-unverified',
  ],
  [
    'a server that is verified by nothing',
    together(
      set([...sdsCluster, 'load_assignment'], overTcp('192.0.2.1')),
      set([...sdsCluster, 'transport_socket'], serverBy({})),
    ),
    'sds-cluster-unverified',
  ],
  [
    'a name that only looks like loopback, in clear',
    set([...sdsCluster, 'load_assignment'], overTcp('127.example.com')),
    'sds-cluster-in-clear',
  ],
  ['envoy.string', addHttpFilter(sharedObject('envoy.string', 'ONCE')), 'shared-string-object'],
  ['an open chain by default', set([...listener, 'default_filter_chain'], tcpChain), 'open-default-chain'],
  ['an open chain without a match', push([...listener, 'filter_chains'], tcpChain), 'open-default-chain'],
  [
    'an open chain for the rest',
    together(
      push([...listener, 'filter_chains'], { name: 'opaque', ...tcpChain }),
      set([...listener, 'filter_chain_matcher'], {
        on_no_match: { action: { name: 'x', typed_config: { value: 'opaque' } } },
      }),
    ),
    'open-default-chain',
  ],
  ['origins that nobody verifies', addCluster(originCluster(modern)), 'origin-not-verified'],
  ['origins with any certificate', addCluster(originCluster({ ...modern, ...anyCertificate })), 'origin-not-verified'],
  ['TLS 1.2 to origins', addCluster(originCluster({ validation_context: { trusted_ca: {} } })), 'upstream-tls-capped'],
  ['no guard of destinations', addHttpFilter(dfp(undefined)), 'destinations-unguarded'],
  ['admin for everybody', adminOn('0.0.0.0'), 'admin-on-network'],
  ['admin on loopback', adminOn('::1'), 'admin-on-port'],
  ['an admin socket for a group', set([...pipe, 'mode'], 0o660), 'admin-socket-open'],
  ['an admin socket as umask has it', drop([...pipe, 'mode']), 'admin-socket-open'],
];

describe('a bootstrap of somebody’s own', () => {
  test('as docs/envoy.md prints it has nothing wrong with it, with a stream a name either', () => {
    expect(problemsIn(printedBootstrap)).toEqual([]);
    expect(problemsIn(JSON.stringify(ownBootstrap(perName())))).toEqual([]);
  });

  test('as the gateway generates it has nothing wrong with it, with an SDS server on another machine either', () => {
    const remoteSds: RemoteSds = {
      endpoints: [{ host: { kind: 'dns', host: 'sds.test' as HostName }, port: 8443 }],
      tls: { serverName: 'sds.test' as HostName, verifiesServer: true, certificateDir: '/certs' },
    };
    for (const spec of [gatewaySpec(), gatewaySpec({ remoteSds })]) {
      const { files, bootstrapFile } = generateEnvoyFiles(spec, readableFiles);
      expect(problemsIn(files.get(bootstrapFile) ?? '')).toEqual([]);
    }
  });

  test('may reach an SDS server on this machine by TCP in clear', () => {
    const changed = ownBootstrap(set([...sdsCluster, 'load_assignment'], overTcp('127.0.0.1')));
    expect(problemsIn(JSON.stringify(changed))).toEqual([]);
  });

  test.each(cases)('is told what is wrong with it, and nothing else: %s', (_, breakIt, id) => {
    const problems = problemsIn(JSON.stringify(ownBootstrap(breakIt), null, 1));
    expect(problems.map((problem) => problem.id)).toEqual([id]);
    expect(`${problems[0]?.what ?? ''} ${problems[0]?.remedy ?? ''}`).not.toMatch(/[{}](?!\}?`)/);
    expect(problems[0]?.line).toBeGreaterThan(0);
  });

  test('that cannot be read is told so with its line, and nothing is judged', () => {
    expect(problemsIn('node: {id: a}\nadmin: {address: [}\n')).toMatchObject([{ id: 'bootstrap-unreadable', line: 2 }]);
  });

  test('that is none is told so, and nothing that is not there is called good', () => {
    for (const text of ['default: deny\n', 'admin: {address: {socket_address: {address: 127.0.0.1, port_value: 0}}}']) {
      const reports = runChecks(bootstrapChecks, { ...rest, reading: readBootstrapTree(text) });
      expect(problemsIn(text).map(({ id, severity }) => ({ id, severity }))).toEqual([
        { id: 'bootstrap-none', severity: 'fault' },
      ]);
      expect(reports.filter(({ result }) => result.kind === 'ok').map(({ id }) => id)).toEqual(['validation']);
    }
  });

  test('in which there is nothing to examine gets no ok for what is not there', () => {
    const reports = runChecks(bootstrapChecks, { ...rest, reading: readBootstrapTree('static_resources: {}\n') });
    const states = Object.fromEntries(reports.map(({ id, result }) => [id, result.kind]));
    expect(states).toEqual({
      ...{ form: 'ok', selectors: 'found', ads: 'skipped', streams: 'skipped', 'sds-cluster': 'skipped' },
      ...{ handshakes: 'skipped', unread: 'skipped', origins: 'skipped', admin: 'skipped', 'sds-server': 'skipped' },
      validation: 'ok',
    });
  });

  test('whose SDS server does not answer, and what Envoy says of it, are told', () => {
    const server = { cluster: 'sds', path: '/x.sock', silentBecause: 'nobody listens there' };
    const told = (facts: Partial<BootstrapFacts>): readonly string[] =>
      problemsIn(printedBootstrap, facts).map(({ id }) => id);
    expect(told({ sdsServers: [server] })).toEqual(['sds-server-silent']);
    expect(told({ validation: { kind: 'crashed', version: '1.40.0', how: 'SIGSEGV' } })).toEqual([
      'validation-crashed',
    ]);
    expect(told({ validation: { kind: 'refused', version: '1.40.0', detail: 'x' } })).toEqual(['validation-refused']);
    expect(told({ validation: { kind: 'skipped', why: 'there is no Envoy' } })).toEqual([]);
  });

  test('has a case above for every problem that can be found in it', () => {
    const apart = [
      'bootstrap-none',
      'bootstrap-unreadable',
      'sds-server-silent',
      'validation-crashed',
      'validation-refused',
    ];
    expect(new Set([...cases.map(([, , id]) => id), ...apart])).toEqual(new Set(Object.keys(bootstrapProblemSpecs)));
  });

  test('is not blamed for what looks alike and is fine', () => {
    const innocent: readonly Change[] = [
      addHttpFilter(sharedObject('envoy.hashable_string', 'ONCE')),
      addHttpFilter(sharedObject('envoy.string', undefined)),
      addHttpFilter(dfp({ ranges: [] })),
      addListener(),
      // somebody else's control plane delivers the cluster
      together(
        set([...grpc, 'cluster_name'], 'from-cds'),
        set(['dynamic_resources', 'cds_config'], { ads: {}, resource_api_version: 'V3' }),
      ),
      // a listener of its own that intercepts nothing
      push(['static_resources', 'listeners'], { name: 'raw', default_filter_chain: tcpChain }),
    ];
    for (const change of innocent) expect(problemsIn(JSON.stringify(ownBootstrap(change)))).toEqual([]);
  });

  test('is shown the line, in YAML too', () => {
    const text = printedBootstrap.replace('  - transport_socket_connect_timeout: 5s\n', '  - name: tls\n');
    const lines = text.split('\n');
    const [problem] = problemsIn(text);
    expect(problem?.id).toBe('handshake-unbounded');
    expect(lines[(problem?.line ?? 0) - 1]).toContain('- name: tls');
  });
});

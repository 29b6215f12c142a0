// What must hold in every generated configuration, whatever the spec. Each promise was paid for with a measurement.
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { bootstrapDocument, generateEnvoyFiles } from '../../../src/bootstrap/generate-envoy-files.ts';
import { readableFiles } from '../../../src/bootstrap/readable-files.ts';
import { parseListenAddress } from '../../../src/settings/parse-listen.ts';
import { parseCidrSetting, parseResolveOverride } from '../../../src/settings/parse-targets.ts';
import { gatewaySpec } from '../../support/gateway-spec.ts';
import { at, objectsIn, typedIn, valuesOf } from '../../support/json-walk.ts';
import { policy, rule } from '../policy/policy-fixtures.ts';

const rich = gatewaySpec({
  listen: parseListenAddress('[::1]:3128'),
  allowFrom: [parseCidrSetting('10.0.0.0/8', '--allow-from'), parseCidrSetting('::1', '--allow-from')],
  policy: policy(
    'deny',
    rule('a.test', 'relay'),
    rule('*.b.test', 'tcp', { ports: [22] }),
    rule('192.0.2.0/24', 'deny'),
  ),
  resolve: [parseResolveOverride('a.test:443:192.0.2.1'), parseResolveOverride('a.test:8443:::1')],
  allowDestinations: [parseCidrSetting('10.1.2.3', '--allow-destination')],
  dnsServers: [parseListenAddress('192.0.2.53:53')],
});

const followedFiles = ['policy.json', 'resolve.json', 'origin-roots.json', 'clusters.json', 'origin-choice.json'];

describe.each([
  ['the default', gatewaySpec()],
  ['a rich', rich],
])('%s configuration', (_, spec) => {
  const { files } = generateEnvoyFiles(spec, readableFiles);
  const bootstrap = bootstrapDocument(spec);
  const every: unknown[] = [...files].map(([name, text]): unknown =>
    name.endsWith('.yaml') ? parse(text) : JSON.parse(text),
  );

  it('consists of the bootstrap and the five files that Envoy follows', () => {
    expect([...files.keys()]).toEqual(['bootstrap.yaml', ...followedFiles]);
    expect(every[0]).toEqual(bootstrap);
  });

  it('is the same text for the same spec', () => {
    expect([...generateEnvoyFiles(spec, readableFiles).files]).toEqual([...files]);
  });

  it('shares nothing across the hop but hashable strings and the two objects that have factories of their own', () => {
    const shared = objectsIn(every).filter(({ value }) => 'shared_with_upstream' in value);
    expect(shared.length).toBeGreaterThan(6);
    for (const { path, value } of shared) {
      const { object_key: key, factory_key: factory } = value;
      const ownFactory = ['envoy.upstream.dynamic_host', 'envoy.upstream.dynamic_port'].find((name) => name === key);
      expect(factory, path).toBe(ownFactory ?? 'envoy.hashable_string');
    }
    expect(valuesOf(every, 'factory_key')).not.toContain('envoy.string');
  });

  it('gives all users of a DNS cache the very same settings', () => {
    const caches = valuesOf(bootstrap, 'dns_cache_config');
    expect(caches.length).toBeGreaterThanOrEqual(14);
    for (const name of ['egress', 'egress-own-ports']) {
      const users = caches.filter((cache) => at(cache, 'name') === name);
      expect(users.length).toBeGreaterThan(4);
      for (const cache of users) expect(cache).toEqual(users[0]);
    }
  });

  it('hands objects on with tunnels only, or each request in clear would leave a connection to its origin behind', () => {
    const shared = objectsIn(bootstrap).filter(({ value }) => 'shared_with_upstream' in value);
    expect(shared.filter(({ path }) => path.includes('/http_filters/'))).toEqual([]);
    const users = objectsIn(bootstrap).filter(
      ({ value }) => at(value, 'typed_per_filter_config', 'client') !== undefined,
    );
    for (const { value } of users) expect(at(value, 'match', 'connect_matcher')).toBeDefined();
    expect(users.length).toBeGreaterThan(0);
  });

  it('bounds what origins answer with, and how long a connection to one is kept for nothing', () => {
    const type = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';
    const origins = (at(bootstrap, 'static_resources', 'clusters') as { name: string }[]).filter(({ name }) => {
      return name.startsWith('origin-') && !name.startsWith('origin-tcp');
    });
    expect(origins.length).toBeGreaterThan(3);
    for (const cluster of origins) {
      expect(
        at(cluster, 'typed_extension_protocol_options', type, 'common_http_protocol_options'),
        cluster.name,
      ).toEqual({
        ...{ max_headers_count: 200, max_response_headers_kb: 96, idle_timeout: '55s' },
      });
    }
  });

  it('uses ADS for leaves only, and never in a cluster, where it would crash Envoy at start', () => {
    const users = objectsIn(bootstrap).filter(({ value }) => 'ads' in value);
    expect(users.map(({ path }) => path)).toEqual([
      expect.stringMatching(/custom_tls_certificate_selector.*config_source$/),
    ]);
    expect(valuesOf(at(bootstrap, 'static_resources', 'clusters'), 'ads')).toEqual([]);
    expect(at(bootstrap, 'dynamic_resources', 'ads_config')).toMatchObject({
      api_type: 'DELTA_GRPC',
      set_node_on_first_message_only: true,
      grpc_services: [
        {
          envoy_grpc: {
            cluster_name: 'sds',
            retry_policy: { retry_back_off: { base_interval: '0.1s', max_interval: '1s' } },
          },
        },
      ],
    });
  });

  it('waits without limit for a first configuration, so that Envoy fails closed', () => {
    expect(valuesOf(every, 'initial_fetch_timeout')).toEqual([]);
  });

  it('follows its files by their folder: a file that is swapped is noticed', () => {
    const sources = valuesOf(bootstrap, 'path_config_source');
    expect(new Set(sources.map((source) => at(source, 'path')))).toEqual(
      new Set(followedFiles.map((name) => `${spec.paths.renderedDir}/${name}`)),
    );
    for (const source of sources) expect(at(source, 'watched_directory', 'path')).toBe(spec.paths.renderedDir);
    expect(at(every[3], 'resources', 0, 'validation_context')).toEqual({
      trusted_ca: { filename: spec.paths.originRoots },
      watched_directory: { path: dirname(spec.paths.originRoots) },
    });
  });

  it('asks the policy on every HTTP leg', () => {
    const managers = typedIn(bootstrap, httpManager);
    expect(managers.map(({ stat_prefix: name }) => name)).toEqual(['explicit', 'intercept', 'clear']);
    for (const manager of managers) {
      expect(at(manager, 'http_filters', 'policy', 'config_discovery')).toBeDefined();
      expect(at(manager, 'http_filters', 'policy', 'config_discovery', 'default_config')).toBeUndefined();
    }
  });

  it('compares names before the policy on every inner HTTP leg', () => {
    for (const manager of typedIn(bootstrap, httpManager).slice(1)) {
      const order = (at(manager, 'http_filters') as { name: string }[]).map(({ name }) => name);
      expect(order).toEqual([
        'names',
        'envoy.filters.http.rbac',
        'policy',
        'literal-guard',
        ...(manager['stat_prefix'] === 'intercept' ? ['credential', 'credential-cluster', 'credential-name'] : []),
        'envoy.filters.http.dynamic_forward_proxy',
        'forward-proxy-own-ports',
        'envoy.filters.http.header_mutation',
        'envoy.filters.http.router',
      ]);
    }
  });

  it('resumes no session of clients and bounds the wait for a leaf', () => {
    const chain = at(bootstrap, 'static_resources', 'listeners', 'inner', 'filter_chains', 'intercept');
    expect(chain).toMatchObject({ transport_socket_connect_timeout: '5s' });
    expect(typedIn(chain, 'envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext')).toEqual([
      expect.objectContaining({
        disable_stateless_session_resumption: true,
        disable_stateful_session_resumption: true,
      }),
    ]);
  });

  it('verifies every origin, allows TLS 1.3 and keeps no session', () => {
    const contexts = typedIn(bootstrap, 'envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext');
    expect(contexts).toHaveLength(3);
    for (const context of contexts) {
      const common = at(context, 'common_tls_context');
      expect(context).toMatchObject({ max_session_keys: 0 });
      expect(common).toMatchObject({ tls_params: { tls_maximum_protocol_version: 'TLSv1_3' } });
      const validation = at(common, 'validation_context_sds_secret_config') ?? at(common, 'validation_context');
      expect(validation).toBeDefined();
    }
    for (const name of ['origin-tls', 'origin-tls-http1']) {
      const cluster = at(bootstrap, 'static_resources', 'clusters', name);
      expect(valuesOf(cluster, 'upstream_http_protocol_options')).toEqual([
        { auto_sni: true, auto_san_validation: true },
      ]);
    }
  });

  it('lets the circuit breakers of Envoy’s default refuse nobody', () => {
    const origins = ['tls', 'tls-http1', 'clear', 'clear-own-ports', 'tcp', 'tcp-own-ports'].map(
      (name) => `origin-${name}`,
    );
    for (const name of ['inner', ...origins]) {
      const thresholds = at(bootstrap, 'static_resources', 'clusters', name, 'circuit_breakers', 'thresholds', 0);
      expect(thresholds).toMatchObject({ max_connections: 65_536, max_pending_requests: 65_536, max_requests: 65_536 });
    }
  });

  it('has its admin on a socket that only the owner can open', () => {
    expect(at(bootstrap, 'admin', 'address')).toEqual({ pipe: { path: spec.paths.adminSocket, mode: 384 } });
  });

  it('keeps no statistics by client-chosen name', () => {
    const patterns = at(bootstrap, 'stats_config', 'stats_matcher', 'exclusion_list', 'patterns');
    expect(patterns).toEqual([
      { prefix: 'sds.' },
      { contains: '.on_demand_secret.ssl.certificate.' },
      { prefix: 'cluster.credential-' },
    ]);
  });

  it('replaces a frozen SDS server', () => {
    const cluster = at(bootstrap, 'static_resources', 'clusters', 'sds');
    expect(valuesOf(cluster, 'connection_keepalive')).toEqual([{ interval: '10s', timeout: '5s' }]);
  });

  it('bounds every HTTP leg', () => {
    for (const manager of typedIn(bootstrap, httpManager)) {
      expect(manager).toMatchObject({
        stream_idle_timeout: '3600s',
        request_headers_timeout: '15s',
        max_request_headers_kb: 96,
        common_http_protocol_options: {
          idle_timeout: manager['stat_prefix'] === 'explicit' ? '60s' : '300s',
          max_headers_count: 200,
        },
        http2_protocol_options: { max_concurrent_streams: 100 },
      });
    }
  });
});

describe('what a spec says', () => {
  it('becomes the limits of Envoy', () => {
    const limits = { maxConnections: 17, maxHeapBytes: 123_456_789, clientRate: { perSecond: 7, burst: 35 } };
    const manager = at(bootstrapDocument(gatewaySpec({ limits })), 'overload_manager');
    expect(valuesOf(manager, 'max_active_downstream_connections')).toEqual([17]);
    expect(valuesOf(manager, 'max_heap_size_bytes')).toEqual([123_456_789]);
    const buckets = valuesOf(bootstrapDocument(gatewaySpec({ limits })), 'token_bucket');
    expect(buckets).toContainEqual({ max_tokens: 35, tokens_per_fill: 7, fill_interval: '1s' });
  });

  it('becomes the only networks that find a filter chain', () => {
    const chains = at(bootstrapDocument(rich), 'static_resources', 'listeners', 'explicit');
    expect(valuesOf(chains, 'direct_source_prefix_ranges')).toEqual([
      [
        { address_prefix: '10.0.0.0', prefix_len: 8 },
        { address_prefix: '::1', prefix_len: 128 },
      ],
    ]);
    expect(valuesOf(chains, 'default_filter_chain')).toEqual([]);
    expect(valuesOf(bootstrapDocument(gatewaySpec()), 'filter_chain_match')).toEqual([]);
  });

  it('becomes the DNS servers, or none at all, so that the system’s are used', () => {
    const resolversOf = (spec: typeof rich): unknown[] => valuesOf(bootstrapDocument(spec), 'resolvers');
    expect(resolversOf(rich)[0]).toEqual([{ socket_address: { address: '192.0.2.53', port_value: 53 } }]);
    expect(resolversOf(gatewaySpec())).toEqual([]);
  });

  it('reaches the file as it is, quotes and all', () => {
    const paths = { ...gatewaySpec().paths, adminSocket: `/run/it's "odd": yes #1/\u00fc\\n.sock` };
    const text = generateEnvoyFiles(gatewaySpec({ paths }), readableFiles).files.get('bootstrap.yaml') ?? '';
    expect(at(parse(text), 'admin', 'address', 'pipe', 'path')).toBe(paths.adminSocket);
  });

  it('stays a text to readers of older YAML, to which yes is a truth value', () => {
    const text = generateEnvoyFiles(
      gatewaySpec({ paths: { ...gatewaySpec().paths, adminSocket: 'yes' } }),
      readableFiles,
    ).files;
    const read: unknown = parse(text.get('bootstrap.yaml') ?? '', { version: '1.1' });
    expect(at(read, 'admin', 'address', 'pipe', 'path')).toBe('yes');
  });
});

const httpManager = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';

// The smallest Envoy configuration with an on-demand certificate: one TLS listener that answers 200, and an SDS server,
// on a unix socket unless the test brings another cluster. The tests' own, not the product's generator, and without what Envoy 1.37 does not know.

export type SdsTransport = 'ads' | 'delta-grpc';

export type MinimalBootstrap = {
  readonly transport: SdsTransport;
  readonly sdsSocket: string;
  /** a cluster `sds` in place of one for that socket */
  readonly sdsCluster?: object | undefined;
  readonly adminSocket: string;
};

/** what Envoy asks for when a client sent no SNI */
export const defaultName = 'no-sni.invalid';

const type = (name: string): string => `type.googleapis.com/envoy.${name}`;

export function minimalBootstrap(options: MinimalBootstrap): object {
  return {
    node: { id: 'sds-under-test', cluster: 'tests' },
    admin: { address: { pipe: { path: options.adminSocket, mode: 0o600 } } },
    ...(options.transport === 'ads' ? { dynamic_resources: { ads_config: deltaGrpc } } : {}),
    stats_config: {
      stats_matcher: {
        exclusion_list: { patterns: [{ prefix: 'sds.' }, { contains: '.on_demand_secret.ssl.certificate.' }] },
      },
    },
    static_resources: {
      listeners: [tlsListener(options)],
      clusters: [{ ...(options.sdsCluster ?? socketCluster(options.sdsSocket)), ...manyStreams }],
    },
  };
}

const deltaGrpc = {
  api_type: 'DELTA_GRPC',
  transport_api_version: 'V3',
  set_node_on_first_message_only: true,
  grpc_services: [
    {
      envoy_grpc: {
        cluster_name: 'sds',
        retry_policy: { retry_back_off: { base_interval: '0.1s', max_interval: '1s' } },
      },
    },
  ],
};

function tlsListener(options: MinimalBootstrap): object {
  return {
    name: 'tls',
    stat_prefix: 'tls',
    address: { socket_address: { address: '127.0.0.1', port_value: 0 } },
    listener_filters: [
      {
        name: 'envoy.filters.listener.tls_inspector',
        typed_config: { '@type': type('extensions.filters.listener.tls_inspector.v3.TlsInspector') },
      },
    ],
    filter_chains: [
      {
        transport_socket_connect_timeout: '5s',
        transport_socket: {
          name: 'envoy.transport_sockets.tls',
          typed_config: {
            '@type': type('extensions.transport_sockets.tls.v3.DownstreamTlsContext'),
            disable_stateless_session_resumption: true,
            disable_stateful_session_resumption: true,
            common_tls_context: {
              alpn_protocols: ['http/1.1'],
              custom_tls_certificate_selector: selector(options.transport),
            },
          },
        },
        filters: [answer200],
      },
    ],
  };
}

function selector(transport: SdsTransport): object {
  const source = transport === 'ads' ? { ads: {} } : { api_config_source: deltaGrpc };
  return {
    name: 'envoy.tls.certificate_selectors.on_demand_secret',
    typed_config: {
      '@type': type('extensions.transport_sockets.tls.cert_selectors.on_demand_secret.v3.Config'),
      config_source: { resource_api_version: 'V3', ...source },
      certificate_mapper: {
        name: 'envoy.tls.certificate_mappers.sni',
        typed_config: {
          '@type': type('extensions.transport_sockets.tls.cert_mappers.sni.v3.SNI'),
          default_value: defaultName,
        },
      },
    },
  };
}

const answer200 = {
  name: 'envoy.filters.network.http_connection_manager',
  typed_config: {
    '@type': type('extensions.filters.network.http_connection_manager.v3.HttpConnectionManager'),
    stat_prefix: 'answer',
    http_filters: [
      {
        name: 'envoy.filters.http.router',
        typed_config: { '@type': type('extensions.filters.http.router.v3.Router') },
      },
    ],
    route_config: {
      virtual_hosts: [
        {
          name: 'any',
          domains: ['*'],
          routes: [
            { match: { prefix: '/' }, direct_response: { status: 200, body: { inline_string: 'under test\n' } } },
          ],
        },
      ],
    },
  },
};

/** one stream a name with delta-grpc: the default of 1,024 makes the rest hang */
const manyStreams = { circuit_breakers: { thresholds: [{ max_requests: 32768, max_pending_requests: 32768 }] } };

function socketCluster(socket: string): object {
  return {
    name: 'sds',
    type: 'STATIC',
    connect_timeout: '1s',
    typed_extension_protocol_options: {
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
        '@type': type('extensions.upstreams.http.v3.HttpProtocolOptions'),
        explicit_http_config: {
          http2_protocol_options: { connection_keepalive: { interval: '10s', timeout: '5s' } },
        },
      },
    },
    load_assignment: {
      cluster_name: 'sds',
      endpoints: [{ lb_endpoints: [{ endpoint: { address: { pipe: { path: socket } } } }] }],
    },
  };
}

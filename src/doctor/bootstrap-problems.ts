// What can be wrong with an Envoy bootstrap of somebody's own, each seen on a real Envoy. docs/doctor.md is made from this
// table.
import { problemTable } from './problem-table.ts';

export const bootstrapProblems = problemTable({
  'bootstrap-unreadable': {
    severity: 'fault',
    what: 'the file cannot be read: {detail}',
    remedy: 'give the bootstrap that Envoy is started with, YAML or JSON',
  },
  'bootstrap-none': {
    severity: 'fault',
    what: 'this is no Envoy bootstrap: it has neither static_resources nor dynamic_resources',
    remedy: 'give the bootstrap that Envoy is started with (a policy file is checked by `leafgate policy check`)',
  },
  'selector-missing': {
    severity: 'fault',
    what: 'it has no on-demand certificate selector',
    remedy: 'add the selector envoy.tls.certificate_selectors.on_demand_secret, as docs/envoy.md shows',
  },
  'selector-elsewhere': {
    severity: 'warning',
    what: 'it has no on-demand certificate selector; listeners that come by LDS are not seen here',
    remedy: 'put those listeners into static_resources of a copy, and have that checked',
  },
  'selector-field-unknown': {
    severity: 'fault',
    what: 'the on-demand selector has no field {field}: Envoy 1.40 refuses the configuration',
    remedy: 'take it out; what is held is bounded by `leafgate sds --max-live-names`',
  },
  'selector-default-missing': {
    severity: 'fault',
    what: 'the SNI mapper has no default_value, which Envoy requires',
    remedy:
      'give a name that --allow permits, such as no-sni.example.com: clients without a server name get its certificate',
  },
  'selector-sources-differ': {
    severity: 'fault',
    what: 'this config_source is not the one of line {other}: a name that both listeners are asked for hangs on the second',
    remedy: 'write one and the same config_source in every on-demand selector',
  },
  'selector-not-delta': {
    severity: 'fault',
    what: 'names are asked for with {kind}, by which none can be refused or taken back',
    remedy:
      'use delta ADS (`ads: {}` and an ads_config of api_type DELTA_GRPC), or api_config_source of api_type DELTA_GRPC',
  },
  'ads-without-config': {
    severity: 'fault',
    what: '`ads: {}` is used and dynamic_resources.ads_config is not there: Envoy starts, and aborts at the first handshake',
    remedy: 'add dynamic_resources.ads_config, as docs/envoy.md shows',
  },
  'ads-in-static-cluster': {
    severity: 'fault',
    what: 'the TLS context of the static cluster {cluster} has a secret from `ads: {}`: Envoy 1.40 crashes at start (SIGSEGV)',
    remedy: 'take the secret from a file (path_config_source), or deliver the cluster by CDS',
  },
  'node-on-every-message': {
    severity: 'warning',
    what: 'set_node_on_first_message_only is not set: 61 KB of node description go with every message',
    remedy: 'set it to true',
  },
  'retry-back-off-long': {
    severity: 'warning',
    what: 'the stream to the SDS server is tried again after up to {longest}: new names fail for that long after an outage',
    remedy: 'set envoy_grpc.retry_policy.retry_back_off to base_interval 0.1s and max_interval 1s',
  },
  'handshake-unbounded': {
    severity: 'fault',
    what: 'the filter chain has no transport_socket_connect_timeout: while the SDS server is away, a client with a new name waits for ever',
    remedy: 'set it to 5s',
  },
  'handshake-time-short': {
    severity: 'warning',
    what: 'transport_socket_connect_timeout is {given}, no longer than the 2 s in which leafgate answers',
    remedy: 'set it to 5s',
  },
  'session-resumption': {
    severity: 'fault',
    what: '{field} is not true: Envoy refuses on-demand certificates with session resumption',
    remedy: 'set disable_stateless_session_resumption and disable_stateful_session_resumption to true',
  },
  'name-statistics': {
    severity: 'warning',
    what: 'statistics are kept for every name: ten and a gauge each, of names that clients choose',
    remedy: 'exclude {pattern} in stats_config.stats_matcher.exclusion_list',
  },
  'sds-cluster-unknown': {
    severity: 'fault',
    what: 'there is no cluster {cluster}: validation passes, and every handshake waits for its whole timeout',
    remedy: 'add the cluster, with the socket of `leafgate sds` as its endpoint',
  },
  'sds-cluster-without-http2': {
    severity: 'fault',
    what: 'the cluster {cluster} does not speak HTTP/2, which gRPC needs',
    remedy: 'set explicit_http_config.http2_protocol_options in its HttpProtocolOptions',
  },
  'sds-cluster-without-keepalive': {
    severity: 'warning',
    what: 'the cluster {cluster} has no connection_keepalive: a frozen SDS server is noticed late',
    remedy: 'set connection_keepalive to interval 10s and timeout 5s',
  },
  'sds-cluster-stream-limit': {
    severity: 'warning',
    what: 'the cluster {cluster} carries {limit} requests, and each live name is one: with more, the next handshake hangs',
    remedy:
      'set circuit_breakers max_requests and max_pending_requests to 32768, or use delta ADS, which needs one stream',
  },
  'sds-cluster-in-clear': {
    severity: 'fault',
    what: 'the cluster {cluster} has no TLS to {address}: leaf keys cross the network in plaintext',
    remedy: 'give it a transport_socket with a client certificate, as docs/sds-channel.md shows',
  },
  'sds-cluster-unverified': {
    severity: 'fault',
    what: 'the cluster {cluster} does not verify the SDS server: whoever answers decides what clients are shown',
    remedy:
      'set validation_context_sds_secret_config with the CA and the name of the server, as docs/sds-channel.md shows',
  },
  'sds-server-silent': {
    severity: 'warning',
    what: 'nobody answers on {path}, the socket of the cluster {cluster}: {reason}',
    remedy: 'start `leafgate sds --listen unix:{path}` before Envoy',
  },
  'shared-string-object': {
    severity: 'fault',
    what: 'the shared filter-state object {key} is made by envoy.string, which is no part of the key of upstream connections: concurrent tunnels get each other’s value',
    remedy: 'make it with factory_key envoy.hashable_string',
  },
  'open-default-chain': {
    severity: 'fault',
    what: 'the listener {listener} forwards what no chain takes: a client that waits before its ClientHello walks out unread',
    remedy:
      'let no chain without a match forward: choose opaque connections by a rule of yours, and let the rest be closed',
  },
  'origin-not-verified': {
    severity: 'fault',
    what: 'the cluster {cluster} does not verify the certificates of origins: whoever stands between reads and changes everything',
    remedy: 'set a validation_context with trusted_ca, and auto_san_validation',
  },
  'upstream-tls-capped': {
    severity: 'warning',
    what: 'the cluster {cluster} speaks TLS 1.2 at most, Envoy’s default towards origins',
    remedy: 'set tls_params.tls_maximum_protocol_version to TLSv1_3',
  },
  'destinations-unguarded': {
    severity: 'warning',
    what: 'the DNS cache {cache} has no resolved_address_filter: clients reach every private and metadata address that the gateway reaches',
    remedy: 'list the ranges that are closed to clients in dns_cache_config.resolved_address_filter',
  },
  'admin-on-network': {
    severity: 'fault',
    what: 'the admin interface listens on {address}: whoever reaches it reads every name, and stops Envoy',
    remedy: 'put it on a unix socket: admin.address.pipe with mode 384 (0600)',
  },
  'admin-on-port': {
    severity: 'warning',
    what: 'the admin interface listens on {address}: every user of this machine reads every name, and may stop Envoy',
    remedy: 'put it on a unix socket: admin.address.pipe with mode 384 (0600)',
  },
  'admin-socket-open': {
    severity: 'warning',
    what: 'the admin socket {path} is not closed to others: its mode is {mode}',
    remedy: 'give admin.address.pipe mode 384 (0600)',
  },
  'validation-crashed': {
    severity: 'fault',
    what: 'Envoy {version} crashes when it validates the file ({how})',
    remedy: 'mend what else is named here; a secret from `ads: {}` in a static cluster is what is known to do this',
  },
  'validation-refused': {
    severity: 'fault',
    what: 'Envoy {version} refuses the file: {detail}',
    remedy: 'mend that; validation finds less than a start does, and a start less than a handshake',
  },
});

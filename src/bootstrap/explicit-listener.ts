// The proxy that clients are told of: where it listens, and who may speak TLS or clear HTTP to it.
import type { Cidr } from '../names/name-types.ts';
import type { ListenAddress, ProxyFront } from '../settings/gateway-spec.ts';
import { chainMatch, ownMachine } from './who-may-connect.ts';
import { accessLog } from './access-log-format.ts';
import { explicitClientObjects } from './filter-state.ts';
import type { Plan } from './http-leg.ts';
import { extension, type JsonObject } from './json.ts';
import { bufferBytes, firstByteTimeout, frontHandshakeTimeout } from './limits.ts';
import { socketAddress } from './dns-cache.ts';
import { proxyConnectionManager, type ProxyClients } from './proxy-leg.ts';
import { actorObjects, frontTls } from './proxy-front.ts';

const explicitListenerName = 'explicit';
const frontName = 'explicit-tls';

/**
 * The proxy's listeners. With a certificate and no address of its own for TLS, the one listener speaks both: TLS to all
 * who may connect, and clear to this machine alone, for `run`, the probe and the self-check.
 */
export function explicitListeners(plan: Plan): readonly JsonObject[] {
  const { front, listen, allowFrom } = plan.spec;
  if (front === undefined) return [listener(plan, explicitListenerName, listen, [clearChain(plan, allowFrom)])];
  if (front.listen === undefined) {
    const chains = [
      frontChain(plan, front),
      clearChain(plan, allowFrom.length === 0 ? [] : ownMachine(listen.address)),
    ];
    return [{ ...listener(plan, explicitListenerName, listen, chains), ...toldApart, ...handshakeLog(plan) }];
  }
  return [
    listener(plan, explicitListenerName, listen, [clearChain(plan, allowFrom)]),
    { ...listener(plan, frontName, front.listen, [frontChain(plan, front)]), ...handshakeLog(plan) },
  ];
}

/** a handshake with the proxy that comes to nothing is seen by the listener alone */
function handshakeLog({ spec }: Plan): JsonObject {
  const ofFront = extension(
    'envoy.access_loggers.extension_filters.cel',
    'envoy.extensions.access_loggers.filters.cel.v3.ExpressionFilter',
    { expression: `xds.filter_chain_name == '${frontName}'` },
  );
  return { access_log: [accessLog('front', spec.paths.accessLog, { extension_filter: ofFront })] };
}

/** the first byte says which of the two a client speaks */
const toldApart: JsonObject = {
  listener_filters: [
    extension(
      'envoy.filters.listener.tls_inspector',
      'envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector',
    ),
  ],
  listener_filters_timeout: firstByteTimeout,
};

function listener({ spec }: Plan, name: string, address: ListenAddress, chains: readonly JsonObject[]): JsonObject {
  return {
    name,
    stat_prefix: name,
    address: spec.takesBothFamilies ? bothFamilies(address) : socketAddress(address),
    filter_chains: chains,
    per_connection_buffer_limit_bytes: bufferBytes,
  };
}

/** clients over IPv4 are still known by their IPv4 addresses */
function bothFamilies({ address, port }: ListenAddress): JsonObject {
  return { socket_address: { address: address.text, port_value: port, ipv4_compat: true } };
}

function clearChain(plan: Plan, allowFrom: readonly Cidr[]): JsonObject {
  const { front } = plan.spec;
  const isShared = front !== undefined && front.listen === undefined;
  const clients = { objects: explicitClientObjects, countedBy: 'address' } as const;
  return {
    ...chainMatch(allowFrom, isShared ? 'raw_buffer' : undefined),
    name: explicitListenerName,
    filters: [proxyConnectionManager(plan, explicitListenerName, clients)],
  };
}

function frontChain(plan: Plan, front: ProxyFront): JsonObject {
  const clients: ProxyClients =
    front.clientCaFile === undefined
      ? { objects: explicitClientObjects, countedBy: 'address' }
      : { objects: [...explicitClientObjects, ...actorObjects], countedBy: 'actor' };
  return {
    ...chainMatch(plan.spec.allowFrom, front.listen === undefined ? 'tls' : undefined),
    name: frontName,
    transport_socket_connect_timeout: frontHandshakeTimeout,
    transport_socket: frontTls(front, plan.spec.paths),
    filters: [proxyConnectionManager(plan, frontName, clients)],
  };
}

// Where Envoy asks for leaves: our SDS server on its unix socket, or one on another machine by TCP with mutual TLS, its name
// sent and verified. Certificate, key and CA of that are files that Envoy reads again when their folder changes. In plaintext
// only where somebody chose it.
import { join } from 'node:path';
import type { GatewayPaths, GatewaySpec, RemoteSds, RemoteSdsTls } from '../settings/gateway-spec.ts';
import { certificateDocument, rootsDocument, secretReference } from './file-secrets.ts';
import { httpOptions } from './http-options.ts';
import type { JsonObject } from './json.ts';
import { bufferBytes } from './limits.ts';
import { sdsCertificateFile, sdsRootsFile } from './rendered-files.ts';
import { upstreamTls } from './upstream-tls.ts';

/** names of the secrets in Envoy */
export const certificateSecret = 'sds_certificate';
export const rootsSecret = 'sds_roots';

/** One stream for all names; a frozen server is noticed in 15 s and replaced without a new leaf. */
export function sdsCluster(name: string, { paths, remoteSds }: Pick<GatewaySpec, 'paths' | 'remoteSds'>): JsonObject {
  const http2 = { connection_keepalive: { interval: '10s', timeout: '5s' } };
  return {
    name,
    ...(remoteSds === undefined ? { type: 'STATIC' } : discoveryOf(remoteSds)),
    connect_timeout: '1s',
    ...httpOptions({ explicit_http_config: { http2_protocol_options: http2 } }),
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: endpointsOf(paths, remoteSds) }] },
    ...(remoteSds?.tls === undefined ? {} : { transport_socket: mutualTls(remoteSds.tls, paths) }),
    per_connection_buffer_limit_bytes: bufferBytes,
  };
}

/** The documents of its secrets, by file name. */
export function sdsDocuments({ remoteSds }: GatewaySpec): readonly (readonly [string, JsonObject])[] {
  if (remoteSds?.tls === undefined) return [];
  const { certificateDir: dir, serverName, verifiesServer } = remoteSds.tls;
  const files = { certificateFile: join(dir, 'tls.crt'), keyFile: join(dir, 'tls.key') };
  const exactName = { match_typed_subject_alt_names: [{ san_type: 'DNS', matcher: { exact: serverName } }] };
  return [
    [sdsCertificateFile, certificateDocument(certificateSecret, files, dir)],
    ...(verifiesServer
      ? [[sdsRootsFile, rootsDocument(rootsSecret, join(dir, 'ca.crt'), dir, exactName)] as const]
      : []),
  ];
}

/** Every address of a name is an endpoint; one that has moved is found within five seconds. */
function discoveryOf({ endpoints }: RemoteSds): JsonObject {
  if (endpoints.every(({ host }) => host.kind === 'ip')) return { type: 'STATIC' };
  return { type: 'STRICT_DNS', dns_lookup_family: 'ALL', dns_refresh_rate: '5s' };
}

function endpointsOf({ sdsSocket }: GatewayPaths, remoteSds: RemoteSds | undefined): readonly JsonObject[] {
  if (remoteSds === undefined) return [{ endpoint: { address: { pipe: { path: sdsSocket } } } }];
  return remoteSds.endpoints.map(({ host, port }) => {
    const address = host.kind === 'dns' ? host.host : host.address.text;
    return { endpoint: { address: { socket_address: { address, port_value: port } } } };
  });
}

function mutualTls({ serverName, verifiesServer }: RemoteSdsTls, paths: GatewayPaths): JsonObject {
  const certificate = secretReference(certificateSecret, paths, sdsCertificateFile);
  const roots = { validation_context_sds_secret_config: secretReference(rootsSecret, paths, sdsRootsFile) };
  return upstreamTls(
    { sni: serverName },
    {
      tls_params: { tls_minimum_protocol_version: 'TLSv1_3', tls_maximum_protocol_version: 'TLSv1_3' },
      alpn_protocols: ['h2'],
      tls_certificate_sds_secret_configs: [certificate],
      ...(verifiesServer ? roots : {}),
    },
  );
}

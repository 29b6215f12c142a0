// TLS to the proxy: the certificate that it shows to clients and, where their certificates are asked for, the roots to
// verify those with. A client may come without one; with one that does not verify it does not come in.
import { join } from 'node:path';
import type { GatewayPaths, ProxyFront } from '../settings/gateway-spec.ts';
import { certificateDocument, rootsDocument, secretReference, watchedDir } from './file-secrets.ts';
import { cel, celFormat, ownObject, plainFormat, sharedObject, stateKeys } from './filter-state.ts';
import { extension, type JsonObject } from './json.ts';
import { frontCertificateFile, clientRootsFile } from './rendered-files.ts';

/** the names that a Secret of type kubernetes.io/tls has */
export const frontCertificateName = 'tls.crt';
export const frontKeyName = 'tls.key';

export const frontCertificateSecret = 'front_certificate';
export const clientRootsSecret = 'client_roots';

/**
 * No session is resumed: a resumed one is not verified again, so that a certificate would outlive its notAfter and the CA
 * that vouched for it.
 */
export function frontTls(front: ProxyFront, paths: GatewayPaths): JsonObject {
  const roots = { validation_context_sds_secret_config: secretReference(clientRootsSecret, paths, clientRootsFile) };
  return extension('envoy.transport_sockets.tls', 'envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext', {
    require_client_certificate: false,
    disable_stateless_session_resumption: true,
    disable_stateful_session_resumption: true,
    common_tls_context: {
      alpn_protocols: ['h2', 'http/1.1'],
      tls_certificate_sds_secret_configs: [secretReference(frontCertificateSecret, paths, frontCertificateFile)],
      ...(front.clientCaFile === undefined ? {} : roots),
    },
  });
}

/** The documents of the secrets, by file name. */
export function frontDocuments(
  front: ProxyFront | undefined,
  paths: GatewayPaths,
): readonly (readonly [string, JsonObject])[] {
  if (front === undefined) return [];
  const files = {
    certificateFile: join(front.certificateDir, frontCertificateName),
    keyFile: join(front.certificateDir, frontKeyName),
  };
  const { clientCaFile } = front;
  return [
    [
      frontCertificateFile,
      certificateDocument(frontCertificateSecret, files, watchedDir(files.certificateFile, paths)),
    ],
    ...(clientCaFile === undefined
      ? []
      : ([
          [clientRootsFile, rootsDocument(clientRootsSecret, clientCaFile, watchedDir(clientCaFile, paths))],
        ] as const)),
  ];
}

/** every URI of the client's certificate, joined by commas, and by CEL the first of them */
const allUris = ownObject(stateKeys.peerUris, plainFormat('%DOWNSTREAM_PEER_URI_SAN%'));
const onlyUri = `string(filter_state['${stateKeys.peerUris}']) == connection.uri_san_peer_certificate ? connection.uri_san_peer_certificate : ''`;

/**
 * The actor: the one URI of a certificate that was verified, since a handshake with any other never gets to HTTP. Of several
 * URIs none counts (a SPIFFE identity has exactly one): joined they could read like somebody else's.
 */
export const actorObjects: readonly JsonObject[] = [allUris, sharedObject(stateKeys.actor, celFormat(cel(onlyUri)))];

// Certificates and roots that stay where their owner keeps them: file SDS secrets that only point there. Envoy reads them
// again when something is moved into the reload folder, so that whoever moves it can look at them first: Envoy itself would
// take an expired certificate, and says next to nothing about a broken one (measured).
import type { GatewayPaths } from '../settings/gateway-spec.ts';
import { typed, type JsonObject } from './json.ts';
import { followedFile } from './rendered-files.ts';

const secretType = 'envoy.extensions.transport_sockets.tls.v3.Secret';

/** The document of a certificate with its key. */
export function certificateDocument(
  name: string,
  files: { readonly certificateFile: string; readonly keyFile: string },
  paths: GatewayPaths,
): JsonObject {
  const certificate = {
    certificate_chain: { filename: files.certificateFile },
    private_key: { filename: files.keyFile },
    watched_directory: { path: paths.reloadDir },
  };
  return { resources: [typed(secretType, { name, tls_certificate: certificate })] };
}

/** The document of roots that peers are verified with; `watchedDir` is where a change shows. */
export function rootsDocument(name: string, file: string, watchedDir: string): JsonObject {
  const validation = { trusted_ca: { filename: file }, watched_directory: { path: watchedDir } };
  return { resources: [typed(secretType, { name, validation_context: validation })] };
}

/** How a TLS context names a secret whose document is `file`. */
export function secretReference(name: string, paths: GatewayPaths, file: string): JsonObject {
  return { name, sds_config: followedFile(paths, file) };
}

// Certificates and roots that stay where their owner keeps them: file SDS secrets that only point there. Envoy reads them
// again when something is moved into the reload folder, so that whoever moves it can look at them first: Envoy itself would
// take an expired certificate, and says next to nothing about a broken one (measured). Where there is no such folder, it
// reads them again when their own folder is swapped.
import { dirname } from 'node:path';
import type { GatewayPaths } from '../settings/gateway-spec.ts';
import { typed, type JsonObject } from './json.ts';
import { followedFile } from './rendered-files.ts';

const secretType = 'envoy.extensions.transport_sockets.tls.v3.Secret';

/** The document of a certificate with its key; `dir` is where a change shows. */
export function certificateDocument(
  name: string,
  files: { readonly certificateFile: string; readonly keyFile: string },
  dir: string,
): JsonObject {
  const certificate = {
    certificate_chain: { filename: files.certificateFile },
    private_key: { filename: files.keyFile },
    watched_directory: { path: dir },
  };
  return { resources: [typed(secretType, { name, tls_certificate: certificate })] };
}

/** Where Envoy sees that a file of somebody else's has changed. */
export function watchedDir(file: string, { reloadDir }: GatewayPaths): string {
  return reloadDir ?? dirname(file);
}

/** The document of roots that peers are verified with; `dir` is where a change shows, `more` what else is asked of peers. */
export function rootsDocument(name: string, file: string, dir: string, more: JsonObject = {}): JsonObject {
  const validation = { trusted_ca: { filename: file }, watched_directory: { path: dir }, ...more };
  return { resources: [typed(secretType, { name, validation_context: validation })] };
}

/** How a TLS context names a secret whose document is `file`. */
export function secretReference(name: string, paths: GatewayPaths, file: string): JsonObject {
  return { name, sds_config: followedFile(paths, file) };
}

// What origins are verified with, as a file SDS secret: the only way in which a static cluster takes new roots without a
// restart. An inline file never reloads, and ADS in a static cluster's TLS context crashes Envoy at start (measured).
import { join } from 'node:path';
import type { GatewayPaths } from '../settings/gateway-spec.ts';
import { typed, type JsonObject } from './json.ts';
import { followedFile, originRootsFile } from './rendered-files.ts';

const secretName = 'origin_roots';
const rootsFile = 'roots.pem';

export function originRootsDocument(paths: GatewayPaths): JsonObject {
  const validation = {
    trusted_ca: { filename: join(paths.originRootsDir, rootsFile) },
    watched_directory: { path: paths.originRootsDir },
  };
  return {
    resources: [
      typed('envoy.extensions.transport_sockets.tls.v3.Secret', { name: secretName, validation_context: validation }),
    ],
  };
}

export function originRootsReference(paths: GatewayPaths): JsonObject {
  return { name: secretName, sds_config: followedFile(paths, originRootsFile) };
}

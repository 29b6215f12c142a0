// What origins are verified with, as a file SDS secret: the only way in which a static cluster takes new roots without a
// restart. An inline file never reloads, and ADS in a static cluster's TLS context crashes Envoy at start (measured).
import { dirname } from 'node:path';
import type { GatewayPaths } from '../settings/gateway-spec.ts';
import { rootsDocument, secretReference } from './file-secrets.ts';
import type { JsonObject } from './json.ts';
import { originRootsFile } from './rendered-files.ts';

const secretName = 'origin_roots';

export function originRootsDocument(paths: GatewayPaths): JsonObject {
  return rootsDocument(secretName, paths.originRoots, dirname(paths.originRoots));
}

export function originRootsReference(paths: GatewayPaths): JsonObject {
  return secretReference(secretName, paths, originRootsFile);
}

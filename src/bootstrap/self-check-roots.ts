// What the built-in origin is verified with: its own CA and its own name. The CA is part of the bootstrap where Envoy and that
// origin start together, and a file SDS secret where the origin may come back with another CA under a running Envoy.
import { dirname } from 'node:path';
import type { GatewayPaths, GatewaySpec, SelfCheckOrigin } from '../settings/gateway-spec.ts';
import { rootsDocument, secretReference } from './file-secrets.ts';
import type { JsonObject } from './json.ts';
import { selfCheckRootsFile } from './rendered-files.ts';

const secretName = 'self_check_roots';

/** fields of the common TLS context */
export function selfCheckValidation(selfCheck: SelfCheckOrigin, paths: GatewayPaths): JsonObject {
  return selfCheck.isCaFollowed
    ? { validation_context_sds_secret_config: secretReference(secretName, paths, selfCheckRootsFile) }
    : { validation_context: { trusted_ca: { filename: selfCheck.caFile }, ...itsName(selfCheck) } };
}

/** The document of the secret, by file name. */
export function selfCheckDocuments({ selfCheck }: GatewaySpec): readonly (readonly [string, JsonObject])[] {
  if (!selfCheck.isCaFollowed) return [];
  const { caFile } = selfCheck;
  return [[selfCheckRootsFile, rootsDocument(secretName, caFile, dirname(caFile), itsName(selfCheck))]];
}

function itsName({ host }: SelfCheckOrigin): JsonObject {
  return { match_typed_subject_alt_names: [{ san_type: 'DNS', matcher: { exact: host } }] };
}

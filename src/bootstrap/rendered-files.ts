// The files that Envoy follows, and the one way to point to them. A rename into the rendered folder (or a swap of the
// folder's own link) is taken within milliseconds; a broken file leaves the last good one in force (measured).
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { GatewayPaths } from '../settings/gateway-spec.ts';
import { typed, type JsonObject } from './json.ts';

/** constant for a running Envoy: a change needs a drain and a restart */
export const bootstrapFile = 'bootstrap.yaml';
export const policyFile = 'policy.json';
export const resolveFile = 'resolve.json';
/** the clusters of origins that see a client certificate, and who sees which */
export const clustersFile = 'clusters.json';
export const credentialChoiceFile = 'origin-choice.json';
export const originRootsFile = 'origin-roots.json';
export const frontCertificateFile = 'front-certificate.json';
export const clientRootsFile = 'client-roots.json';
/** what an SDS server on another machine is shown, and verified with */
export const sdsCertificateFile = 'sds-certificate.json';
export const sdsRootsFile = 'sds-roots.json';
export const selfCheckRootsFile = 'self-check-roots.json';

/** Only `paths` are needed to render a file that is followed. */
export function followedFile(paths: GatewayPaths, file: string): JsonObject {
  return {
    resource_api_version: 'V3',
    path_config_source: { path: join(paths.renderedDir, file), watched_directory: { path: paths.renderedDir } },
  };
}

/** An HTTP filter whose configuration is a followed file. Fails closed: without one every request is answered 500. */
export function followedFilter(name: string, type: string, source: JsonObject): JsonObject {
  return { name, config_discovery: { config_source: source, type_urls: [`type.googleapis.com/${type}`] } };
}

/**
 * The document of such a file. `content` is what the configuration was made from, where that is shorter: equal contents are
 * equal versions.
 */
export function filterDocument(
  name: string,
  configuration: JsonObject,
  content: object = configuration,
): FollowedDocument {
  const resource = typed('envoy.config.core.v3.TypedExtensionConfig', { name, typed_config: configuration });
  return followedDocument([resource], content);
}

/** The version is what Envoy names once it holds the document. */
export function followedDocument(resources: readonly JsonObject[], content: object = resources): FollowedDocument {
  const version = createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, versionChars);
  return { version_info: version, resources };
}

export type FollowedDocument = { readonly version_info: string; readonly resources: readonly JsonObject[] };

/** enough to tell the versions of one file apart */
const versionChars = 16;

/** How documents become text; Envoy reads the same in each. */
export type EnvoyFileStyle = {
  /** of `bootstrap.yaml` */
  readonly bootstrap: (document: JsonObject) => string;
  /** of the files that Envoy follows, which are JSON by their names */
  readonly followed: (document: JsonObject) => string;
};

/** what nobody reads to its end is not indented: 10,000 rules are 15 MB otherwise */
const longestIndented = 256 * 1024;

export function renderJson(document: JsonObject): string {
  const text = JSON.stringify(document);
  return text.length > longestIndented ? `${text}\n` : `${JSON.stringify(document, null, 1)}\n`;
}

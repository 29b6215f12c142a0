// Envoy's files for people to look into, in a gateway's folder on a machine: indented, and each part reads by itself.
import { stringify } from 'yaml';
import type { JsonObject } from './json.ts';
import { renderJson, type EnvoyFileStyle } from './rendered-files.ts';

export const readableFiles: EnvoyFileStyle = { bootstrap: renderYaml, followed: renderJson };

const bootstrapHead = [
  '# Made by leafgate; written anew at each start, so that edits are lost. A change here needs a restart of Envoy.',
  '# The policy, the overrides, the roots of origins and what they are shown stand beside it, and Envoy follows them.',
  '',
].join('\n');

/** Every text is quoted: YAML readers differ on what else a bare word may be. No anchors: each part reads by itself. */
function renderYaml(document: JsonObject): string {
  const style = { aliasDuplicateObjects: false, defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN' } as const;
  return bootstrapHead + stringify(document, { ...style, lineWidth: 0 });
}

// The policy of a gateway on this machine: its Envoy's file is written here, next to what `leafgate policy` reads, after what
// the same file says of origins.
import { join } from 'node:path';
import { policyDocument } from '../bootstrap/policy-filter.ts';
import { policyFile as policyFileName, renderJson } from '../bootstrap/rendered-files.ts';
import { replaceFile } from '../replace-file.ts';
import type { GatewaySpec } from '../settings/gateway-spec.ts';
import type { PolicyFile } from '../settings/policy-file.ts';
import { renderPolicyFile } from '../settings/render-policy-file.ts';
import { systemReason } from '../system-error.ts';
import { enforcePolicy, warnOfActors, type PolicyParts } from './enforce-policy.ts';
import type { GatewayFolder } from './gateway-folder.ts';
import type { LiveOrigins } from './live-origins.ts';

export type GatewayPolicyParts = Omit<PolicyParts, 'putOrigins' | 'deliver' | 'undelivered' | 'changed' | 'taken'> & {
  readonly origins: Pick<LiveOrigins, 'put'>;
  readonly spec: GatewaySpec;
  readonly folder: Pick<GatewayFolder, 'policyInForce'>;
};

/** From now on the policy of a gateway, whose Envoy has begun with the loaded one, follows its source. */
export async function enforceGatewayPolicy(parts: GatewayPolicyParts): Promise<void> {
  const { loaded, spec, log } = parts;
  const inForceFile = parts.folder.policyInForce;
  await writePolicyInForce(inForceFile, loaded.file);
  warn(loaded.file, parts);
  enforcePolicy({
    ...parts,
    putOrigins: ({ origins }) => parts.origins.put(origins),
    deliver: async ({ policy, dryRun }) => {
      const document = policyDocument(policy, dryRun);
      await replaceFile(join(spec.paths.renderedDir, policyFileName), renderJson(document), 0o600);
      return document.version_info;
    },
    undelivered: 'a changed policy could not be written: the earlier one decides',
    changed: (file) => warn(file, parts),
    taken: async (file) => {
      await writePolicyInForce(inForceFile, file).catch((thrown: unknown) => {
        log.warn('`leafgate policy` shows an earlier policy', { path: inForceFile, detail: systemReason(thrown) });
      });
    },
  });
}

function warn(file: PolicyFile, { spec, log }: GatewayPolicyParts): void {
  if (spec.front?.clientCaFile === undefined) warnOfActors(file, '--client-ca', log);
}

/** Writes what `leafgate policy` reads of a running gateway. */
async function writePolicyInForce(path: string, file: PolicyFile): Promise<void> {
  await replaceFile(path, renderPolicyFile(file), 0o600);
}

// The policy of a gateway in a pod: the kubelet brings Envoy's file and ours by one swap of their folder, so that nothing is
// written here. The version in Envoy's file is what Envoy should come to hold.
import { join } from 'node:path';
import { z } from 'zod';
import { policyFile } from '../bootstrap/rendered-files.ts';
import { maxRenderedBytes } from '../settings/pod-layout.ts';
import { readRegularFile } from '../read-regular-file.ts';
import type { PolicyFile } from '../settings/policy-file.ts';
import { enforcePolicy, warnOfActors, type PolicyParts } from './enforce-policy.ts';

export type PodPolicyParts = Omit<PolicyParts, 'putOrigins' | 'deliver' | 'undelivered' | 'changed' | 'taken'> & {
  /** of the rendered files */
  readonly dir: string;
  /** whether clients are asked for certificates, which name the actor */
  readonly knowsActors: boolean;
};

export function enforcePodPolicy(parts: PodPolicyParts): void {
  const warn = (file: PolicyFile): void => {
    if (!parts.knowsActors) warnOfActors(file, 'spec.clients.caBundleRef', parts.log);
  };
  warn(parts.loaded.file);
  enforcePolicy({
    ...parts,
    // the kubelet brings those too, and Envoy takes them by itself
    putOrigins: () => Promise.resolve({ kind: 'taken' }),
    deliver: () => versionIn(join(parts.dir, policyFile)),
    undelivered: "Envoy's file of a changed policy cannot be read: the earlier policy decides",
    changed: warn,
    taken: () => Promise.resolve(),
  });
}

const documentSchema = z.object({ version_info: z.string().min(1) });

async function versionIn(path: string): Promise<string> {
  const content = await readRegularFile(path, maxRenderedBytes);
  if (content.kind === 'too-large') throw new Error(`${path} is larger than ${maxRenderedBytes} bytes`);
  if (content.kind === 'unreadable') throw new Error(`${path}: ${content.reason}`);
  return documentSchema.parse(JSON.parse(new TextDecoder().decode(content.bytes))).version_info;
}

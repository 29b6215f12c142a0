// Suites on a real control plane of their own: skipped with the reason where the programs are missing or too old.
import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe } from 'vitest';
import { skipWithReason } from '../describe-with-tools.ts';
import { scrubbedEnvironment } from '../scrubbed-environment.ts';
import { findTool, type ToolName } from '../tools.ts';
import { startControlPlane, type ControlPlane, type ControlPlaneOptions } from './control-plane.ts';

export type ControlPlaneNeeds = ControlPlaneOptions & {
  /** beside etcd and the API server */
  readonly tools?: readonly ToolName[];
};

/** the first that serves v1 of ClusterTrustBundle without being asked */
const oldestMinor = 37;

/** A `describe` whose body may ask, inside its tests and hooks, for the control plane. */
export function describeWithControlPlane(
  title: string,
  needs: ControlPlaneNeeds,
  body: (plane: () => ControlPlane) => void,
): void {
  describeWithControlPlanes(title, needs.tools ?? [], () => {
    let plane: ControlPlane | undefined;
    beforeAll(async () => {
      plane = await startControlPlane(needs);
    });
    afterAll(() => plane?.stop());
    body(() => {
      if (plane === undefined) throw new Error('the control plane runs inside tests and hooks only');
      return plane;
    });
  });
}

/** A `describe` whose tests start control planes by themselves. */
export function describeWithControlPlanes(title: string, tools: readonly ToolName[], body: () => void): void {
  const reason = whyNoControlPlane(tools);
  if (reason === undefined) describe(title, body);
  else skipWithReason(title, reason);
}

function whyNoControlPlane(tools: readonly ToolName[]): string | undefined {
  const missing = (['etcd', 'kube-apiserver', ...tools] as const).flatMap((name) => findTool(name).missing ?? []);
  return missing.length > 0 ? missing.join('; ') : whyTooOld();
}

/** what was built is right; what the environment names may be any */
function whyTooOld(): string | undefined {
  const { path = '' } = findTool('kube-apiserver');
  const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8', env: scrubbedEnvironment('/') });
  const minor = /v1\.(\d+)\./.exec(stdout)?.[1];
  if (minor !== undefined && Number(minor) >= oldestMinor) return undefined;
  return `${path} says it is ${JSON.stringify(stdout.trim())}; v1.${oldestMinor} or newer is needed`;
}

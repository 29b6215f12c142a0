// Renders the files of a gateway into their ConfigMap where they differ, and has its Deployment make new pods where what a
// running pod does not take up has changed. Says what stands in the way.
import { isNamespaceEnding, kubeFailureOf, type KubeFailure } from '../kube/kube-failure.ts';
import type { KubeObject, ObjectPlace } from '../kube/kube-types.ts';
import type { Log } from '../observe/log.ts';
import type { EgressGateway } from '../settings/egress-gateway-types.ts';
import { sdsNameOf } from '../settings/pod-layout.ts';
import { isNotLeading, type ClusterWrites } from './cluster-writes.ts';
import type { ConditionType } from './condition-table.ts';
import { decideFiles, type FilesDecision } from './decide-files.ts';
import { isFilesOf } from './files-claim.ts';
import type { Look } from './followed-objects.ts';
import type { GatewayView } from './judge-gateway.ts';
import type { Obstacles } from './judge-ready.ts';
import { ruleFor, sayMissingRule } from './missing-rule.ts';
import { observedConfigMap } from './read-observed.ts';
import type { Render } from './remember-renderings.ts';
import type { RenderedGateway } from './render-gateway.ts';
import { deployments } from './watched-kinds.ts';

export type FilesRequest = {
  readonly gateway: EgressGateway;
  readonly view: GatewayView;
  /** conditions for which a first rendering waits */
  readonly blocking: readonly ConditionType[];
  readonly place: ObjectPlace;
  readonly look: Look;
  /** gateway that has the Deployment; undefined: this one */
  readonly deploymentOwner: string | undefined;
};

export type FilesParts = { readonly writes: ClusterWrites; readonly log: Log; readonly render: Render };

export type FilesOutcome = {
  readonly obstacles: Obstacles;
  /** another attempt may succeed although nothing changes that is followed */
  readonly isToRetry: boolean;
  /** it is not followed: somebody has to ask for it again */
  readonly awaitsDeployment: boolean;
};

const inOrder: FilesOutcome = { obstacles: {}, isToRetry: false, awaitsDeployment: false };

export async function writeFiles(request: FilesRequest, parts: FilesParts): Promise<FilesOutcome> {
  const { look, gateway } = request;
  if (look.kind === 'found' && !isFilesOf(gateway.name, look.object))
    return inTheWay({ FilesNotWritten: notOurs(request) });
  const decision = decideFiles(filesInput(request), parts.render);
  switch (decision.kind) {
    case 'wait':
      return inOrder;
    case 'unavailable':
      return inTheWay({ FilesNotWritten: `ConfigMap ${nameOf(request)} cannot be read: ${decision.detail}` });
    case 'too-large':
      return inTheWay({ RenderingTooLarge: tooLargeMessage(decision) });
    case 'keep':
    case 'apply':
      return applyAndRollOut(decision.rendered, request, parts);
    default:
      return decision satisfies never;
  }
}

function filesInput({ gateway, view, blocking, place, look }: FilesRequest): Parameters<typeof decideFiles>[0] {
  const { originRootsPem, clientRootsPem, goodOriginSecrets } = view;
  const existing = observedConfigMap(look, place);
  const inputs = { gateway, existing, blocking, originRootsPem, clientRootsPem, goodOriginSecrets };
  if (gateway.spec.sds.transport === 'UnixSocket') return inputs;
  return { ...inputs, remote: { serverName: view.sdsServerName, anchorsPem: view.anchorsPem } };
}

function inTheWay(obstacles: Obstacles): FilesOutcome {
  return { ...inOrder, obstacles };
}

function notOurs(request: FilesRequest): string {
  return `ConfigMap ${nameOf(request)} is not this gateway's and is left alone: remove it, or give the gateway another name`;
}

function tooLargeMessage({ bytes, maxBytes }: Extract<FilesDecision, { kind: 'too-large' }>): string {
  return `the files have ${bytes} bytes, more than ${maxBytes}: the last good ones stay`;
}

function nameOf({ place }: FilesRequest): string {
  return `${place.namespace ?? ''}/${place.name}`;
}

type Step = { readonly at: ObjectPlace; readonly verbs: readonly string[] };

async function applyAndRollOut(
  rendered: RenderedGateway,
  request: FilesRequest,
  { writes, log }: FilesParts,
): Promise<FilesOutcome> {
  const { gateway, look, place, deploymentOwner } = request;
  const existing: KubeObject | undefined = look.kind === 'found' ? look.object : undefined;
  let step: Step = { at: place, verbs: ['create', 'patch'] };
  try {
    const content = { name: rendered.configMapName, data: rendered.data, owner: gateway };
    if (await writes.applyFiles(content, existing))
      log.info('files written', { object: `ConfigMap ${nameOf(request)}` });
    if (deploymentOwner !== undefined) {
      const object = `Deployment ${gateway.namespace}/${gateway.spec.deploymentName}`;
      const DeploymentTaken = `${object} is that of the gateway ${deploymentOwner}: its pods are left alone`;
      return inTheWay({ DeploymentTaken });
    }
    const outcomes: FilesOutcome[] = [];
    for (const { name, digest } of rolledDeployments(rendered, gateway)) {
      const deployment = { namespace: gateway.namespace, name };
      step = { at: { resource: deployments, ...deployment }, verbs: ['get', 'patch'] };
      const object = `Deployment ${gateway.namespace}/${name}`;
      const { configMapName } = rendered;
      const rollout = await writes.rollOut(deployment, { configMapName, digest });
      if (rollout === 'rolled')
        log.info('new pods are made, since what they read only at their start has changed', { object });
      outcomes.push(outcomeOf(rollout, object, configMapName));
    }
    return outcomes.find(({ awaitsDeployment }) => awaitsDeployment) ?? inOrder;
  } catch (thrown) {
    if (isNotLeading(thrown)) throw thrown;
    const detail = sayFailure(kubeFailureOf(thrown), step.at, step.verbs);
    return { ...inTheWay({ FilesNotWritten: detail }), isToRetry: true };
  }
}

/** the SDS servers first, where there are some: an Envoy that starts asks them */
function rolledDeployments({ constantSha256, sdsConstantSha256 }: RenderedGateway, { name, spec }: EgressGateway) {
  const own = { name: spec.deploymentName, digest: constantSha256 };
  return sdsConstantSha256 === undefined ? [own] : [{ name: sdsNameOf(name), digest: sdsConstantSha256 }, own];
}

function outcomeOf(
  rollout: Awaited<ReturnType<ClusterWrites['rollOut']>>,
  object: string,
  configMapName: string,
): FilesOutcome {
  switch (rollout) {
    case 'rolled':
    case 'unchanged':
      return inOrder;
    case 'absent':
      return { ...inTheWay({ DeploymentNotFound: `${object} does not exist` }), awaitsDeployment: true };
    case 'without-files':
      return {
        ...inTheWay({
          DeploymentWithoutFiles: `${object} does not mount the ConfigMap ${configMapName}: its pods are left alone, since they may be somebody else's`,
        }),
        awaitsDeployment: true,
      };
    default:
      return rollout satisfies never;
  }
}

function sayFailure(failure: KubeFailure, at: ObjectPlace, verbs: readonly string[]): string {
  const { kind, message } = failure;
  const object = `${at.resource.kind} ${at.namespace ?? ''}/${at.name}`;
  if (kind === 'forbidden' && !isNamespaceEnding(failure))
    return `${object}: ${sayMissingRule(ruleFor(at, verbs))} (${message})`;
  return `${object} cannot be written: ${message}`;
}

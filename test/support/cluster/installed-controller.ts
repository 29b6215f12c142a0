// `leafgate controller` as deploy/ installs it: started by the words of its Deployment, as the account that it has there, with
// exactly the rights of the files. A rule may be taken away and given back; what it asked for is in the audit log.
import type { TempFolder } from '../temp-folder.ts';
import { mainScript } from '../gateway-under-test.ts';
import type { Manifest, Rule, RoleManifest } from '../manifest-types.ts';
import { runCommand, startProcess, type CommandResult, type StartedProcess } from '../run-command.ts';
import { scrubbedEnvironment } from '../scrubbed-environment.ts';
import { ofKind, onlyOne } from '../shipped-manifests.ts';
import { waitFor } from '../wait-for.ts';
import { applyManifest } from './apply-manifests.ts';
import { readRequestsOf, type ApiRequest } from './audit-log.ts';
import type { ControlPlane } from './control-plane.ts';
import { mustSucceed, type RawApi } from './raw-api.ts';
import { accessOf } from './service-account.ts';

export type InstalledController = {
  /** ends with `stop` */
  start(): StartedProcess;
  /** for one that is to fail */
  run(): Promise<CommandResult>;
  stop(): Promise<void>;
  requests(): Promise<readonly ApiRequest[]>;
  /** the only one with that verb on that resource */
  ruleFor(resource: string, verb: string): RoleAndRule;
  /** the role of the files but for this rule, or whole again; back when the API server goes by it */
  applyRole(role: RoleManifest, without?: Rule): Promise<void>;
  /** verbs of the rules that no request was of */
  unusedVerbs(requests: readonly ApiRequest[]): readonly string[];
};

type RoleAndRule = readonly [RoleManifest, Rule];

type Installation = {
  readonly plane: ControlPlane;
  readonly admin: RawApi;
  /** the controller and its bounds */
  readonly manifests: readonly Manifest[];
  /** of the audit log */
  readonly folder: TempFolder;
};

export async function installController(installation: Installation): Promise<InstalledController> {
  const { plane, admin, manifests, folder } = installation;
  for (const manifest of manifests) await applyManifest(admin, manifest);
  const account = onlyOne(ofKind(manifests, 'ServiceAccount'), 'ServiceAccount').metadata;
  const roles: readonly RoleManifest[] = [...ofKind(manifests, 'Role'), ...ofKind(manifests, 'ClusterRole')];
  const access = await accessOf(plane, { namespace: account.namespace ?? '', name: account.name });
  const running: StartedProcess[] = [];
  const words = [...commandOf(manifests), `--kubeconfig=${access.kubeconfigFile}`];
  const options = { env: scrubbedEnvironment(folder.path), deadlineMs: 60_000 };
  return {
    start: () => {
      const child = startProcess(process.execPath, words, options);
      running.push(child);
      return child;
    },
    run: () => runCommand(process.execPath, words, options),
    stop: async () => {
      for (const child of running.splice(0)) await child.stop();
    },
    requests: () => readRequestsOf(access.user, folder.path, admin),
    ruleFor: (resource, verb) => onlyOne(rulesFor(roles, resource, verb), `${verb} ${resource}`),
    applyRole: async (role, without) => {
      await applyManifest(admin, { ...role, rules: role.rules.filter((rule) => rule !== without) });
      for (const rule of role.rules) {
        const isGiven = rule !== without;
        await waitFor(
          `the rule to be ${isGiven ? 'there' : 'gone'}`,
          async () => (await isAllowed(admin, access.user, { role, rule })) === isGiven,
        );
      }
    },
    unusedVerbs: (requests) => unusedVerbs(roles, requests),
  };
}

/** what the Deployment says, but for the port; the token comes by a kubeconfig */
function commandOf(manifests: readonly Manifest[]): readonly string[] {
  const { metadata, spec } = onlyOne(ofKind(manifests, 'Deployment'), 'Deployment');
  const { args } = onlyOne(spec.template.spec.containers, 'container');
  const inPod = args.filter((word) => !word.startsWith('--metrics='));
  return [mainScript, ...inPod, `--lease-namespace=${metadata.namespace ?? ''}`];
}

function rulesFor(roles: readonly RoleManifest[], resource: string, verb: string): readonly RoleAndRule[] {
  return roles.flatMap((role) =>
    role.rules
      .filter(({ resources, verbs }) => resources.includes(resource) && verbs.includes(verb))
      .map((rule) => [role, rule] as const),
  );
}

type RuleOfRole = { readonly role: RoleManifest; readonly rule: Rule };

async function isAllowed(admin: RawApi, user: string, { role, rule }: RuleOfRole): Promise<boolean> {
  const { apiGroups, resources, resourceNames, verbs } = rule;
  const [resource, subresource] = resources[0]?.split('/') ?? [];
  const asked = {
    ...{ group: apiGroups[0], resource, subresource, verb: verbs[0] },
    ...{ name: resourceNames?.[0], namespace: role.metadata.namespace },
  };
  const groups = ['system:serviceaccounts', 'system:authenticated'];
  const answer = await admin.post('/apis/authorization.k8s.io/v1/subjectaccessreviews', {
    ...{ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview' },
    spec: { user, groups, resourceAttributes: asked },
  });
  return mustSucceed(answer)['status'].allowed as boolean;
}

function unusedVerbs(roles: readonly RoleManifest[], requests: readonly ApiRequest[]): readonly string[] {
  const nameOf = (verb: string, resource = '', subresource?: string): string =>
    `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}`;
  const used = new Set(requests.map(({ verb, resource, subresource }) => nameOf(verb, resource, subresource)));
  const given = roles
    .flatMap(({ rules }) => rules)
    .flatMap(({ resources: [resource], verbs }) => verbs.map((verb) => nameOf(verb, resource)));
  return given.filter((one) => !used.has(one));
}

/** What the audit log does not call by these names. */
export const askedOtherwise: readonly string[] = [
  // server-side apply is a patch, and asks for create beside it
  'create configmaps',
  // for events that repeat
  'patch events',
  'create clustertrustbundles',
  // by admission
  'attest signers',
];

// Namespaces of a test's own, and identities in them with real tokens and exactly the rules that a test gives. All names are
// fresh: nothing of an API server without controllers ever vanishes.
import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../wait-for.ts';
import type { ControlPlane } from './control-plane.ts';
import { kubeconfigWithToken } from './cluster-pki.ts';
import { apiAs, mustSucceed, type RawApi } from './raw-api.ts';

type PolicyRule = {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
};

export type AccountPlace = { readonly namespace: string; readonly name: string };

export type AccountRules = {
  /** by namespace; the account's own or others */
  readonly namespaced?: { readonly [namespace: string]: readonly PolicyRule[] };
  readonly cluster?: readonly PolicyRule[];
};

export type AccountAccess = {
  /** as the API server calls it */
  readonly user: string;
  readonly token: string;
  /** as a pod has it: `ca.crt`, `token`, `namespace` */
  readonly folder: string;
  readonly tokenFile: string;
  readonly kubeconfigFile: string;
  /** a new token in the same file; the former stays valid. One that is bound ends with the Secret, some 10 s after it */
  renewToken(boundTo?: TokenBinding): Promise<string>;
};

/** a Secret of the account's namespace */
type TokenBinding = { readonly name: string; readonly uid: string };

/** short, unique, a DNS label */
export function freshName(prefix: string): string {
  return `${prefix}-${randomBytes(4).toString('hex')}`;
}

export async function createNamespace(
  plane: ControlPlane,
  {
    prefix = 'test',
    labels = {},
  }: { readonly prefix?: string; readonly labels?: Readonly<Record<string, string>> } = {},
): Promise<string> {
  const name = freshName(prefix);
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
  await asAdmin(plane, async (api) => mustSucceed(await api.post('/api/v1/namespaces', namespace)));
  return name;
}

/** Makes the account, allows it exactly `rules`, and gives it a token. */
export async function createServiceAccount(
  plane: ControlPlane,
  place: AccountPlace,
  rules: AccountRules,
): Promise<AccountAccess> {
  await asAdmin(plane, async (api) => {
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: place };
    mustSucceed(await api.post(`/api/v1/namespaces/${place.namespace}/serviceaccounts`, account));
  });
  await allow(plane, { kind: 'ServiceAccount', ...place }, rules);
  return accessOf(plane, place);
}

export type RuleSubject =
  ({ readonly kind: 'ServiceAccount' } & AccountPlace) | { readonly kind: 'User'; readonly name: string };

/** Resolves when the API server has seen it: its authorizer follows the rules by a watch. */
export async function allow(plane: ControlPlane, subject: RuleSubject, rules: AccountRules): Promise<void> {
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const subjects = [subject.kind === 'User' ? { ...subject, apiGroup: 'rbac.authorization.k8s.io' } : subject];
  await asAdmin(plane, async (api) => {
    const grant = async (kind: 'Role' | 'ClusterRole', at: string, given: readonly PolicyRule[]): Promise<void> => {
      const metadata = { name: freshName('test') };
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind, name: metadata.name };
      const plural = kind.toLowerCase();
      mustSucceed(await api.post(`${at}/${plural}s`, { apiVersion, kind, metadata, rules: given }));
      const binding = { apiVersion, kind: `${kind}Binding`, metadata, subjects, roleRef };
      mustSucceed(await api.post(`${at}/${plural}bindings`, binding));
    };
    for (const [namespace, given] of Object.entries(rules.namespaced ?? {})) {
      await grant('Role', `/apis/${apiVersion}/namespaces/${namespace}`, given);
    }
    if (rules.cluster !== undefined) await grant('ClusterRole', `/apis/${apiVersion}`, rules.cluster);
    for (const wanted of firstOfEach(rules)) {
      await waitFor(`${JSON.stringify(wanted)} to be allowed`, () => isAllowed(api, subject, wanted));
    }
  });
}

type Attributes = { readonly [name in 'namespace' | 'group' | 'resource' | 'subresource' | 'verb' | 'name']?: string };

function firstOfEach({ namespaced = {}, cluster = [] }: AccountRules): readonly Attributes[] {
  const places = [...Object.entries(namespaced), [undefined, cluster] as const];
  return places.flatMap(([namespace, rules]) =>
    rules.map(({ apiGroups: [group], resources: [path], resourceNames: [name] = [], verbs: [verb] }) => {
      const [resource, subresource] = path?.split('/') ?? [];
      // undefined members do not get into the JSON
      return { namespace, group, resource, subresource, verb, name } as Attributes;
    }),
  );
}

async function isAllowed(api: RawApi, subject: RuleSubject, resourceAttributes: Attributes): Promise<boolean> {
  const user = subject.kind === 'User' ? subject.name : userName(subject);
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user, resourceAttributes },
  };
  const answer = mustSucceed(await api.post('/apis/authorization.k8s.io/v1/subjectaccessreviews', review));
  return answer['status'].allowed as boolean;
}

function userName({ namespace, name }: AccountPlace): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

/** A token for an account that is there already, as one of a shipped manifest. */
export async function accessOf(plane: ControlPlane, place: AccountPlace): Promise<AccountAccess> {
  const folder = join(plane.dir, freshName(place.name));
  mkdirSync(folder, { mode: 0o700 });
  const [tokenFile, caFile] = [join(folder, 'token'), join(folder, 'ca.crt')];
  copyFileSync(plane.caFile, caFile);
  writeFileSync(join(folder, 'namespace'), place.namespace);
  const renewToken = async (boundTo?: TokenBinding): Promise<string> => {
    const token = await requestToken(plane, place, boundTo);
    writeFileSync(tokenFile, token, { mode: 0o600 });
    return token;
  };
  const kubeconfigFile = join(folder, 'kubeconfig');
  writeFileSync(kubeconfigFile, kubeconfigWithToken({ url: plane.url, caFile, tokenFile }), { mode: 0o600 });
  return {
    ...{ folder, tokenFile, kubeconfigFile, renewToken },
    user: userName(place),
    token: await renewToken(),
  };
}

async function requestToken(
  plane: ControlPlane,
  { namespace, name }: AccountPlace,
  boundTo: TokenBinding | undefined,
): Promise<string> {
  const boundObjectRef = boundTo && { apiVersion: 'v1', kind: 'Secret', ...boundTo };
  const spec = { expirationSeconds: 3600, boundObjectRef };
  const wanted = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec };
  const at = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  return asAdmin(plane, async (api) => mustSucceed(await api.post(at, wanted))['status'].token as string);
}

async function asAdmin<T>(plane: ControlPlane, work: (api: RawApi) => Promise<T>): Promise<T> {
  const api = apiAs(plane, plane.user('admin'));
  try {
    return await work(api);
  } finally {
    api.close();
  }
}

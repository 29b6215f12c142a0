// The generated half of deploy/actor: the values of the environment, each once, and where kustomize puts them. Made from the
// table of runtimes, as `leafgate env` is.
import { stringify } from 'yaml';
import { actorEnvironment } from '../../src/projection/actor-environment.ts';
import { actorRuntimes } from '../../src/projection/actor-runtimes.ts';
import { trustFilePaths } from '../../src/projection/trust-files.ts';

export const trustFolder = '/run/leafgate/trust';
export const clientSettingsFolder = '/run/leafgate/client-settings';

/** the Service of deploy/example/names */
const gatewayUrl = 'http://gateway.egress.svc:3128';

/** what `leafgate env` would set in the containers of a workload */
export const actorVariables = actorEnvironment({
  trust: {
    proxyUrl: gatewayUrl,
    ...trustFilePaths(trustFolder),
    // settings files come from a ConfigMap, in a folder of its own
    wgetrcFile: `${clientSettingsFolder}/wgetrc`,
    aptConfFile: `${clientSettingsFolder}/apt.conf`,
    phpFolder: `${clientSettingsFolder}/php`,
  },
  // what is inside the cluster is reached without the gateway
  own: { NO_PROXY: 'localhost,127.0.0.1,::1,.svc,.cluster.local' },
  without: new Set(),
  left: new Set(),
}).variables;

/** kustomize makes no whole entries of a list, but their fields */
const mounts = [
  { name: 'leafgate-trust', mountPath: trustFolder, key: 'trust-folder' },
  { name: 'leafgate-client-settings', mountPath: clientSettingsFolder, key: 'client-settings-folder' },
] as const;

const values = actorRuntimes
  .flatMap(({ variables }) => variables)
  .reduce(
    (found, { name, value }) => found.set(value, [...(found.get(value) ?? []), name]),
    new Map<string, readonly string[]>(),
  );

const generated = '# Made from the table of runtimes by `npm run docs`: change it there.';

/** what each installation says for itself, in deploy/example/actor/names.yaml */
const named: ReadonlySet<string> = new Set(['proxy', 'no-proxy', 'java-options']);

export function environmentValuesYaml(): string {
  const texts = [...values].filter(([value]) => !named.has(value));
  const folders = mounts.map(({ key, mountPath }) => [key, mountPath]);
  const object = {
    ...{ apiVersion: 'v1', kind: 'ConfigMap' },
    metadata: { name: 'leafgate-actor-paths', annotations: { 'config.kubernetes.io/local-config': 'true' } },
    immutable: true,
    data: Object.fromEntries([...texts.map(([value, names]) => [value, textOf(names)]), ...folders]) as object,
  };
  return [
    generated,
    '# The API server never sees this object: kustomize takes the values, and leaves it out.',
    stringify(object, { lineWidth: 0 }),
  ].join('\n');
}

/** the values that deploy/example/actor/names.yaml must state, for the gateway that it names */
export function namedValues(): Readonly<Record<string, string>> {
  const texts = [...values].filter(([value]) => named.has(value));
  return Object.fromEntries(texts.map(([value, names]) => [value, textOf(names)]));
}

function textOf([name = '']: readonly string[]): string {
  return actorVariables[name] ?? '';
}

/** into all containers of the workload, those that start before the others too */
export function replacementsYaml(): string {
  const lists = ['containers', 'initContainers'];
  const into = (field: string): readonly string[] => lists.map((list) => `spec.template.spec.${list}.*.${field}`);
  const environment = [...values].map(([value, names]) =>
    replacement(
      { name: named.has(value) ? 'leafgate-actor-names' : 'leafgate-actor-paths', fieldPath: `data.${value}` },
      names.flatMap((name) => into(`env.[name=${name}].value`)),
    ),
  );
  const mounted = mounts.map(({ key, name }) =>
    replacement(
      { name: 'leafgate-actor-paths', fieldPath: `data.${key}` },
      into(`volumeMounts.[name=${name}].mountPath`),
    ),
  );
  return [generated, stringify([...environment, ...mounted], { lineWidth: 0, aliasDuplicateObjects: false })].join(
    '\n',
  );
}

type Source = { readonly name: string; readonly fieldPath: string };

/** kustomize takes one kind in a choice, not a pattern */
const kinds = ['Deployment', 'StatefulSet', 'DaemonSet', 'Job'];

function replacement(source: Source, fieldPaths: readonly string[]): object {
  return {
    source: { kind: 'ConfigMap', ...source },
    targets: kinds.map((kind) => ({
      select: { kind, labelSelector: 'leafgate.dev/actor=yes' },
      options: { create: true },
      fieldPaths,
    })),
  };
}

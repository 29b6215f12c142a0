// The files of deploy/ among each other: what the kustomizations list, what is generated, and names that are stated once.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { Kinds, Manifest, Rule } from '../../support/manifest-types.ts';
import { kustomize } from '../../support/kustomize-model.ts';
import {
  deployFolder,
  ofKind,
  onlyOne,
  parseManifests,
  readManifests,
  resourcesOf,
  shippedManifests,
  yamlFilesOf,
} from '../../support/shipped-manifests.ts';

type Joiner = { joinManifests(root: string): string; installFile: string };
const joiner = (await import(new URL('../../../src/setup/join-manifests.mjs', import.meta.url).href)) as Joiner;
const root = new URL('../../..', import.meta.url).pathname;
const example = (part: 'controller' | 'gateway', texts?: ReadonlyMap<string, string>): readonly Manifest[] =>
  kustomize(join(deployFolder, 'example', part), texts);
const namesFile = join(deployFolder, 'example', 'names', 'names.yaml');

describe('the bases', () => {
  test.each(['controller', 'bounds', 'gateway', 'sds'] as const)('%s lists each of its files once', (folder) => {
    expect([...resourcesOf(folder)].sort()).toEqual(yamlFilesOf(folder));
  });

  test('label every object, and give its namespace to each that has one', () => {
    const clusterWide = ['Namespace', 'ClusterRole', 'ClusterRoleBinding', 'CustomResourceDefinition'];
    for (const { kind, metadata } of shippedManifests('controller', 'bounds', 'gateway', 'sds')) {
      const about = `${kind} ${metadata.name}`;
      expect(metadata.labels, about).toMatchObject({
        'app.kubernetes.io/name': 'leafgate',
        'app.kubernetes.io/part-of': 'leafgate',
        'app.kubernetes.io/component': expect.stringMatching(/^(controller|bounds|gateway|sds)$/) as string,
      });
      const isClusterWide = clusterWide.includes(kind) || kind.startsWith('ValidatingAdmission');
      expect(metadata.namespace === undefined, about).toBe(isClusterWide);
    }
  });

  test('make namespaces that hold every pod to the restricted profile', () => {
    const namespaces = shippedManifests('controller', 'bounds').filter(({ kind }) => kind === 'Namespace');
    expect(namespaces).toHaveLength(2);
    for (const { metadata } of namespaces)
      expect(metadata.labels).toHaveProperty(['pod-security.kubernetes.io/enforce'], 'restricted');
  });
});

describe('install.yaml', () => {
  const text = readFileSync(join(root, joiner.installFile), 'utf8');

  test('is what `npm run manifests` makes', () => expect(text).toBe(joiner.joinManifests(root)));

  test('holds what kustomize makes of the example for the controller', () => {
    const sorted = (objects: readonly Manifest[]) => objects.map((object) => JSON.stringify(object)).sort();
    expect(sorted(parseManifests(text))).toEqual(sorted(example('controller')));
  });

  test('begins with namespaces and ends with what runs in them', () => {
    const kinds = parseManifests(text).map(({ kind }) => kind);
    expect(kinds[0]).toBe('Namespace');
    expect(kinds.indexOf('ServiceAccount')).toBeLessThan(kinds.indexOf('Deployment'));
  });
});

describe('names', () => {
  const others = {
    namespace: 'team-a',
    gateway: 'way-out-1',
    poolSecret: 'a-pool',
    servingSecret: 'a-certificate',
    signer: 'trust.acme.test/inner',
    bundle: 'outward',
    clusterDomain: 'acme.internal',
    // of deploy/gateway-tcp, which needs a real kustomize: test/cluster/deploy-tcp.test.ts
    sdsServerSecret: 'asked',
    sdsClientSecret: 'asking',
    sdsClient: 'way-out-1.envoys.acme.test',
  };
  const [names] = readManifests(namesFile);
  const texts = new Map([[namesFile, stringify({ ...names, data: others })]]);
  const renamed = [...example('controller', texts), ...example('gateway', texts)];
  const only = <Kind extends keyof Kinds>(kind: Kind, component: string): Kinds[Kind] => {
    const isOf = ({ metadata }: Manifest): boolean => metadata.labels?.['app.kubernetes.io/component'] === component;
    return onlyOne(ofKind(renamed, kind).filter(isOf), `${kind} of ${component}`);
  };

  test('are those of the bases where names.yaml is as it is shipped', () => {
    expect(example('gateway')).toEqual(shippedManifests('gateway'));
  });

  test('stand in names.yaml once and nowhere else: with others there, none of the example is left', () => {
    expect(Object.keys(names?.['data'] as object)).toEqual(Object.keys(others));
    // these two describe every gateway, in prose
    const isOfAll = ({ kind }: Manifest): boolean => /^(CustomResourceDefinition|Validating.*)$/.test(kind);
    const left = JSON.stringify(renamed.filter((one) => !isOfAll(one)))
      .replaceAll(
        /"app.kubernetes.io\/component":"gateway"|"egress":|\/etc\/leafgate\/gateway|"--gateway"|"gateway-files"/g,
        '',
      )
      .replaceAll(/"hosts":\["example.com","\*.example.com"\]/g, '');
    expect(left.match(/.{20}(\begress\b|\bgateway\b|example\.com|cluster\.local).{20}/g) ?? []).toEqual([]);
  });

  test('reach the object, the pods and the rights alike', () => {
    const { metadata, spec } = only('EgressGateway', 'gateway');
    expect([metadata.namespace, metadata.name]).toEqual(['team-a', 'way-out-1']);
    expect(spec.trustBundle).toMatchObject({ signerName: 'trust.acme.test/inner', name: 'outward' });
    const pod = only('Deployment', 'gateway').spec.template.spec;
    const volume = (wanted: string) => pod.volumes.find(({ name }) => name === wanted);
    expect(volume('gateway-files')?.configMap?.name).toBe('way-out-1-envoy');
    expect(volume('ca-pool')?.secret?.secretName).toBe('a-pool');
    expect(volume('serving')?.secret?.secretName).toBe('a-certificate');
    const named = (rules: readonly Rule[]) => rules.flatMap(({ resourceNames = [] }) => resourceNames);
    const inNamespace = only('Role', 'bounds');
    expect(named(inNamespace.rules)).toEqual(['a-pool', 'a-certificate', 'way-out-1-envoy', 'way-out-1']);
    const inCluster = only('ClusterRole', 'bounds');
    expect(named(inCluster.rules)).toEqual(['trust.acme.test:inner:outward', 'trust.acme.test/inner']);
    expect(only('RoleBinding', 'bounds').roleRef.name).toBe(inNamespace.metadata.name);
    expect(only('ClusterRoleBinding', 'bounds').roleRef.name).toBe(inCluster.metadata.name);
    const [controller] = only('Deployment', 'controller').spec.template.spec.containers;
    expect(controller?.args.slice(1, 4)).toEqual([
      '--namespace=team-a',
      '--signer=team-a=trust.acme.test/inner',
      '--cluster-domain=acme.internal',
    ]);
  });
});

// deploy/example/gateway-tcp and controller-tcp as a real kustomize makes them: a gateway whose pods have no CA pool, its SDS
// servers, and what the controller may touch for both. Put to a real API server, there and back again.
import { cpSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { parseEgressGateway } from '../../src/settings/egress-gateway.ts';
import { filesNameOf, podPaths, sdsNameOf, sdsPort } from '../../src/settings/pod-layout.ts';
import { applyManifest, apiPath, waitUntilServed } from '../support/cluster/apply-manifests.ts';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import { installCertManager } from '../support/cluster/install-cert-manager.ts';
import { apiAs, mustSucceed, type ApiObject, type RawApi } from '../support/cluster/raw-api.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { kubectlKustomize } from '../support/kubectl-kustomize.ts';
import type { Container, Deployment, Manifest, Rule } from '../support/manifest-types.ts';
import { deployFolder, ofKind, onlyOne, readManifests } from '../support/shipped-manifests.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { findTool } from '../support/tools.ts';

type Part = 'controller' | 'gateway' | 'controller-tcp' | 'gateway-tcp';
type Component = 'gateway' | 'sds' | 'bounds' | 'sds-certificates';

const temp = createTempFolder();
afterAll(() => temp.remove());

function build(part: Part, folder: string = deployFolder): readonly Manifest[] {
  return kubectlKustomize(findTool('kubectl').path ?? '', join(folder, 'example', part), temp.file('home'));
}

function ofComponent(manifests: readonly Manifest[], component: Component): readonly Manifest[] {
  return manifests.filter(({ metadata }) => metadata.labels?.['app.kubernetes.io/component'] === component);
}

function partsOf(manifests: readonly Manifest[]) {
  const deployment = (component: Component): Deployment =>
    onlyOne(ofKind(ofComponent(manifests, component), 'Deployment'), `Deployment of ${component}`);
  const [gateway, servers] = [deployment('gateway'), deployment('sds')];
  return { gateway, servers, object: onlyOne(ofKind(manifests, 'EgressGateway'), 'EgressGateway') };
}

const podOf = (deployment: Deployment) => deployment.spec.template.spec;
const containersOf = (deployment: Deployment): readonly Container[] => [
  ...(podOf(deployment).initContainers ?? []),
  ...podOf(deployment).containers,
];

describeWithTools('deploy/example/gateway-tcp', ['kubectl'], () => {
  const built = build('gateway-tcp');
  const { gateway, servers, object } = partsOf(built);
  const reading = parseEgressGateway(object);
  if (reading.kind === 'refused') throw reading.problems[0];
  const { spec, name } = reading.gateway;

  test('has the gateway of the example, changed in nothing but what the transport asks for', () => {
    const before = build('gateway');
    expect(built.filter((one) => !ofComponent(built, 'sds').includes(one)).map(idOf)).toEqual(before.map(idOf));
    const changed = before.filter((one) => !built.some((other) => JSON.stringify(one) === JSON.stringify(other)));
    expect(changed.map(({ kind }) => kind).sort()).toEqual(['Deployment', 'EgressGateway', 'NetworkPolicy']);
    expect({ ...object.spec, sds: undefined }).toEqual({ ...partsOfGateway(before).object.spec, sds: undefined });
  });

  test('mounts the pool in the SDS servers alone', () => {
    const withPool = ofKind(built, 'Deployment').filter((one) =>
      podOf(one).volumes.some(({ secret }) => secret?.secretName === spec.caPool.secretName),
    );
    expect(withPool).toEqual([servers]);
    const places = containersOf(gateway).flatMap(({ volumeMounts }) => volumeMounts.map(({ mountPath }) => mountPath));
    expect(places).not.toContain(dirname(podPaths.poolFile));
  });

  test('mounts the certificate that Envoy shows in both containers, to read, whole', () => {
    for (const { name: container, volumeMounts } of containersOf(gateway)) {
      const found = volumeMounts.filter(({ mountPath }) => mountPath === podPaths.sdsClientDir);
      expect(found, container).toEqual([{ name: 'sds-client', mountPath: podPaths.sdsClientDir, readOnly: true }]);
    }
    const volume = podOf(gateway).volumes.find((one) => one.name === 'sds-client');
    expect(volume?.secret).toMatchObject({ secretName: spec.sds.tls?.clientSecretName, defaultMode: 0o440 });
    expect(volume?.secret?.items.map(({ key }) => key)).toEqual(['tls.crt', 'tls.key', 'ca.crt']);
    const used = new Set(containersOf(gateway).flatMap(({ volumeMounts }) => volumeMounts.map((one) => one.name)));
    expect([...used].sort()).toEqual(
      podOf(gateway)
        .volumes.map((one) => one.name)
        .sort(),
    );
  });

  test('asks for TCP with the Secrets that are mounted, and one client', () => {
    const channel = podOf(servers).volumes.find((one) => one.name === 'channel');
    expect(spec.sds).toMatchObject({
      transport: 'TCP',
      tls: { enabled: true, secretName: channel?.secret?.secretName, insecureSkipVerify: false, allowAnyClient: false },
    });
    expect(spec.sds.tls?.allowedSans).toEqual(['gateway-envoy.egress']);
    const files = [gateway, servers].map((one) => podOf(one).volumes.find(({ configMap }) => configMap)?.configMap);
    expect(files.map((one) => one?.name)).toEqual([filesNameOf(name), filesNameOf(name)]);
  });

  test('lets the pods of the gateway reach the SDS servers, and nobody else', () => {
    const [out, inside] = (['gateway', 'sds'] as const).map((component) =>
      onlyOne(ofKind(ofComponent(built, component), 'NetworkPolicy'), component),
    );
    const ports = [{ protocol: 'TCP', port: sdsPort }];
    expect(out?.spec.egress.at(-1)).toEqual({ to: [{ podSelector: servers.spec.selector }], ports });
    expect(inside?.spec.ingress[0]).toEqual({ from: [{ podSelector: gateway.spec.selector }], ports });
    expect(inside?.spec.podSelector).toEqual(servers.spec.selector);
  });

  test.each([gateway, servers].map((one) => [one.metadata.name, one] as const))(
    'has two pods of %s on different nodes, of which one may be away, confined and without a token',
    (_, deployment) => {
      const pod = podOf(deployment);
      expect(deployment.spec.replicas).toBe(2);
      expect(deployment.spec.template.metadata.labels).toMatchObject(deployment.spec.selector.matchLabels);
      expect(pod.topologySpreadConstraints[0]?.labelSelector).toEqual(deployment.spec.selector);
      const budgets = ofKind(built, 'PodDisruptionBudget').map((one) => one.spec);
      expect(budgets).toContainEqual(
        expect.objectContaining({ maxUnavailable: 1, selector: deployment.spec.selector }),
      );
      expect([pod.automountServiceAccountToken, pod.enableServiceLinks]).toEqual([false, false]);
      const account = ofKind(built, 'ServiceAccount').find(({ metadata }) => metadata.name === pod.serviceAccountName);
      expect(account?.automountServiceAccountToken).toBe(false);
      expect(pod.volumes.filter(({ projected }) => projected !== undefined)).toEqual([]);
      for (const { securityContext } of containersOf(deployment)) {
        expect(securityContext).toEqual({
          ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
        });
      }
    },
  );

  test('gives the controller what it needs besides, by name, and nothing more', () => {
    const roleIn = (part: Part) => onlyOne(ofKind(ofComponent(build(part), 'bounds'), 'Role'), part);
    const [before, after] = [roleIn('controller'), roleIn('controller-tcp')];
    const added = after.rules.map((rule, index) => ({
      ...withoutNames(rule),
      names: (rule.resourceNames ?? []).filter((one) => before.rules[index]?.resourceNames?.includes(one) !== true),
    }));
    expect(added.filter(({ names }) => names.length > 0)).toEqual([
      { apiGroups: [''], resources: ['secrets'], verbs: ['list', 'watch'], names: namesOf(spec.sds.tls) },
      { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get', 'patch'], names: [sdsNameOf(name)] },
    ]);
    expect(after.rules.map(withoutNames)).toEqual(before.rules.map(withoutNames));
    const others = (part: Part) =>
      build(part).filter((one) => one.kind !== 'Role' || one.metadata.name !== after.metadata.name);
    expect(others('controller-tcp')).toEqual(others('controller'));
  });

  describe('with other names in names.yaml', () => {
    const others = {
      namespace: 'team-a',
      gateway: 'way-out-1',
      poolSecret: 'a-pool',
      servingSecret: 'a-certificate',
      signer: 'trust.acme.test/inner',
      bundle: 'outward',
      clusterDomain: 'acme.internal',
      sdsServerSecret: 'asked',
      sdsClientSecret: 'asking',
      sdsClient: 'envoys.acme.test',
    };
    const elsewhere = temp.file('deploy');
    cpSync(deployFolder, elsewhere, { recursive: true });
    const namesFile = join(elsewhere, 'example/names/names.yaml');
    const [names] = readManifests(namesFile);
    writeFileSync(namesFile, stringify({ ...names, data: others }));
    addCertificates(elsewhere);
    const renamed = [...build('controller-tcp', elsewhere), ...build('gateway-tcp', elsewhere)];

    test('has none of the example left', () => {
      const isOfAll = ({ kind }: Manifest): boolean => /^(CustomResourceDefinition|Validating.*)$/.test(kind);
      const left = JSON.stringify(renamed.filter((one) => !isOfAll(one)))
        .replaceAll(
          /"app.kubernetes.io\/component":"gateway"|"egress":|\/etc\/leafgate\/gateway|"--gateway"|"gateway-files"/g,
          '',
        )
        .replaceAll(/"hosts":\["example.com","\*.example.com"\]/g, '');
      expect(left.match(/.{20}(\begress\b|\bgateway\b|example\.com|cluster\.local).{20}/g) ?? []).toEqual([]);
    });

    test('has the others in the object, in both kinds of pods and in the rights', () => {
      const parts = partsOf(renamed);
      expect(parts.object.spec).toMatchObject({
        sds: {
          tls: {
            secretRef: { name: 'asked' },
            clientSecretRef: { name: 'asking' },
            allowedSANs: ['envoys.acme.test'],
          },
        },
      });
      expect(ofComponent(renamed, 'sds').map(({ metadata }) => [metadata.namespace, metadata.name])).toEqual(
        ofComponent(renamed, 'sds').map(() => ['team-a', 'way-out-1-sds']),
      );
      const mounted = (deployment: Deployment) =>
        podOf(deployment).volumes.flatMap(({ secret, configMap }) => secret?.secretName ?? configMap?.name ?? []);
      expect(mounted(parts.servers)).toEqual(['way-out-1-envoy', 'a-pool', 'asked']);
      expect([...mounted(parts.gateway)].sort()).toEqual(['a-certificate', 'asking', 'way-out-1-envoy']);
      const role = onlyOne(ofKind(ofComponent(renamed, 'bounds'), 'Role'), 'Role');
      const ofSecrets = role.rules.find(({ resources }) => resources.includes('secrets'));
      expect(ofSecrets?.resourceNames).toEqual(['a-pool', 'a-certificate', 'asked', 'asking']);
      const ofPods = role.rules.find(({ resources }) => resources.includes('deployments'));
      expect(ofPods?.resourceNames).toEqual(['way-out-1', 'way-out-1-sds']);
    });

    test('has the others in the Certificates, each of which names one side', () => {
      const [authority, client, server] = ofComponent(renamed, 'sds-certificates')
        .filter(({ kind }) => kind === 'Certificate')
        .map((one) => one['spec']);
      expect(server).toMatchObject({ secretName: 'asked', dnsNames: ['way-out-1-sds.team-a.svc.acme.internal'] });
      expect(client).toMatchObject({ secretName: 'asking', dnsNames: ['envoys.acme.test'] });
      expect(authority).toMatchObject({ secretName: 'way-out-1-sds-ca', commonName: 'way-out-1-sds-ca' });
      const issuers = ofComponent(renamed, 'sds-certificates').filter(({ kind }) => kind === 'Issuer');
      expect(issuers.map((one: ApiObject): unknown => [one['metadata'].name, one['spec'].ca?.secretName])).toEqual([
        ['way-out-1-sds-ca', 'way-out-1-sds-ca'],
        ['way-out-1-sds-ca-itself', undefined],
      ]);
      const used = [authority, client, server].map((one) => (one as ApiObject)['issuerRef'].name as string);
      expect(used).toEqual(['way-out-1-sds-ca-itself', 'way-out-1-sds-ca', 'way-out-1-sds-ca']);
    });
  });
});

describeWithControlPlane('a gateway that moves its pool to SDS servers', { tools: ['kubectl'] }, (plane) => {
  let admin: RawApi;
  beforeAll(async () => {
    admin = apiAs(plane(), plane().user('admin'));
    for (const manifest of build('controller-tcp')) await applyManifest(admin, manifest);
    const inPod = build('gateway');
    await waitUntilServed(admin, onlyOne(ofKind(inPod, 'EgressGateway'), 'EgressGateway'));
    for (const manifest of inPod) await applyManifest(admin, manifest);
  });
  afterAll(() => admin.close());

  test('has Certificates that cert-manager knows, every field, where they are asked for', async () => {
    await installCertManager(admin);
    const folder = temp.file('with-certificates');
    cpSync(deployFolder, folder, { recursive: true });
    addCertificates(folder);
    const certificates = ofComponent(build('gateway-tcp', folder), 'sds-certificates');
    expect(certificates).toHaveLength(5);
    for (const manifest of certificates) await applyManifest(admin, manifest);
  });

  const stored = async (manifests: readonly Manifest[]): Promise<readonly object[]> =>
    Promise.all(manifests.map(async (one) => specOf(mustSucceed(await admin.get(apiPath(one))))));

  test('is taken as it is, every field known, its pods within the restricted profile', async () => {
    for (const manifest of build('gateway-tcp')) await applyManifest(admin, manifest);
  });

  test('has nothing left of the pool, and comes back to what it was', async () => {
    const [inPod, byTcp] = [build('gateway'), build('gateway-tcp')];
    for (const manifest of inPod) await applyManifest(admin, manifest);
    const first = await stored(inPod);
    for (const manifest of byTcp) await applyManifest(admin, manifest);
    const { gateway } = partsOf(byTcp);
    const moved = mustSucceed(await admin.get(apiPath(gateway)))['spec'].template.spec;
    expect(volumeNames(moved as ApiObject)).toEqual(
      podOf(gateway)
        .volumes.map(({ name }) => name)
        .sort(),
    );
    for (const manifest of inPod) await applyManifest(admin, manifest);
    expect(await stored(inPod)).toEqual(first);
  });
});

/** as the comment in the example says */
function addCertificates(folder: string): void {
  const file = join(folder, 'example/gateway-tcp/kustomization.yaml');
  const [kustomization] = readManifests(file);
  const components = [...(kustomization?.['components'] as readonly string[]), '../../sds-certificates'];
  writeFileSync(file, stringify({ ...kustomization, components }));
}

function volumeNames(pod: ApiObject): readonly string[] {
  return (pod['volumes'] as readonly { readonly name: string }[]).map(({ name }) => name).sort();
}

function specOf({ spec }: ApiObject): object {
  return spec as object;
}

function partsOfGateway(manifests: readonly Manifest[]) {
  return { object: onlyOne(ofKind(manifests, 'EgressGateway'), 'EgressGateway') };
}

function idOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.name}`;
}

function withoutNames({ apiGroups, resources, verbs }: Rule): object {
  return { apiGroups, resources, verbs };
}

function namesOf(
  tls: { readonly secretName: string | undefined; readonly clientSecretName: string | undefined } | undefined,
) {
  return [tls?.secretName, tls?.clientSecretName];
}

// What must be true of the pods that deploy/ ships, whoever edits them.
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseEgressGateway } from '../../../src/settings/egress-gateway.ts';
import { filesNameOf, podPaths } from '../../../src/settings/pod-layout.ts';
import { quantitySettings } from '../../../src/settings/quantity-settings.ts';
import type { Container, Deployment, Volume } from '../../support/manifest-types.ts';
import { envoyCommand, healthPort, sidecarCommand } from '../../support/pod-world.ts';
import { onlyOne, shippedManifest } from '../../support/shipped-manifests.ts';

const controller = shippedManifest('controller', 'Deployment');
const gateway = shippedManifest('gateway', 'Deployment');
const egressGateway = shippedManifest('gateway', 'EgressGateway');

const podOf = (deployment: Deployment) => deployment.spec.template.spec;
const containersOf = (deployment: Deployment): readonly Container[] => [
  ...(podOf(deployment).initContainers ?? []),
  ...podOf(deployment).containers,
];
const sidecar = onlyOne(podOf(gateway).initContainers ?? [], 'sidecar');
const envoy = onlyOne(podOf(gateway).containers, 'container');
const volumeOf = (deployment: Deployment, wanted: string): Volume =>
  onlyOne(
    podOf(deployment).volumes.filter(({ name }) => name === wanted),
    wanted,
  );
const pods = [
  ['controller', controller],
  ['gateway', gateway],
] as const;
const containers = pods.flatMap(([name, deployment]) =>
  containersOf(deployment).map((container) => [`${name}/${container.name}`, container] as const),
);
const mountsOf = ({ volumeMounts }: Container): readonly string[] => volumeMounts.map(({ name }) => name);
const bytes = (text = ''): number => {
  const [, number = '', unit = ''] = /^(\d+)([MG]i)$/.exec(text) ?? [];
  return Number(number) * (unit === 'Gi' ? 1024 : 1) * 1024 * 1024;
};
const seconds = (text: string): number => Number(/^(\d+)s$/.exec(text)?.[1]);

describe.each(pods)('a pod of the %s', (_, deployment) => {
  const pod = podOf(deployment);

  test('runs as one numbered user that is not root, under the runtime’s seccomp profile', () => {
    expect(pod.securityContext).toEqual({
      ...{ runAsNonRoot: true, runAsUser: 65_532, runAsGroup: 65_532, fsGroup: 65_532 },
      seccompProfile: { type: 'RuntimeDefault' },
    });
    for (const field of ['hostNetwork', 'hostPID', 'hostIPC', 'shareProcessNamespace'])
      expect(pod).not.toHaveProperty(field);
  });

  test('gets no token by itself, and no variable from a Service that happens to be named leafgate', () => {
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(pod.enableServiceLinks).toBe(false);
  });

  test('has volumes that pod security allows, each used, none by a part that would never change', () => {
    const used = new Set(containersOf(deployment).flatMap(mountsOf));
    expect([...used].sort()).toEqual(pod.volumes.map(({ name }) => name).sort());
    for (const { name, ...kind } of pod.volumes)
      expect(['configMap', 'secret', 'emptyDir', 'projected'], name).toContain(Object.keys(kind)[0]);
    for (const { volumeMounts } of containersOf(deployment))
      for (const mount of volumeMounts) expect(mount).not.toHaveProperty('subPath');
  });

  test('has two replicas on different nodes, of which one may be away', () => {
    const folder = deployment === controller ? 'controller' : 'gateway';
    expect(deployment.spec.replicas).toBe(2);
    expect(pod.topologySpreadConstraints[0]?.labelSelector).toEqual(deployment.spec.selector);
    const { spec } = shippedManifest(folder, 'PodDisruptionBudget');
    expect(spec).toMatchObject({ maxUnavailable: 1, selector: deployment.spec.selector });
    expect(deployment.spec.template.metadata.labels).toMatchObject(deployment.spec.selector.matchLabels);
  });
});

describe.each(containers)('the container %s', (_, container) => {
  test('may write nothing of its image, gain no rights and has none', () => {
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });

  test('asks for memory and CPU, and is bounded in memory but not in CPU', () => {
    const { requests, limits } = container.resources;
    expect(Object.keys(requests)).toEqual(['cpu', 'memory']);
    expect(bytes(limits.memory)).toBeGreaterThan(bytes(requests.memory));
    expect(limits).not.toHaveProperty('cpu');
  });

  test('names its image by a version', () => {
    expect(container.image).toMatch(/^[a-z]+(\/[a-z]+)?:[a-z0-9.-]+$/);
    expect(container.image).not.toMatch(/:latest$/);
    expect(container).not.toHaveProperty('imagePullPolicy');
  });
});

test('the image of leafgate is that of the package, everywhere', () => {
  const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  const images = containers.map(([, { image }]) => image).filter((image) => image.startsWith('leafgate'));
  expect(images).toEqual([`leafgate:${version}`, `leafgate:${version}`]);
  for (const { metadata, spec } of [controller, gateway]) {
    expect(metadata.labels?.['app.kubernetes.io/version']).toBe(version);
    expect(spec.template.metadata.labels['app.kubernetes.io/version']).toBe(version);
  }
});

describe('the controller', () => {
  const container = onlyOne(podOf(controller).containers, 'container');

  test('gets a token of an hour in the usual place, and no Secret', () => {
    const { name, projected } = volumeOf(controller, 'api-access');
    expect(projected?.sources[0]?.serviceAccountToken).toEqual({ path: 'token', expirationSeconds: 3600 });
    expect(projected?.sources.flatMap((source) => Object.keys(source))).toEqual([
      'serviceAccountToken',
      'configMap',
      'downwardAPI',
    ]);
    expect(container.volumeMounts).toEqual([
      { name, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount', readOnly: true },
    ]);
    expect(shippedManifest('controller', 'ServiceAccount').automountServiceAccountToken).toBe(false);
  });

  test('is started as the image starts it, but with flags of its own', () => {
    const dockerfile = readFileSync(new URL('../../../Dockerfile', import.meta.url), 'utf8');
    const entrypoint = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(dockerfile)?.[1] ?? '') as readonly string[];
    const withoutFlags = (command: readonly string[] = []) => command.filter((word) => !word.startsWith('--'));
    expect(withoutFlags(container.command)).toEqual(withoutFlags(entrypoint));
    expect(container.command).toHaveLength(4);
  });

  test('is asked on its health port whether it lives and is ready, and listens on no other', () => {
    expect(container.ports).toEqual([{ name: 'health', containerPort: 8081 }]);
    expect(container.args).toContain('--metrics=0.0.0.0:8081');
    expect(container.livenessProbe?.httpGet).toEqual({ path: '/livez', port: 'health' });
    expect(container.readinessProbe?.httpGet).toEqual({ path: '/readyz', port: 'health' });
  });

  test('keeps its heap well below its memory limit, which is small', () => {
    const heapMiB = Number(/^--max-old-space-size=(\d+)$/.exec(container.env?.[0]?.value ?? '')?.[1]);
    const limit = bytes(container.resources.limits.memory) / 1024 / 1024;
    expect(limit).toBeLessThanOrEqual(384);
    expect(heapMiB).toBeLessThanOrEqual(limit * 0.6);
  });

  test('can be reached by nobody but who gathers metrics', () => {
    const { spec } = shippedManifest('controller', 'NetworkPolicy');
    expect(spec).toEqual({
      podSelector: {},
      policyTypes: ['Ingress'],
      ingress: [
        {
          from: [{ namespaceSelector: { matchLabels: { metrics: 'enabled' } } }],
          ports: [{ protocol: 'TCP', port: 8081 }],
        },
      ],
    });
  });
});

describe('the gateway', () => {
  test('is described by an object that the controller reads, with the ports, the memory and the drain of the pods', () => {
    const reading = parseEgressGateway(egressGateway);
    if (reading.kind === 'refused') throw reading.problems[0];
    const { spec } = reading.gateway;
    expect(spec.gateway).toMatchObject({ listenPort: 3128, listenTlsPort: 3129, drainMs: 25_000 });
    expect(spec.gateway.maxMemoryBytes).toBe(bytes(envoy.resources.limits.memory));
    expect(spec.deploymentName).toBe(gateway.metadata.name);
    expect(volumeOf(gateway, 'gateway-files').configMap?.name).toBe(filesNameOf(reading.gateway.name));
  });

  test('has its volumes where the rendered files look for them', () => {
    const placesOf = ({ volumeMounts }: Container) =>
      Object.fromEntries(volumeMounts.map(({ name, mountPath }) => [name, mountPath]));
    const ofBoth = {
      'gateway-files': podPaths.gatewayDir,
      serving: podPaths.servingDir,
      // below it is the folder that the sidecar makes for itself and Envoy
      sockets: dirname(dirname(podPaths.sdsSocket)),
      'access-log': dirname(podPaths.accessLog),
    };
    expect(placesOf(envoy)).toEqual(ofBoth);
    expect(placesOf(sidecar)).toEqual({ ...ofBoth, 'ca-pool': dirname(podPaths.poolFile) });
  });

  test('has no token, and an account without rights', () => {
    expect(podOf(gateway).volumes.every(({ projected }) => projected === undefined)).toBe(true);
    const account = shippedManifest('gateway', 'ServiceAccount');
    expect(account.automountServiceAccountToken).toBe(false);
    expect(podOf(gateway).serviceAccountName).toBe(account.metadata.name);
  });

  test('has the CA pool in the sidecar alone, the key `pool` of it alone, readable for the group alone', () => {
    const { secretName } = egressGateway.spec.caPool;
    const volume = onlyOne(
      podOf(gateway).volumes.filter(({ secret }) => secret?.secretName === secretName),
      secretName,
    );
    expect(volume.secret).toEqual({ secretName, defaultMode: 0o440, items: [{ key: 'pool', path: 'pool' }] });
    expect(mountsOf(sidecar)).toContain(volume.name);
    expect(mountsOf(envoy)).not.toContain(volume.name);
  });

  test('has the serving Secret where the files point to, without a key that is not meant', () => {
    const { secret } = volumeOf(gateway, 'serving');
    expect(secret?.secretName).toBe(egressGateway.spec.servingTLS.secretName);
    expect(secret?.items.map(({ key }) => key)).toEqual(['tls.crt', 'tls.key']);
  });

  test('mounts what its sidecar writes, and nothing else, to be written; sockets in memory', () => {
    for (const container of [sidecar, envoy]) {
      const writable = container.volumeMounts.filter(({ readOnly }) => readOnly !== true);
      expect(writable.map(({ name, mountPath }) => [name, mountPath])).toEqual([
        ['sockets', '/run/leafgate'],
        ['access-log', '/var/log/leafgate'],
      ]);
    }
    expect(volumeOf(gateway, 'sockets').emptyDir?.medium).toBe('Memory');
    // what is kept, and as much again while it is rotated
    expect(bytes(volumeOf(gateway, 'access-log').emptyDir?.sizeLimit)).toBeGreaterThan(
      2 * quantitySettings.keepRecords.default,
    );
    expect(bytes(sidecar.resources.limits['ephemeral-storage'])).toBeGreaterThan(
      bytes(volumeOf(gateway, 'access-log').emptyDir?.sizeLimit),
    );
  });

  test('has the SDS server as a native sidecar: before Envoy, after Envoy', () => {
    expect(sidecar.restartPolicy).toBe('Always');
    expect(sidecar.args.slice(0, 3)).toEqual(['sds', '--gateway', '/etc/leafgate/gateway']);
    expect(sidecar.startupProbe?.httpGet).toEqual({ path: '/livez', port: 'health' });
    expect(sidecar.livenessProbe?.httpGet).toEqual({ path: '/livez', port: 'health' });
    expect(sidecar.readinessProbe?.httpGet).toEqual({ path: '/readyz', port: 'health' });
    expect(envoy.livenessProbe?.tcpSocket).toEqual({ port: 'proxy' });
    expect(sidecar.ports).toEqual([{ name: 'health', containerPort: 8081 }]);
  });

  test('lets connections finish for as long as the object says, and has time left after it', () => {
    const drain = seconds(egressGateway.spec.limits.drain);
    expect(podOf(gateway).terminationGracePeriodSeconds).toBeGreaterThanOrEqual(drain + 20);
    expect(Number(envoy.args[envoy.args.indexOf('--drain-time-s') + 1])).toBeLessThan(drain);
    expect(envoy.lifecycle?.preStop).toEqual({ httpGet: { path: '/drained', port: 8081 } });
    const drainCommand = ['drain', '--gateway', '/etc/leafgate/gateway'];
    expect(sidecar.lifecycle?.preStop).toEqual({
      exec: { command: ['/usr/local/bin/node', '/app/dist/main.js', ...drainCommand] },
    });
  });

  test('starts both as the tests of a pod do', () => {
    const [, , ...asSidecar] = sidecarCommand();
    expect(sidecar.args).toEqual(asSidecar);
    const [, ...asEnvoy] = envoyCommand('envoy');
    const alike = (args: readonly string[]) => args.toSpliced(args.indexOf('--concurrency'), 2).sort();
    expect(alike(envoy.args)).toEqual(alike(asEnvoy));
    expect(sidecar.args).toContain(`--metrics=0.0.0.0:${healthPort}`);
  });

  test('bounds Envoy by what the object says of its memory', () => {
    expect(envoy.resources.limits.memory).toBe(egressGateway.spec.limits.maxMemory);
  });

  test('is an Envoy that can follow the files: 1.40, without a shell', () => {
    expect(envoy.image).toBe('envoyproxy/envoy:distroless-v1.40.0');
    expect(envoy.args.slice(0, 2)).toEqual(['--config-path', '/etc/leafgate/gateway/bootstrap.yaml']);
  });

  test('has the same two ports in the object, the container, the Service and the policy', () => {
    const { port, tlsPort } = egressGateway.spec.listener;
    const ports = [port, tlsPort];
    expect(envoy.ports.map(({ containerPort }) => containerPort)).toEqual(ports);
    const { spec: service } = shippedManifest('gateway', 'Service');
    expect(service.ports.map((entry) => entry.port)).toEqual(ports);
    expect(service.ports.map((entry) => entry.targetPort)).toEqual(['proxy', 'proxy-tls']);
    const { spec: policy } = shippedManifest('gateway', 'NetworkPolicy');
    expect(policy.ingress[0]?.ports.map((entry) => entry.port)).toEqual(ports);
    const { matchLabels } = gateway.spec.selector;
    expect([service.selector, policy.podSelector.matchLabels]).toEqual([matchLabels, matchLabels]);
  });

  test('is reached by namespaces of actors alone, and reaches no metadata service', () => {
    const { spec } = shippedManifest('gateway', 'NetworkPolicy');
    expect(spec.policyTypes).toEqual(['Ingress', 'Egress']);
    expect(spec.ingress.map(({ from }) => from)).toEqual([
      [{ namespaceSelector: { matchLabels: { 'leafgate.dev/actors': 'allowed' } } }],
      [{ namespaceSelector: { matchLabels: { metrics: 'enabled' } } }],
    ]);
    const [names, origins, ...more] = spec.egress;
    expect(more).toEqual([]);
    expect(names?.ports.map(({ port }) => port)).toEqual([53, 53]);
    const [v4, v6] = (origins?.to ?? []).map(({ ipBlock }) => ipBlock.except);
    expect(v4).toEqual(expect.arrayContaining(['169.254.0.0/16', '168.63.129.16/32']));
    expect(v6).toEqual(expect.arrayContaining(['fe80::/10', 'fd00:ec2::254/128']));
  });
});

// What must be true of the SDS servers that deploy/ ships for a gateway whose pods have no pool, whoever edits them.
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { maxUnfinishedBytes } from '../../../src/sds/grpc-connection.ts';
import {
  defaultSdsSettings,
  maxTcpConnections,
  unfinishedBytesOfEach,
  unfinishedConnections,
} from '../../../src/sds/sds-settings.ts';
import { filesNameOf, podPaths, sdsNameOf, sdsPort } from '../../../src/settings/pod-layout.ts';
import { onlyOne, shippedManifest } from '../../support/shipped-manifests.ts';

const deployment = shippedManifest('sds', 'Deployment');
const gateway = shippedManifest('gateway', 'Deployment');
const egressGateway = shippedManifest('gateway', 'EgressGateway');
const pod = deployment.spec.template.spec;
const server = onlyOne(pod.containers, 'container');
/** a process of Node's beside its heap: code, stacks, OpenSSL */
const nodeItselfMiB = 64;
const name = sdsNameOf(egressGateway.metadata.name);

test('are named as the controller and Envoy look for them, on the one port', () => {
  const service = shippedManifest('sds', 'Service');
  expect([deployment, service].map(({ metadata }) => metadata.name)).toEqual([name, name]);
  expect(service.spec.ports.map(({ port }) => port)).toEqual([sdsPort]);
  expect(server.ports[0]).toEqual({ name: 'sds', containerPort: sdsPort });
  expect(server.args.slice(0, 5)).toEqual([
    'sds',
    '--gateway',
    podPaths.gatewayDir,
    '--listen',
    `tcp:0.0.0.0:${sdsPort}`,
  ]);
});

test('mount files, pool and certificate where the rendered files look for them, to read', () => {
  expect(server.volumeMounts).toEqual([
    { name: 'gateway-files', mountPath: podPaths.gatewayDir, readOnly: true },
    { name: 'ca-pool', mountPath: dirname(podPaths.poolFile), readOnly: true },
    { name: 'channel', mountPath: podPaths.sdsServerDir, readOnly: true },
  ]);
  const [files, pool, channel] = pod.volumes;
  expect(files?.configMap?.name).toBe(filesNameOf(egressGateway.metadata.name));
  expect(pool?.secret?.secretName).toBe(egressGateway.spec.caPool.secretName);
  expect(pool?.secret?.items).toEqual([{ key: 'pool', path: 'pool' }]);
  expect(channel?.secret?.items.map(({ key }) => key)).toEqual(['tls.crt', 'tls.key', 'ca.crt']);
});

test('are as confined as the gateway, without a token', () => {
  const sidecar = onlyOne(gateway.spec.template.spec.initContainers ?? [], 'sidecar');
  expect(pod.securityContext).toEqual(gateway.spec.template.spec.securityContext);
  expect(server.securityContext).toEqual(sidecar.securityContext);
  expect([pod.automountServiceAccountToken, pod.enableServiceLinks]).toEqual([false, false]);
  expect(server.image).toBe(sidecar.image);
});

test('have room beside their heap for all that clients may begin and not end', () => {
  const mebibytes = (pattern: RegExp, text = '') => Number(pattern.exec(text)?.[1]);
  const heap = mebibytes(/^--max-old-space-size=(\d+)$/, server.env?.[0]?.value);
  const limit = mebibytes(/^(\d+)Mi$/, server.resources.limits.memory);
  const shared = unfinishedConnections * maxUnfinishedBytes(defaultSdsSettings);
  const unfinished = (shared + maxTcpConnections * unfinishedBytesOfEach) / 1024 / 1024;
  expect(limit).toBeGreaterThan(heap + unfinished + nodeItselfMiB);
});

test('are two, of which one may be away, each reached by the pods of the gateway alone', () => {
  expect(deployment.spec.replicas).toBe(2);
  const { matchLabels } = deployment.spec.selector;
  expect(deployment.spec.template.metadata.labels).toMatchObject(matchLabels);
  expect(shippedManifest('sds', 'PodDisruptionBudget').spec).toMatchObject({
    ...{ maxUnavailable: 1, selector: deployment.spec.selector },
  });
  const { spec } = shippedManifest('sds', 'NetworkPolicy');
  expect(spec.podSelector.matchLabels).toEqual(matchLabels);
  expect(spec.ingress[0]).toEqual({
    from: [{ podSelector: gateway.spec.selector }],
    ports: [{ protocol: 'TCP', port: sdsPort }],
  });
  // with no rule for what goes out, nothing does
  expect(spec.policyTypes).toEqual(['Ingress', 'Egress']);
  expect(spec).not.toHaveProperty('egress');
});

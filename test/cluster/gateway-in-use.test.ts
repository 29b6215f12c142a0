// End to end in use: an EgressGateway on a real API server, the controller's ConfigMap and bundle, and from them a pod with a real
// Envoy and its sidecar at the real places. Clients trust by the published bundle; a change of the object is live.
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import {
  applyDeployment,
  applyGateway,
  applySecret,
  createControllerWorld,
  newPool,
  secretPath,
  waitForBundle,
  waitForReason,
  type ControllerWorld,
} from '../support/cluster/controller-world.ts';
import { mountObjects } from '../support/cluster/mounted-objects.ts';
import { mustSucceed, type ApiObject } from '../support/cluster/raw-api.ts';
import { gatewaysIn } from '../support/cluster/install-egress-gateways.ts';
import { caPem, issueCredential, makeCurrentCa } from '../support/credential-workshop.ts';
import {
  envoyCommand,
  healthPort,
  originAddress,
  podAddress,
  sidecarCommand,
  startOrigin,
  startPodWorld,
  whyNoPodWorld,
  type PodWorld,
} from '../support/pod-world.ts';
import type { CommandResult, StartedProcess } from '../support/run-command.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { findTool } from '../support/tools.ts';
import { waitFor } from '../support/wait-for.ts';
import { epoch, hours, minus } from '../../src/clock.ts';

const hosts = ['api.example.com', 'later.example.com', 'third.example.com'];
const tools = ['envoy-1.40.0', 'curl', 'ip', 'nsenter'] as const;

describeWithControlPlane('a gateway in use', { tools }, (plane) => {
  const reason = whyNoPodWorld();
  if (reason !== undefined) {
    test.skip(`skipped: ${reason}`, () => undefined);
    return;
  }
  const [envoy = '', curl = ''] = tools.map((name) => findTool(name).path);
  const temp = createTempFolder();
  const servingCa = makeCurrentCa('serving');
  let world: ControllerWorld;
  let pod: PodWorld;
  let mount: () => Promise<void>;
  let sidecar: StartedProcess;
  let proxy: StartedProcess;
  let names: readonly string[];

  const spec = (allowed: readonly string[]): ApiObject => ({
    servingTLS: { secretName: 'serving' },
    origins: { caBundleRef: { name: 'roots' } },
    listener: { tlsPort: 3129 },
    destinations: { resolve: hosts.map((host) => ({ host, port: 443, address: originAddress })) },
    policy: { default: 'deny', rules: [{ name: 'allowed', hosts: allowed, verdict: 'intercept' }] },
  });
  const applyRoots = async (pem: string): Promise<void> => {
    const metadata = { name: 'roots', namespace: world.namespace };
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'ca.crt': pem } };
    mustSucceed(await world.admin.apply(`/api/v1/namespaces/${world.namespace}/configmaps/roots`, object));
  };
  const applyServing = async (request: Parameters<typeof issueCredential>[1] = {}): Promise<void> => {
    const { certificatePem, keyPem } = issueCredential(servingCa, {
      dnsNames: names,
      purposes: ['server'],
      ...request,
    });
    await applySecret(world, 'serving', { 'tls.crt': certificatePem, 'tls.key': keyPem }, 'kubernetes.io/tls');
  };
  const filesPath = (): string => `/api/v1/namespaces/${world.namespace}/configmaps/gw-envoy`;
  const fetchThrough = (proxyArgs: readonly string[], host: string): Promise<CommandResult> =>
    pod.run([
      ...[curl, '-sS', '--max-time', '10', '--cacert', temp.file('bundle.pem'), ...proxyArgs],
      ...['-w', ' %{http_code} %{http_connect}', `https://${host}/`],
    ]);
  const clear = ['--proxy', `http://${podAddress}:3128`];
  const overTls = (ca: string): readonly string[] => [
    ...['--proxy', `https://${names[0] ?? ''}:3129`, '--proxy-cacert', temp.file(ca)],
    ...['--resolve', `${names[0] ?? ''}:3129:${podAddress}`],
  ];
  const health = async (path: string): Promise<string> =>
    (await pod.run([curl, '-sS', '--max-time', '10', `http://${podAddress}:${healthPort}${path}`])).stdout;
  /** the kubelet's rounds go on meanwhile */
  const until = (what: string, isSo: () => Promise<boolean>): Promise<unknown> =>
    waitFor(what, async () => (await mount(), isSo()), 30_000);

  beforeAll(async () => {
    world = await createControllerWorld(plane());
    pod = await startPodWorld(temp);
    writeFileSync(temp.file('serving-ca.pem'), caPem(servingCa));
    writeFileSync(temp.file('other-ca.pem'), caPem(makeCurrentCa('other')));
    await applyDeployment(world);
    mount = mountObjects(world.admin, [
      { volume: pod.files, path: filesPath() },
      { volume: pod.pool, path: secretPath(world, 'pool'), keys: ['pool'] },
      { volume: pod.serving, path: secretPath(world, 'serving') },
    ]);
    await world.start();
  }, 90_000);
  afterAll(async () => {
    await pod.stop();
    await world.close();
    temp.remove();
  });

  test('has no files before all that its pods need is good, and says for what it waits', async () => {
    await applyGateway(world, 'gw', spec(['api.example.com']));
    await waitForReason(world, 'CAPoolReady', 'NotFound');
    const { body } = await world.admin.get(`${gatewaysIn(world.namespace)}/gw`);
    names = body?.['status'].servingTLS.requiredDNSNames as readonly string[];
    expect(names[0]).toBe(`gw.${world.namespace}.svc`);
    expect((await world.admin.get(filesPath())).status).toBe(404);
    await applySecret(world, 'pool', { pool: newPool() }, 'Opaque');
    await waitForReason(world, 'CAPoolReady', 'Ready');
    await waitForReason(world, 'ServingTLSSecretReady', 'TLSSecretNotFound');
    expect((await world.admin.get(filesPath())).status).toBe(404);
  });

  test('serves from them once it is: clients trust by the published bundle, and the proxy by its own CA', async () => {
    await applyServing();
    await applyRoots(caPem(await startOrigin(pod, temp, hosts)));
    await waitForReason(world, 'Ready', 'Ready');
    const bundle = await waitForBundle(world);
    writeFileSync(temp.file('bundle.pem'), String(bundle['spec'].trustBundle));
    expect(JSON.stringify((await world.admin.get(filesPath())).body)).not.toMatch(/PRIVATE KEY|SigningKey/);
    await mount();
    sidecar = pod.start(sidecarCommand());
    await until('the sidecar', async () => (await health('/livez')) === 'live\n');
    proxy = pod.start(envoyCommand(envoy));
    await until('the pod', async () => (await health('/readyz')) === 'ready\n').catch((error: unknown) => {
      throw new Error(`${sidecar.stderr()}\n${proxy.stderr()}`, { cause: error });
    });
    expect((await fetchThrough(clear, 'api.example.com')).stdout).toMatch(/^secure api\.example\.com.* 200 200$/);
    expect((await fetchThrough(overTls('serving-ca.pem'), 'api.example.com')).stdout).toMatch(/ 200 200$/);
    expect(await fetchThrough(overTls('other-ca.pem'), 'api.example.com')).toMatchObject({ status: 60 });
    const blind = await pod.run([curl, '-sS', ...clear, 'https://api.example.com/']);
    expect(blind).toMatchObject({ status: 60 });
  });

  test('a rule in the object is live in Envoy without a restart, and what is open stays', async () => {
    const trust = ['--cacert', temp.file('bundle.pem')];
    const open = pod.start([curl, '-sS', '-N', ...clear, ...trust, 'https://api.example.com/for/8000']);
    await open.waitForOutput(/begun/);
    expect((await fetchThrough(clear, 'later.example.com')).stdout).toMatch(/ 000 403$/);
    await applyGateway(world, 'gw', spec(['api.example.com', 'later.example.com']));
    const isLive = async (): Promise<boolean> =>
      / 200 200$/.test((await fetchThrough(clear, 'later.example.com')).stdout);
    await until('the rule', isLive);
    expect(await open.exited).toMatchObject({ status: 0 });
    expect(open.stdout()).toMatch(/^begun\nsecure api/);
  });

  test('a serving certificate and roots that are no good are said, and hold no rule back', async () => {
    await applyServing({ notAfter: minus(epoch(Date.now()), hours(1)), notBefore: minus(epoch(Date.now()), hours(2)) });
    await waitForReason(world, 'ServingTLSSecretReady', 'TLSSecretExpired');
    await applyRoots('-----BEGIN CERTIFICATE-----\nbroken\n-----END CERTIFICATE-----\n');
    await waitForReason(world, 'OriginCABundleResolved', 'InvalidCABundle');
    await applyGateway(world, 'gw', spec(hosts));
    await until('the rule', async () => / 200 200$/.test((await fetchThrough(clear, 'third.example.com')).stdout));
    await until('the word of the sidecar', async () => /^ready\n- .*expired/.test(await health('/readyz')));
  });
});

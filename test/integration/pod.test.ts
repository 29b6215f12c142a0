// A gateway's pod from the rendered files: a real Envoy and `leafgate sds --gateway` on one pool, at the real places, with
// volumes that change as a kubelet changes them. What is live is live without a restart, and what is bad leaves what was good.
import { randomBytes, X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { epoch, hours } from '../../src/clock.ts';
import { renderGateway } from '../../src/controller/render-gateway.ts';
import { createPool } from '../../src/pool/create-pool.ts';
import { parsePool } from '../../src/pool/parse-pool.ts';
import type { EgressGateway } from '../../src/settings/egress-gateway-types.ts';
import { parseCidrSetting, parseHostPatternSetting, parseResolveOverride } from '../../src/settings/parse-targets.ts';
import type { MadeCa } from '../support/ca-workshop.ts';
import { caPem, issueCredential, makeCurrentCa } from '../support/credential-workshop.ts';
import { describeWithMachine } from '../support/describe-with-tools.ts';
import { policyOf, wholeEgressGateway } from '../support/egress-gateway.ts';
import type { MountedVolume } from '../support/mounted-volume.ts';
import {
  envoyCommand,
  healthPort,
  originAddress,
  podAddress,
  serviceAddress,
  sidecarCommand,
  startOrigin,
  startPodWorld,
  whyNoPodWorld,
  type PodWorld,
} from '../support/pod-world.ts';
import type { CommandResult, StartedProcess } from '../support/run-command.ts';
import { mainScript } from '../support/gateway-under-test.ts';
import { anchorPem } from '../support/sds-under-test.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { waitFor } from '../support/wait-for.ts';

const actor = 'spiffe://cluster.local/ns/agents/sa/builder';
const names = ['api.example.com', 'later.example.com', 'actors.example.com', 'rooted.example.com'];
const partnerName = 'mtls.example.com';
const partnerHost = parseHostPatternSetting(partnerName, 'hosts');
const firstPolicy = `default: deny
rules:
  - { name: partner, hosts: [${partnerName}], verdict: intercept }
  - { name: apis, hosts: [api.example.com, rooted.example.com], verdict: intercept }
  - { name: back, hosts: [back.example.com, 10.77.0.0/24], verdict: intercept }
  - { name: builders, hosts: [actors.example.com], actors: ["${actor}"], verdict: intercept }
`;
const serviceName = 'gateway.egress.svc';

const needs = { tools: ['envoy-1.40.0', 'curl', 'ip', 'nsenter'], whyNot: whyNoPodWorld } as const;

describeWithMachine("the pod of a gateway's Deployment", needs, ({ 'envoy-1.40.0': envoy, curl }) => {
  const temp = createTempFolder();
  const servingCa = makeCurrentCa('serving');
  const clientsCa = makeCurrentCa('clients');
  let world: PodWorld;
  let sidecar: StartedProcess;
  let proxy: StartedProcess;
  let originCa: string;
  let partner: MountedVolume;
  const roots = { origins: '', clients: caPem(clientsCa) };

  const gatewayWith = (policyText: string): EgressGateway =>
    wholeEgressGateway({
      spec: {
        ...policyOf(policyText),
        origins: { caBundle: undefined, clientCertificates: [{ hosts: [partnerHost], secretName: 'partner' }] },
      },
      gateway: {
        allowDestinations: [parseCidrSetting('10.0.0.0/8', 'destinations.allow')],
        resolve: [
          ...names.map((name) => parseResolveOverride(`${name}:443:${originAddress}`)),
          parseResolveOverride(`${partnerName}:8443:${originAddress}`),
          parseResolveOverride(`back.example.com:3128:${serviceAddress}`),
        ],
      },
    });
  const bring = (policyText: string): void => {
    const gateway = gatewayWith(policyText);
    world.files.update(renderGateway({ gateway, originRootsPem: roots.origins, clientRootsPem: roots.clients }).data);
  };
  const showServing = (...dnsNames: readonly string[]): void => {
    const { certificatePem, keyPem } = issueCredential(servingCa, { dnsNames, purposes: ['server'] });
    world.serving.update({ 'tls.crt': certificatePem, 'tls.key': keyPem });
  };
  const showToPartner = (): string => {
    const { certificatePem, keyPem } = issueCredential(clientsCa, { purposes: ['client'] });
    partner.update({ 'tls.crt': certificatePem, 'tls.key': keyPem });
    return new X509Certificate(certificatePem).serialNumber;
  };
  const fetchThrough = (proxyArgs: readonly string[], host = 'api.example.com'): Promise<CommandResult> =>
    world.run([
      ...[curl, '-sS', '--max-time', '10', '--cacert', temp.file('anchors.pem'), ...proxyArgs],
      ...['-w', ' %{http_code} %{http_connect}', `https://${host}/`],
    ]);
  const clear = ['--proxy', `http://${podAddress}:3128`];
  const overTls = (ca = 'serving-ca.pem'): readonly string[] => [
    ...['--proxy', `https://${serviceName}:3129`, '--proxy-cacert', temp.file(ca)],
    ...['--resolve', `${serviceName}:3129:${podAddress}`],
  ];
  const held = (path: string): StartedProcess => {
    const trust = ['--cacert', temp.file('anchors.pem')];
    return world.start([curl, '-sS', '-N', ...clear, ...trust, `https://api.example.com${path}`]);
  };
  const health = async (path: string): Promise<string> =>
    (await world.run([curl, '-sS', '--max-time', '40', `http://${podAddress}:${healthPort}${path}`])).stdout;
  /** with what both containers have said, where it does not come */
  const until = async (what: string, isSo: () => Promise<boolean>): Promise<void> => {
    await waitFor(what, isSo, 20_000).catch((error: unknown) => {
      throw new Error(`no ${what}\n${sidecar.stderr()}\n${proxy.stderr()}`, { cause: error });
    });
  };

  beforeAll(async () => {
    world = await startPodWorld(temp);
    const now = epoch(Date.now());
    const pool = createPool({ now, randomBytes }).reveal();
    world.pool.update({ pool });
    const terms = { source: 'pool', now, allowEd25519: false, shortestLeafMs: hours(1) };
    writeFileSync(temp.file('anchors.pem'), anchorPem(parsePool(pool, terms)));
    writeFileSync(temp.file('serving-ca.pem'), caPem(servingCa));
    writeFileSync(temp.file('other-ca.pem'), caPem(clientsCa));
    originCa = caPem(await startOrigin(world, temp, [...names, partnerName]));
    roots.origins = originCa;
    showServing(serviceName);
    partner = world.originCertificate('partner');
    showToPartner();
    bring(firstPolicy);
    sidecar = world.start(sidecarCommand());
    await waitFor('the sidecar to be live', async () => (await health('/livez')) === 'live\n', 20_000);
    expect(await health('/readyz')).toMatch(/^not ready\n- Envoy does not answer/);
    proxy = world.start(envoyCommand(envoy));
    await until('the pod to be ready', async () => (await health('/readyz')) === 'ready\n');
  }, 90_000);
  afterAll(async () => {
    await world.stop();
    temp.remove();
  });

  test('serves those who have the anchors of its pool', async () => {
    expect((await fetchThrough(clear)).stdout).toMatch(/^secure api\.example\.com.* 200 200$/);
    const without = await world.run([curl, '-sS', ...clear, 'https://api.example.com/']);
    expect(without).toMatchObject({ status: 60 });
  });

  test('speaks TLS with the serving certificate, which its CA verifies and another does not', async () => {
    expect((await fetchThrough(overTls())).stdout).toMatch(/ 200 200$/);
    expect(await fetchThrough(overTls('other-ca.pem'))).toMatchObject({ status: 60 });
  });

  test.each([
    [`http://${podAddress}:3128/`, 'at its own address'],
    [`http://${serviceAddress}:3128/`, 'at the address of its Service'],
    ['http://back.example.com:3128/', 'by a name'],
    [`http://127.0.0.1:3128/`, 'on loopback'],
  ])('is not led back to itself: %s, %s, although private addresses are opened', async (url) => {
    const { stdout } = await world.run([curl, '-sS', '--max-time', '5', ...clear, '-w', ' %{http_code}', url]);
    expect(stdout).toMatch(/ 403$/);
  });

  test('shows a line for each request on the stdout of the sidecar', async () => {
    await fetchThrough(clear, 'later.example.com');
    await waitFor('the record', () => /"host":"later\.example\.com".*"outcome":"refused"/.test(sidecar.stdout()));
    expect(sidecar.stdout()).not.toMatch(/self-check/);
  });

  test('takes another policy without a restart, and keeps what is open', async () => {
    const open = held('/for/8000');
    await open.waitForOutput(/begun/);
    expect((await fetchThrough(clear, 'later.example.com')).stdout).toMatch(/ 000 403$/);
    bring(firstPolicy.replace('[api.example.com,', '[later.example.com, api.example.com,'));
    await until('the new rule', async () => / 200 200$/.test((await fetchThrough(clear, 'later.example.com')).stdout));
    await waitFor('the word of it', () => /policy in force/.test(sidecar.stderr()));
    expect(await health('/readyz')).toBe('ready\n');
    expect(await open.exited).toMatchObject({ status: 0 });
    expect(open.stdout()).toMatch(/^begun\nsecure api/);
  });

  test('takes another serving certificate at once, and keeps it when the next is broken', async () => {
    showServing(serviceName, 'second.test');
    const second = ['--proxy', 'https://second.test:3129', '--resolve', `second.test:3129:${podAddress}`];
    const overSecond = [...second, '--proxy-cacert', temp.file('serving-ca.pem')];
    await until('the second one', async () => / 200 200$/.test((await fetchThrough(overSecond)).stdout));
    const other = issueCredential(servingCa, { dnsNames: [serviceName], purposes: ['server'] });
    const { certificatePem } = issueCredential(servingCa, { dnsNames: [serviceName], purposes: ['server'] });
    world.serving.update({ 'tls.crt': certificatePem, 'tls.key': other.keyPem });
    await until('the word of it', async () => /ready\n- .*another key|ready\n- .*key/.test(await health('/readyz')));
    expect((await fetchThrough(overSecond)).stdout).toMatch(/ 200 200$/);
    showServing(serviceName);
    await until('the third one', async () => (await health('/readyz')) === 'ready\n');
    expect((await fetchThrough(overTls())).stdout).toMatch(/ 200 200$/);
  });

  test('knows an actor by the CAs of clients as they are now', async () => {
    const show = (ca: MadeCa): readonly string[] => {
      const { certificatePem, keyPem } = issueCredential(ca, { uris: [actor], purposes: ['client'] });
      writeFileSync(temp.file('client.crt'), certificatePem);
      writeFileSync(temp.file('client.key'), keyPem);
      return ['--proxy-cert', temp.file('client.crt'), '--proxy-key', temp.file('client.key')];
    };
    const asks = (ca: MadeCa): Promise<CommandResult> =>
      fetchThrough([...overTls(), ...show(ca)], 'actors.example.com');
    expect((await fetchThrough(overTls(), 'actors.example.com')).stdout).toMatch(/ 000 403$/);
    expect((await asks(clientsCa)).stdout).toMatch(/ 200 200$/);
    const next = makeCurrentCa('next clients');
    expect((await asks(next)).status).not.toBe(0);
    roots.clients = caPem(next);
    bring(firstPolicy);
    await until('the new CA', async () => / 200 200$/.test((await asks(next)).stdout));
    expect((await asks(clientsCa)).status).not.toBe(0);
  });

  test('verifies origins with the roots as they are now', async () => {
    const asked = (): Promise<CommandResult> => fetchThrough(clear, 'rooted.example.com');
    roots.origins = caPem(makeCurrentCa('elsewhere'));
    bring(firstPolicy);
    await until('the other root', async () => / 502 200$/.test((await asked()).stdout));
    roots.origins = originCa;
    bring(firstPolicy);
    await until('the root again', async () => / 200 200$/.test((await asked()).stdout));
  });

  test('shows an origin the certificate that is mounted for it, as it is now', async () => {
    const shown = async (serial: string): Promise<boolean> =>
      (await fetchThrough(clear, `${partnerName}:8443`)).stdout.startsWith(`shown ${serial} 200`);
    const first = showToPartner();
    await until('the first certificate', () => shown(first));
    const second = showToPartner();
    await until('the second certificate', () => shown(second));
    expect(await health('/readyz')).toBe('ready\n');
  });

  test('goes on when the sidecar comes back: names are held, the self-check passes with its new CA', async () => {
    expect((await fetchThrough(clear)).stdout).toMatch(/ 200 200$/);
    sidecar.signal('SIGKILL');
    await sidecar.exited;
    expect((await fetchThrough(clear)).stdout).toMatch(/ 200 200$/);
    sidecar = world.start(sidecarCommand());
    await until('the pod to be ready', async () => (await health('/readyz')) === 'ready\n');
    expect((await fetchThrough(clear)).stdout).toMatch(/ 200 200$/);
    await waitFor('its record', () => /"host":"api\.example\.com"/.test(sidecar.stdout()));
  });

  test('says that Envoy is gone, and that it is back', async () => {
    proxy.signal('SIGKILL');
    await proxy.exited;
    await until('the word of it', async () => /^not ready\n- Envoy does not answer/.test(await health('/readyz')));
    proxy = world.start(envoyCommand(envoy));
    await until('the pod to be ready', async () => (await health('/readyz')) === 'ready\n');
    expect((await fetchThrough(clear)).stdout).toMatch(/ 200 200$/);
  });

  test('a request for the end that only the port heard drains nobody', async () => {
    expect(await health('/drained')).toMatch(/^not drained\n- this pod does not end/);
    expect(await health('/readyz')).toBe('ready\n');
    expect((await fetchThrough(clear)).stdout).toMatch(/ 200 200$/);
  });

  test('ends as a kubelet ends it: what is in flight comes to its end, then nobody is connected, then all stops', async () => {
    const open = held('/for/6000');
    await open.waitForOutput(/begun/);
    const hooks = [
      world.run([process.execPath, mainScript, 'drain', '--gateway', '/etc/leafgate/gateway']),
      world.run([curl, '-sS', '--max-time', '40', `http://${podAddress}:${healthPort}/drained`]),
    ];
    await until('the drain', async () => /^not ready\n- the pod ends/.test(await health('/readyz')));
    expect((await fetchThrough(clear)).stdout).toMatch(/ 200 200$/);
    const [own, ofEnvoy] = await Promise.all(hooks);
    expect(own).toMatchObject({ status: 0, stderr: 'drained\n' });
    expect(ofEnvoy).toMatchObject({ status: 0, stdout: 'drained\n' });
    expect(await open.exited).toMatchObject({ status: 0 });
    expect(open.stdout()).toMatch(/^begun\nsecure api/);
    proxy.signal('SIGTERM');
    await proxy.exited;
    sidecar.signal('SIGTERM');
    expect(await sidecar.exited).toMatchObject({ status: 0 });
    expect(sidecar.stdout()).toMatch(/"path":"\/for\/6000"/);
    expect(sidecar.stderr()).not.toMatch(/PRIVATE KEY|did not stop cleanly/);
  });
});

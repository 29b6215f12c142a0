// A gateway whose pods have no pool, from the rendered files: a real Envoy and the sidecar beside it ask an SDS server of its own
// by TCP with mutual TLS. Who may connect is followed, and what readiness says is what clients see.
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { epoch, hours } from '../../src/clock.ts';
import { renderGateway } from '../../src/controller/render-gateway.ts';
import { createPool } from '../../src/pool/create-pool.ts';
import { parsePool } from '../../src/pool/parse-pool.ts';
import { parseResolveOverride } from '../../src/settings/parse-targets.ts';
import { caPem, issueCredential, makeCurrentCa } from '../support/credential-workshop.ts';
import { describeWithMachine } from '../support/describe-with-tools.ts';
import { egressGateway, tcpEgressGateway } from '../support/egress-gateway.ts';
import { mainScript } from '../support/gateway-under-test.ts';
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
import { anchorPem } from '../support/sds-under-test.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { waitFor } from '../support/wait-for.ts';

const serverName = 'gateway-sds.egress.svc.cluster.local';
const clientName = 'envoy.egress.example';
const serverHealth = 8082;
const needs = { tools: ['envoy-1.40.0', 'curl', 'ip', 'nsenter'], whyNot: whyNoPodWorld } as const;

describeWithMachine('a gateway whose pods have no pool', needs, ({ 'envoy-1.40.0': envoy, curl }) => {
  const temp = createTempFolder();
  const channelCa = makeCurrentCa('channel');
  let world: PodWorld;
  let server: StartedProcess;
  let sidecar: StartedProcess | undefined;
  const roots = { anchors: '', origins: '' };

  const bring = (allowedSans: readonly string[]): void => {
    const gateway = tcpEgressGateway({ allowedSans });
    const resolve = [parseResolveOverride(`api.example.com:443:${originAddress}`)];
    const terms = egressGateway({ gateway: { resolve } }).spec.gateway;
    const { data } = renderGateway({
      gateway: { ...gateway, spec: { ...gateway.spec, gateway: terms } },
      ...{ originRootsPem: roots.origins, clientRootsPem: undefined },
      remote: { serverName, anchorsPem: roots.anchors },
    });
    world.files.update(data);
  };
  const secretFor = (name: string, purpose: 'client' | 'server'): Record<string, string> => {
    const { certificatePem, keyPem } = issueCredential(channelCa, { dnsNames: [name], purposes: [purpose] });
    return { 'tls.crt': certificatePem, 'tls.key': keyPem, 'ca.crt': caPem(channelCa) };
  };
  const get = async (port: number, path: string): Promise<string> =>
    (await world.run([curl, '-sS', '--max-time', '10', `http://${podAddress}:${port}${path}`])).stdout;
  const fetchThrough = (): Promise<CommandResult> =>
    world.run([
      ...[curl, '-sS', '--max-time', '10', '--cacert', temp.file('anchors.pem')],
      ...['--proxy', `http://${podAddress}:3128`, '-w', ' %{http_code}', 'https://api.example.com/'],
    ]);
  const until = async (what: string, isSo: () => Promise<boolean>): Promise<void> => {
    await waitFor(what, isSo, 20_000).catch((error: unknown) => {
      throw new Error(`no ${what}\n${server.stderr()}\n${sidecar?.stderr() ?? ''}`, { cause: error });
    });
  };

  beforeAll(async () => {
    world = await startPodWorld(temp);
    world.addHost(`127.0.0.1 ${serverName}`);
    const now = epoch(Date.now());
    const pool = createPool({ now, randomBytes }).reveal();
    world.pool.update({ pool });
    const terms = { source: 'pool', now, allowEd25519: false, shortestLeafMs: hours(1) };
    roots.anchors = anchorPem(parsePool(pool, terms));
    writeFileSync(temp.file('anchors.pem'), roots.anchors);
    roots.origins = caPem(await startOrigin(world, temp, ['api.example.com']));
    world.volume('tls').update(secretFor(serverName, 'server'));
    world.volume('sds-client').update(secretFor(clientName, 'client'));
    bring(['nobody.example']);
    const args = ['sds', '--gateway', '/etc/leafgate/gateway', '--listen=tcp:127.0.0.1:8443', '--json'];
    server = world.start([process.execPath, mainScript, ...args, `--metrics=0.0.0.0:${serverHealth}`]);
    await until('a ready server', async () => (await get(serverHealth, '/readyz')) === 'ready\n');
    sidecar = world.start(sidecarCommand());
    await waitFor('the sidecar to be live', async () => (await get(healthPort, '/livez')) === 'live\n', 20_000);
    world.start(envoyCommand(envoy));
  }, 90_000);
  afterAll(async () => {
    await world.stop();
    temp.remove();
  });

  test('is not ready while its Envoy is not on the list, and the server says who knocked', async () => {
    await until('a refused peer', () =>
      Promise.resolve(/not-listed.*an SDS peer was not let in/.test(server.stderr())),
    );
    expect(server.stderr()).toContain(clientName);
    expect(await get(healthPort, '/readyz')).toMatch(/^not ready/);
  });

  test('serves its clients once the list has its Envoy, without a restart of anything', async () => {
    bring([clientName]);
    await until('a ready pod', async () => (await get(healthPort, '/readyz')) === 'ready\n');
    expect((await fetchThrough()).stdout).toMatch(/^secure api\.example\.com.* 200$/);
    expect(await get(serverHealth, '/metrics')).toMatch(/^leafgate_sds_channel\{kind="tls"\} 1$/m);
  });

  test('loses its connection at once when the list no longer has it, and Envoy serves what it holds', async () => {
    bring(['nobody.example']);
    await until('the end of the connection', () =>
      Promise.resolve(/connection of an SDS peer was ended/.test(server.stderr())),
    );
    expect((await fetchThrough()).stdout).toMatch(/ 200$/);
    bring([clientName]);
    const admitted = /^leafgate_sds_peers_admitted_total\{by="dns"\} [2-9]/m;
    await until('another connection', async () => admitted.test(await get(serverHealth, '/metrics')));
  });
});

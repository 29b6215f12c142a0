// A gateway whose pods have no pool, from the rendered files: its SDS server, the sidecar and a real Envoy in one network, and an
// origin beside them. A test says how the channel shall be and what the server is started with.
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { epoch, hours } from '../../src/clock.ts';
import { renderGateway } from '../../src/controller/render-gateway.ts';
import { createPool } from '../../src/pool/create-pool.ts';
import { parsePool } from '../../src/pool/parse-pool.ts';
import type { SdsTls } from '../../src/settings/egress-gateway-types.ts';
import { parseResolveOverride } from '../../src/settings/parse-targets.ts';
import type { MadeCa } from './ca-workshop.ts';
import { caPem, issueCredential, makeCurrentCa } from './credential-workshop.ts';
import { egressGateway, tcpEgressGateway } from './egress-gateway.ts';
import { mainScript } from './gateway-under-test.ts';
import {
  envoyCommand,
  healthPort,
  originAddress,
  podAddress,
  sidecarCommand,
  startOrigin,
  startPodWorld,
  type PodWorld,
} from './pod-world.ts';
import type { CommandResult, StartedProcess } from './run-command.ts';
import { anchorPem } from './sds-under-test.ts';
import type { TempFolder } from './temp-folder.ts';
import { waitFor } from './wait-for.ts';

export const remoteServerName = 'gateway-sds.egress.svc.cluster.local';
export const remoteClientName = 'envoy.egress.example';
export const remoteServerHealth = 8082;

export type RemotePodWorld = {
  readonly pod: PodWorld;
  readonly channelCa: MadeCa;
  /** renders the gateway with this channel, as a kubelet would show it */
  bring(tls: Partial<SdsTls>): void;
  /** what a Secret of the channel holds */
  secretFor(name: string, purpose: 'client' | 'server', ca?: MadeCa): Record<string, string>;
  /** not waited for; `environment` is for this process alone */
  startServer(environment?: Readonly<Record<string, string>>): StartedProcess;
  /** the sidecar, and Envoy once it is live */
  startGateway(): Promise<{ readonly sidecar: StartedProcess; readonly envoy: StartedProcess }>;
  get(port: number, path: string): Promise<string>;
  fetchThrough(): Promise<CommandResult>;
  /** with what the processes said where it does not come */
  until(what: string, isSo: () => Promise<boolean>): Promise<void>;
  stop(): Promise<void>;
};

type Programs = { readonly envoy: string; readonly curl: string };

export async function startRemotePodWorld(temp: TempFolder, { envoy, curl }: Programs): Promise<RemotePodWorld> {
  const pod = await startPodWorld(temp);
  pod.addHost(`127.0.0.1 ${remoteServerName}`);
  const { anchorsPem, originRootsPem } = await startSurroundings(pod, temp);
  const channelCa = makeCurrentCa('channel');
  const started: StartedProcess[] = [];
  const start = (command: readonly string[]): StartedProcess => {
    const child = pod.start(command);
    started.push(child);
    return child;
  };
  const get = async (port: number, path: string): Promise<string> =>
    (await pod.run([curl, '-sS', '--max-time', '10', `http://${podAddress}:${port}${path}`])).stdout;
  const until = async (what: string, isSo: () => Promise<boolean>): Promise<void> => {
    await waitFor(what, isSo, 20_000).catch((error: unknown) => {
      throw new Error(`no ${what}\n${started.map((child) => child.stderr()).join('\n')}`, { cause: error });
    });
  };
  return {
    ...{ pod, channelCa, get, until },
    bring: (tls) => pod.files.update(renderedWith(tls, { anchorsPem, originRootsPem })),
    secretFor: (name, purpose, ca = channelCa) => {
      const { certificatePem, keyPem } = issueCredential(ca, { dnsNames: [name], purposes: [purpose] });
      return { 'tls.crt': certificatePem, 'tls.key': keyPem, 'ca.crt': caPem(channelCa) };
    },
    startServer: (environment = {}) => {
      const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
      const args = ['sds', '--gateway', '/etc/leafgate/gateway', '--listen=tcp:127.0.0.1:8443', '--json'];
      const metrics = `--metrics=0.0.0.0:${remoteServerHealth}`;
      return start(['env', ...variables, process.execPath, mainScript, ...args, metrics]);
    },
    startGateway: async () => {
      const sidecar = start(sidecarCommand());
      await until('live sidecar', async () => (await get(healthPort, '/livez')) === 'live\n');
      return { sidecar, envoy: start(envoyCommand(envoy)) };
    },
    fetchThrough: () =>
      pod.run([
        ...[curl, '-sS', '--max-time', '10', '--cacert', temp.file('anchors.pem')],
        ...['--proxy', `http://${podAddress}:3128`, '-w', ' %{http_code}', 'https://api.example.com/'],
      ]),
    stop: () => pod.stop(),
  };
}

type Roots = { readonly anchorsPem: string; readonly originRootsPem: string };

async function startSurroundings(pod: PodWorld, temp: TempFolder): Promise<Roots> {
  const now = epoch(Date.now());
  const pool = createPool({ now, randomBytes }).reveal();
  pod.pool.update({ pool });
  const terms = { source: 'pool', now, allowEd25519: false, shortestLeafMs: hours(1) };
  const anchorsPem = anchorPem(parsePool(pool, terms));
  writeFileSync(temp.file('anchors.pem'), anchorsPem);
  return { anchorsPem, originRootsPem: caPem(await startOrigin(pod, temp, ['api.example.com'])) };
}

function renderedWith(tls: Partial<SdsTls>, { anchorsPem, originRootsPem }: Roots): Readonly<Record<string, string>> {
  const gateway = tcpEgressGateway(tls);
  const resolve = [parseResolveOverride(`api.example.com:443:${originAddress}`)];
  const terms = egressGateway({ gateway: { resolve } }).spec.gateway;
  return renderGateway({
    gateway: { ...gateway, spec: { ...gateway.spec, gateway: terms } },
    ...{ originRootsPem, clientRootsPem: undefined },
    remote: { serverName: remoteServerName, anchorsPem },
  }).data;
}

// The inside of a gateway's pod: its volumes at their real places and a network of its own, in namespaces of the test's, with
// `leafgate sds --gateway` and Envoy started as the manifests start them, and an origin beside them. Needs no privilege but user
// namespaces.
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { caPem, issueCredential, makeCurrentCa } from './credential-workshop.ts';
import { mainScript } from './gateway-under-test.ts';
import { mountedVolume, type MountedVolume } from './mounted-volume.ts';
import {
  runCommand,
  startProcess,
  type CommandOptions,
  type CommandResult,
  type StartedProcess,
} from './run-command.ts';
import { scrubbedEnvironment } from './scrubbed-environment.ts';
import type { TempFolder } from './temp-folder.ts';
import type { MadeCa } from './ca-workshop.ts';

export const podAddress = '10.77.0.2';
/** of a Service that leads back to the pod */
export const serviceAddress = '10.77.0.3';
/** as public as addresses for documentation can be */
export const originAddress = '198.51.100.10';

export type PodWorld = {
  readonly files: MountedVolume;
  readonly pool: MountedVolume;
  readonly serving: MountedVolume;
  originCertificate(secret: string): MountedVolume;
  /** of another name below /etc/leafgate */
  volume(name: string): MountedVolume;
  /** another line of /etc/hosts */
  addHost(line: string): void;
  run(command: readonly string[], options?: Partial<CommandOptions>): Promise<CommandResult>;
  /** ends with the world */
  start(command: readonly string[]): StartedProcess;
  stop(): Promise<void>;
};

export function whyNoPodWorld(): string | undefined {
  const script = 'ip link set lo up && mount -t tmpfs tmpfs /mnt';
  const args = ['--user', '--map-root-user', '--net', '--mount', 'sh', '-ec', script];
  const tried = spawnSync('unshare', args, { env: scrubbedEnvironment('/') });
  if (tried.error !== undefined) return `namespaces: ${tried.error.message}`;
  return tried.status === 0 ? undefined : `namespaces: ${tried.stderr.toString().trim().slice(0, 200)}`;
}

/** $1 is the folder that stands for the pod's volumes; emptyDirs are open to everybody, as a kubelet makes them */
const build = `
ip link set lo up
ip address add ${podAddress}/32 dev lo
ip address add ${serviceAddress}/32 dev lo
ip address add ${originAddress}/32 dev lo
cp -a /etc/. "$1/etc" 2>/dev/null || true
mount --bind "$1/etc" /etc
mount --bind "$1/run" /run
mount --bind "$1/log" /var/log
echo "ready pod=$$"
sleep 3600
`;

export async function startPodWorld(temp: TempFolder): Promise<PodWorld> {
  const root = temp.file('pod');
  for (const folder of ['etc/leafgate', 'run/leafgate', 'log/leafgate'])
    mkdirSync(`${root}/${folder}`, { recursive: true });
  spawnSync('chmod', ['0777', `${root}/run/leafgate`, `${root}/log/leafgate`]);
  const env = scrubbedEnvironment(temp.path);
  const unshare = ['--user', '--map-root-user', '--net', '--mount', 'sh', '-ec', build, 'sh', root];
  const keeper = startProcess('unshare', unshare, { env });
  const [, pid = ''] = await keeper.waitForOutput(/ready pod=(\d+)/);
  const inside = ['--target', pid, '--user', '--net', '--mount', '--preserve-credentials'];
  const started: StartedProcess[] = [];
  const volume = (name: string): MountedVolume => mountedVolume(`${root}/etc/leafgate/${name}`);
  return {
    files: volume('gateway'),
    pool: volume('pool'),
    serving: volume('serving'),
    originCertificate: (secret) => volume(`origin-certificates/${secret}`),
    volume,
    addHost: (line) => appendFileSync(`${root}/etc/hosts`, `${line}\n`),
    run: (command, options = {}) => runCommand('nsenter', [...inside, ...command], { env, ...options }),
    start: (command) => {
      const child = startProcess('nsenter', [...inside, ...command], { env });
      started.push(child);
      return child;
    },
    stop: async () => {
      await Promise.all(started.map((child) => child.stop()));
      await keeper.stop();
    },
  };
}

export const healthPort = 8081;

/** as the manifests have it */
export function sidecarCommand(...more: readonly string[]): readonly string[] {
  const args = ['sds', '--gateway', '/etc/leafgate/gateway', `--metrics=0.0.0.0:${healthPort}`, '--json', ...more];
  return [process.execPath, mainScript, ...args];
}

export function envoyCommand(envoy: string): readonly string[] {
  return [
    ...[envoy, '--config-path', '/etc/leafgate/gateway/bootstrap.yaml', '--disable-hot-restart', '--concurrency', '1'],
    ...['--file-flush-interval-msec', '200', '--component-log-level', 'misc:error', '--log-level', 'warning'],
    ...['--drain-time-s', '20'],
  ];
}

/** HTTPS on 443, clear HTTP on 80; `names` are in its certificate */
export async function startOrigin(world: PodWorld, temp: TempFolder, names: readonly string[]): Promise<MadeCa> {
  const ca = makeCurrentCa('origins');
  const { certificatePem, keyPem } = issueCredential(ca, { dnsNames: names, purposes: ['server'] });
  writeFileSync(temp.file('origin.crt'), certificatePem);
  writeFileSync(temp.file('origin.key'), keyPem);
  writeFileSync(temp.file('origin-ca.pem'), caPem(ca));
  const script = new URL('network-origin.ts', import.meta.url).pathname;
  const files = [temp.file('origin.crt'), temp.file('origin.key')];
  await world.start([process.execPath, script, ...files, originAddress]).waitForOutput(/ready/);
  return ca;
}

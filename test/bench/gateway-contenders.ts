// The intercepting proxies that the bench compares, each started fresh as people start it, and no proxy at all.
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { childrenOf, commandLine } from '../support/gateway-under-test.ts';
import { freePort } from '../support/free-port.ts';
import { startProcess, type StartedProcess } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { waitFor } from '../support/wait-for.ts';
import type { BenchAuthority } from './contenders.ts';
import { pathOf, startListening, type GatewayWorld, type ProxyUnderTest } from './gateway-world.ts';

export const proxyNames = ['direct', 'leafgate', 'leafgate-no-record', 'goproxy', 'mitmproxy'] as const;
export type ProxyName = (typeof proxyNames)[number];

/** what each is, for the table's foot */
export const proxyNotes: { readonly [name in ProxyName]: string } = {
  direct: 'the client to the origin, nothing between them',
  leafgate: '`leafgate up`: Envoy and the Node process beside it, both counted',
  'leafgate-no-record': 'the same with an Envoy that writes no access log',
  goproxy: 'github.com/elazarl/goproxy, leaves kept',
  mitmproxy: '`mitmdump -q`',
};

const repository = join(import.meta.dirname, '..', '..');
const mainFile = join(repository, 'dist', 'main.js');

export function startProxy(name: ProxyName, world: GatewayWorld, authority: BenchAuthority): Promise<ProxyUnderTest> {
  switch (name) {
    case 'direct':
      return Promise.resolve({ port: undefined, caFile: world.originCaFile, pids: [], stop: () => Promise.resolve() });
    case 'leafgate':
      return startLeafgate(world, { envoy: pathOf('envoy-1.40.0') });
    case 'leafgate-no-record':
      return startLeafgate(world, { envoy: envoyWithoutRecord(world) });
    case 'goproxy':
      return startGoproxy(world, authority);
    case 'mitmproxy':
      return startMitmproxy(world, authority);
    default:
      return name satisfies never;
  }
}

type LeafgateChoice = { readonly envoy: string; readonly more?: readonly string[] };

export async function startLeafgate(
  world: GatewayWorld,
  { envoy, more = [] }: LeafgateChoice,
): Promise<ProxyUnderTest> {
  const state = mkdtempSync(world.folder.file('leafgate-'));
  const args = [
    ...['up', '--listen', '127.0.0.1:0', '--state', state, '--envoy', envoy, '--drain', '0ms'],
    ...['--dns', `127.0.0.1:${world.dnsPort}`, '--allow-destination', '127.0.0.1', '--origin-ca', world.originCaFile],
    // what a client may open is measured, so its limit must not be
    ...['--client-rate', '1000000'],
    ...more,
  ];
  const child = startProcess(process.execPath, ['--max-semi-space-size=4', mainFile, ...args], {
    env: scrubbedEnvironment(world.folder.path),
  });
  const [, port = ''] = await child.waitForOutput(/gateway on http:\/\/127\.0\.0\.1:(\d+)/, 60_000);
  const envoys = childrenOf(child.pid).filter((pid) => commandLine(pid).includes('bootstrap.yaml'));
  return {
    port: Number(port),
    caFile: join(state, 'gateway', 'trust', 'ca.pem'),
    pids: [child.pid, ...envoys],
    stop: async () => {
      await child.stop(15_000);
    },
  };
}

/** A program in Envoy's place that takes the access logs out of the bootstrap, then becomes Envoy. */
function envoyWithoutRecord(world: GatewayWorld): string {
  const strip = world.folder.file('strip.mjs');
  const yaml = new URL('../../node_modules/yaml/dist/index.js', import.meta.url).href;
  writeFileSync(
    strip,
    `import { readFileSync, writeFileSync } from 'node:fs';
     import yaml from '${yaml}';
     const file = process.argv[2];
     const without = (_, value) => {
       if (typeof value === 'object' && value !== null) delete value.access_log;
       return value;
     };
     writeFileSync(file, JSON.stringify(yaml.parse(readFileSync(file, 'utf8')), without));`,
  );
  const wrapper = world.folder.file('envoy-without-record');
  const binary = pathOf('envoy-1.40.0');
  const script = [
    '#!/bin/sh',
    `for word; do case $word in */bootstrap.yaml) '${process.execPath}' '${strip}' "$word";; esac; done`,
    `exec '${binary}' "$@"`,
  ];
  writeFileSync(wrapper, `${script.join('\n')}\n`);
  chmodSync(wrapper, 0o755);
  return wrapper;
}

async function startGoproxy(world: GatewayWorld, authority: BenchAuthority): Promise<ProxyUnderTest> {
  const files = ['-ca', authority.caFile, '-key', authority.keyFile, '-origin-ca', world.originCaFile];
  const { child, port } = await startListening('goproxy-peer', files);
  return { port, caFile: authority.caFile, pids: [child.pid], stop: () => stopped(child) };
}

async function startMitmproxy(world: GatewayWorld, authority: BenchAuthority): Promise<ProxyUnderTest> {
  const folder = mkdtempSync(world.folder.file('mitmproxy-'));
  const ca = [authority.keyFile, authority.caFile].map((file) => readFileSync(file, 'utf8')).join('');
  writeFileSync(join(folder, 'mitmproxy-ca.pem'), ca, { mode: 0o600 });
  const port = await freePort();
  const addon = join(repository, 'test', 'support', 'python', 'dial_loopback.py');
  const args = [
    ...['-q', '--listen-host', '127.0.0.1', '--listen-port', String(port), '-s', addon],
    ...['--set', `confdir=${folder}`, '--set', `ssl_verify_upstream_trusted_ca=${world.originCaFile}`],
  ];
  const env = scrubbedEnvironment(folder, { PYTHONDONTWRITEBYTECODE: '1' });
  const child = startProcess(pathOf('mitmdump'), args, { env });
  await waitFor('mitmproxy to listen', () => isListening(port), 30_000);
  return { port, caFile: authority.caFile, pids: [child.pid], stop: () => stopped(child) };
}

async function stopped(child: StartedProcess): Promise<void> {
  await child.stop();
}

function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return new Promise((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  }).then((answer) => {
    socket.destroy();
    return answer === true;
  });
}

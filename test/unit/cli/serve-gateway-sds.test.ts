// `leafgate sds --gateway DIR --listen tcp:…`: what the gateway's files, the files of TLS and the variable make of a start. Nothing
// is plaintext by one choice, and TLS is spoken wherever its files are.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { hours } from '../../../src/clock.ts';
import { askHealth } from '../../../src/cli/ask-health.ts';
import {
  renderSdsClients,
  renderSdsServerSettings,
  type AllowedClients,
} from '../../../src/settings/sds-server-settings.ts';
import { connectGrpcTls } from '../../harness/grpc-peer.ts';
import type { MadeCa } from '../../support/ca-workshop.ts';
import { channelFilesOf, clientOf, serverName, writeChannelFiles } from '../../support/channel-workshop.ts';
import { makeCurrentCa } from '../../support/credential-workshop.ts';
import { createFakeIo, type FakeIo } from '../../support/fake-io.ts';
import { listedClients } from '../../support/remote-sds.ts';
import { writePool } from '../../support/sds-command-under-test.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';
import { waitFor } from '../../support/wait-for.ts';

let ca: MadeCa;
let temp: TempFolder;
let gatewayDir: string;
let tlsDir: string;
const running: { readonly terminal: FakeIo; readonly ended: Promise<number> }[] = [];

beforeAll(() => {
  ca = makeCurrentCa('channel');
});
beforeEach(() => {
  temp = createTempFolder();
  [gatewayDir, tlsDir] = [temp.file('gateway'), temp.file('tls')];
});
afterEach(async () => {
  for (const { terminal, ended } of running.splice(0)) {
    terminal.signal('SIGTERM');
    await ended;
  }
  temp.remove();
});

/** what the controller writes; no `clients`: a gateway that lists none */
function writeGateway(says: 'tls' | 'plaintext', clients?: AllowedClients): void {
  mkdirSync(gatewayDir, { recursive: true });
  const channel = { ...(says === 'tls' ? { kind: says, secret: 's', serverName } : { kind: says }), dir: tlsDir };
  const pool = { secret: 'pool', file: writePool(temp.file('pool.json')).file };
  const settings = { pool, channel, leafLifetimeMs: hours(1), allowEd25519: false };
  writeFileSync(join(gatewayDir, 'sds-server.json'), renderSdsServerSettings(settings));
  writeFileSync(join(gatewayDir, 'policy.yaml'), 'default: intercept\n');
  if (clients !== undefined) writeFileSync(join(gatewayDir, 'sds-clients.json'), renderSdsClients(clients));
}

const healthSocket = (): string => temp.file('health.sock');

function run(insecure?: string): { readonly terminal: FakeIo; readonly ended: Promise<number> } {
  const terminal = createFakeIo(insecure === undefined ? {} : { LEAFGATE_SDS_INSECURE: insecure });
  const args = ['sds', '--gateway', gatewayDir, '--listen', 'tcp:127.0.0.1:0', '--metrics', `unix:${healthSocket()}`];
  const ended = runCommandLine(args, terminal.io);
  running.push({ terminal, ended });
  return { terminal, ended };
}

async function start(insecure?: string): Promise<{ readonly terminal: FakeIo; readonly port: number }> {
  const { terminal } = run(insecure);
  await waitFor('the server', () => /SDS server is ready|leafgate:/.test(terminal.stderr()));
  const port = /SDS server is ready.*tcp:127\.0\.0\.1:(\d+)/.exec(terminal.stderr())?.[1];
  if (port === undefined) throw new Error(terminal.stderr());
  return { terminal, port: Number(port) };
}

async function refusal(insecure?: string, exitCode = 2): Promise<string> {
  const { terminal, ended } = run(insecure);
  expect(await ended).toBe(exitCode);
  return terminal.stderr();
}

const health = async (path: '/readyz' | '/metrics'): Promise<string> => {
  const answer = await askHealth(`unix:${healthSocket()}`, path);
  return answer.kind === 'answer' ? answer.body : answer.reason;
};

test('plaintext that the gateway and the variable choose is spoken, for anybody, and said wherever one looks', async () => {
  writeGateway('plaintext');
  const { terminal } = await start('true');
  expect(terminal.stderr()).toMatch(
    /warn.*the SDS server speaks plaintext.*LEAFGATE_SDS_INSECURE beside spec\.sds\.tls/,
  );
  expect(await health('/readyz')).toMatch(/^ready\n.*the SDS server speaks plaintext, as LEAFGATE_SDS_INSECURE beside/);
  expect(await health('/metrics')).toContain('leafgate_sds_channel{kind="plaintext"} 1');
});

test.each([undefined, '1'])(
  'plaintext that the gateway alone chooses is refused (LEAFGATE_SDS_INSECURE %s)',
  async (insecure) => {
    writeGateway('plaintext', listedClients);
    const said = await refusal(insecure);
    expect(said).toContain('the gateway asks for plaintext, and LEAFGATE_SDS_INSECURE does not');
    expect(said).toContain('set LEAFGATE_SDS_INSECURE=true in the Deployment of these servers');
  },
);

test('plaintext that the variable alone chooses is refused, with the folder and the files of TLS', async () => {
  writeGateway('tls', listedClients);
  const said = await refusal('true');
  for (const words of [tlsDir, 'tls.crt, tls.key, ca.crt', 'LEAFGATE_SDS_INSECURE alone chooses nothing'])
    expect(said).toContain(words);
});

test('TLS is spoken where its files are, although the gateway chose plaintext, and it is said who is left out', async () => {
  writeGateway('plaintext', listedClients);
  writeChannelFiles(tlsDir, channelFilesOf(ca));
  const { terminal, port } = await start('true');
  expect(terminal.stderr()).toMatch(
    /error.*mutual TLS is spoken, since its files are there, and the Envoys of the gateway ask/,
  );
  expect(await health('/readyz')).toContain('ask in plaintext: none of them is let in');
  expect(await health('/metrics')).toContain('leafgate_sds_channel{kind="tls"} 1');
  // those of before, which ask by TLS, are served until they are replaced
  const { credential } = clientOf(ca);
  if (credential === undefined) throw new Error('no credential');
  const peer = connectGrpcTls({ port, serverName, ca: clientOf(ca).ca, ...credential });
  const stream = peer.open();
  stream.send({ subscribe: ['a.test'] });
  expect((await stream.next()).resources[0]?.name).toBe('a.test');
  peer.close();
});

test('TLS that would let nobody in does not start either', async () => {
  writeGateway('plaintext');
  writeChannelFiles(tlsDir, channelFilesOf(ca));
  const said = await refusal('true');
  expect(said).toContain('nobody may connect to tcp:127.0.0.1:0');
  expect(said).toContain('spec.sds.tls.allowedSANs');
});

test('a gateway that speaks TLS needs its list of clients', async () => {
  writeGateway('tls');
  writeChannelFiles(tlsDir, channelFilesOf(ca));
  expect(await refusal(undefined, 3)).toMatch(/sds-clients\.json cannot be read: no such file.*where the ConfigMap/);
  writeGateway('tls', listedClients);
  const { terminal } = await start('true');
  expect(terminal.stderr()).toMatch(/plaintext was asked for and is not spoken/);
});

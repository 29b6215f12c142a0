// The SDS servers that the bench compares, each started fresh, on a unix socket of its own or by TCP, with the same CA. Ours runs
// as people run it; the Go ones are test/support/go/sds-peer.
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { days, epoch } from '../../src/clock.ts';
import { createCa } from '../../src/x509/create-ca.ts';
import { encodeCertificatesPem, encodePem } from '../../src/x509/pem.ts';
import { channelFilesOf, clientName, serverName, writeChannelFiles } from '../support/channel-workshop.ts';
import { makeCurrentCa } from '../support/credential-workshop.ts';
import { clientFilesOf } from '../support/remote-sds.ts';
import { runCommand, startProcess } from '../support/run-command.ts';
import type { StartedProcess } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import type { TempFolder } from '../support/temp-folder.ts';
import { findTool } from '../support/tools.ts';

export const contenderNames = ['leafgate', 'leafgate-tcp', 'go-shared-key', 'go-key-per-leaf', 'go-hand-der'] as const;
export type ContenderName = (typeof contenderNames)[number];

/** what each is, for the table's foot */
export const contenderNotes: { readonly [name in ContenderName]: string } = {
  leafgate:
    '`node --max-semi-space-size=4 … leafgate sds`: one leaf key a lifetime, cache, bounds, held names followed',
  'leafgate-tcp':
    'the same by TCP on loopback with mutual TLS 1.3, P-256 certificates; all others are on a unix socket',
  'go-shared-key': 'plain Go: grpc-go, x509.CreateCertificate, one leaf key; keeps nothing of a name. The baseline',
  'go-key-per-leaf': 'the same with a new P-256 key for each leaf',
  'go-hand-der': 'Go with hand-written DER, one leaf key, signatures not checked',
};

const repository = join(import.meta.dirname, '..', '..');
/** as `npm run leafgate` and docs/envoy.md start it: a small young generation halves the memory of a live name */
const nodeFlags = ['--max-semi-space-size=4'];
/** what all of them may mint, so that all can refuse something */
const domain = 'bench.test';
/** what the package ships: type stripping would add 30 MB to the idle memory */
const mainFile = join(repository, 'dist', 'main.js');

export type BenchAuthority = {
  readonly caFile: string;
  readonly keyFile: string;
  readonly poolFile: string;
  /** folders of both sides of mutual TLS */
  readonly serverDir: string;
  readonly clientDir: string;
};

export type Contender = {
  readonly pid: number;
  /** nobody listens there where it is reached by TCP */
  readonly socket: string;
  /** how sds-load is told to reach it */
  readonly reach: readonly string[];
  stop(): Promise<void>;
};

export function createBenchAuthority(folder: TempFolder): BenchAuthority {
  const { certificate, privateKeyPkcs8 } = createCa({ now: epoch(Date.now()), lifetimeMs: days(30), randomBytes });
  const files = { caFile: folder.file('ca.pem'), keyFile: folder.file('ca.key'), poolFile: folder.file('pool.json') };
  const key = Buffer.from(privateKeyPkcs8.reveal());
  const entry = {
    ID: 'bench',
    SigningKeyPKCS8: key.toString('base64'),
    RootCertificateDER: Buffer.from(certificate.der).toString('base64'),
  };
  writeFileSync(files.caFile, encodeCertificatesPem([certificate]));
  writeFileSync(files.keyFile, encodePem('PRIVATE KEY', key), { mode: 0o600 });
  writeFileSync(files.poolFile, JSON.stringify({ CAs: [entry], ActiveForSigning: 'bench' }), { mode: 0o600 });
  const channelCa = makeCurrentCa('bench channel');
  const folders = { serverDir: folder.file('server'), clientDir: folder.file('client') };
  writeChannelFiles(folders.serverDir, channelFilesOf(channelCa));
  writeChannelFiles(folders.clientDir, clientFilesOf(channelCa));
  return { ...files, ...folders };
}

/** Makes what the package ships, as `npm run build` does. */
export async function buildProduct(): Promise<void> {
  const env = scrubbedEnvironment('/nonexistent');
  const compiler = join(repository, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = [compiler, '-p', 'tsconfig.json', '--noEmit', 'false'];
  const { status, stdout } = await runCommand(process.execPath, args, { env, cwd: repository, deadlineMs: 120_000 });
  if (status !== 0) throw new Error(`the build failed:\n${stdout}`);
}

export async function startContender(
  name: ContenderName,
  folder: TempFolder,
  authority: BenchAuthority,
): Promise<Contender> {
  const socket = folder.file(`${name}-${randomBytes(3).toString('hex')}.sock`);
  const child =
    name === 'leafgate' || name === 'leafgate-tcp'
      ? startOurs(folder, placeOf(name, socket, authority), authority)
      : startGo(name, folder, socket, authority);
  const [, port] = await child.waitForOutput(/(?:ready|listen)(?:.*tcp:127\.0\.0\.1:(\d+))?/i, 20_000);
  const byTcp = ['--address', `127.0.0.1:${port ?? ''}`, '--server-name', serverName, '--tls', authority.clientDir];
  return {
    pid: child.pid,
    socket,
    reach: port === undefined ? ['--socket', socket] : byTcp,
    stop: async () => {
      await child.stop();
    },
  };
}

function placeOf(name: 'leafgate' | 'leafgate-tcp', socket: string, { serverDir }: BenchAuthority): readonly string[] {
  if (name === 'leafgate') return ['--listen', `unix:${socket}`];
  return ['--listen', 'tcp:127.0.0.1:0', '--tls-dir', serverDir, '--allowed-san', clientName];
}

function startOurs(folder: TempFolder, place: readonly string[], { poolFile }: BenchAuthority): StartedProcess {
  return startProcess(
    process.execPath,
    [
      ...nodeFlags,
      mainFile,
      ...['sds', '--pool', poolFile, ...place, '--allow', `*.${domain}`],
      // the rate of misses is what is measured, so its limit must not be
      ...['--mint-rate', '100000', '--mint-burst', '1000000'],
    ],
    { env: scrubbedEnvironment(folder.path) },
  );
}

function startGo(name: ContenderName, folder: TempFolder, socket: string, authority: BenchAuthority): StartedProcess {
  const found = findTool('sds-peer');
  if (found.path === undefined) throw new Error(found.missing);
  return startProcess(
    found.path,
    [
      ...['--socket', socket, '--ca', authority.caFile, '--key', authority.keyFile],
      ...['--mode', name.slice('go-'.length), '--domain', domain],
    ],
    { env: scrubbedEnvironment(folder.path) },
  );
}

/** resident set of a process in kilobytes, from /proc */
export function residentKb(pid: number): number {
  const found = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(found ?? 0);
}

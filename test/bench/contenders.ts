// The SDS servers that the bench compares, each started fresh, on a unix socket of its own, with the same CA. Ours runs
// as people run it; the Go ones are test/support/go/sds-peer.
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { days, epoch } from '../../src/clock.ts';
import { createCa } from '../../src/x509/create-ca.ts';
import { encodeCertificatesPem, encodePem } from '../../src/x509/pem.ts';
import { runCommand, startProcess } from '../support/run-command.ts';
import type { StartedProcess } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import type { TempFolder } from '../support/temp-folder.ts';
import { findTool } from '../support/tools.ts';

export const contenderNames = ['leafgate', 'go-shared-key', 'go-key-per-leaf', 'go-hand-der'] as const;
export type ContenderName = (typeof contenderNames)[number];

/** what each is, for the table's foot */
export const contenderNotes: { readonly [name in ContenderName]: string } = {
  leafgate:
    '`node --max-semi-space-size=4 … leafgate sds`: one leaf key a lifetime, cache, bounds, held names followed',
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

export type BenchAuthority = { readonly caFile: string; readonly keyFile: string; readonly poolFile: string };

export type Contender = { readonly pid: number; readonly socket: string; stop(): Promise<void> };

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
  return files;
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
  const child = name === 'leafgate' ? startOurs(folder, socket, authority) : startGo(name, folder, socket, authority);
  await child.waitForOutput(/ready|listen/i, 20_000);
  return {
    pid: child.pid,
    socket,
    stop: async () => {
      await child.stop();
    },
  };
}

function startOurs(folder: TempFolder, socket: string, { poolFile }: BenchAuthority): StartedProcess {
  return startProcess(
    process.execPath,
    [
      ...nodeFlags,
      mainFile,
      ...['sds', '--pool', poolFile, '--listen', `unix:${socket}`, '--allow', `*.${domain}`],
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

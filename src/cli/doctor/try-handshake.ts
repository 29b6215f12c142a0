// The last question of doctor: does a handshake with the gateway's CA succeed, and one with the system's roots fail? Asked
// of the gateway that runs, else of one that lives for this question alone, beside whatever else runs.
import { mkdtempSync, rmSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { millis, seconds, type Clock } from '../../clock.ts';
import type { HandshakeFacts } from '../../doctor/doctor-facts.ts';
import { LeafgateError } from '../../errors.ts';
import { createLog } from '../../observe/create-log.ts';
import { createPool } from '../../pool/create-pool.ts';
import { writeNewPoolFile } from '../../pool/write-pool-file.ts';
import { policyAllowingAny } from '../../policy/allow-list.ts';
import { checkPair } from '../../probe/check-pair.ts';
import { readSystemRoots } from '../../projection/system-roots.ts';
import { selfCheckHost } from '../../settings/gateway-spec.ts';
import { parseListenAddress } from '../../settings/parse-listen.ts';
import { parseHttpProxy } from '../../transport/http-proxy.ts';
import { parseServerTrust } from '../../transport/server-trust.ts';
import { createTrustFile } from '../../transport/trust-file.ts';
import { createTrustRegistry } from '../../transport/trust-registry.ts';
import { encodeCertificatesPem } from '../../x509/pem.ts';
import type { Io } from '../command-context.ts';
import { makeGatewayFolder, type GatewayFolder } from '../gateway-folder.ts';
import type { GatewayOptions } from '../gateway-options.ts';
import { withGateway } from '../gateway-session.ts';
import { runFolderPrefix } from '../run-folders.ts';
import type { RunningGatewayNote } from '../running-gateway-file.ts';

const timeout = seconds(10);

export async function tryThroughRunning(note: RunningGatewayNote, clock: Clock): Promise<HandshakeFacts> {
  const through = `the gateway on ${note.proxyUrl}`;
  const registry = createTrustRegistry({ clock });
  try {
    const bundle = await createTrustFile({ path: note.caFile }).current();
    const own = new Set(bundle.anchors.map(({ sha256 }) => sha256));
    const { certificates } = await readSystemRoots();
    const foreign = encodeCertificatesPem(certificates.filter(({ sha256 }) => !own.has(sha256)));
    const { verdict, reason } = await checkPair(`https://${selfCheckHost}/`, {
      ...{ registry, clock, bundle, timeoutMs: timeout },
      system: parseServerTrust({ bundle: foreign, source: 'the system roots' }),
      proxy: parseHttpProxy(note.proxyUrl),
    });
    if (verdict === 'intercepted') return { kind: 'passed', through };
    return { kind: 'failed', through, reason: `${reason} (${verdict})` };
  } catch (thrown) {
    return { kind: 'failed', through, reason: LeafgateError.from(thrown).message };
  } finally {
    await registry.close();
  }
}

export type TemporaryParts = {
  readonly io: Io;
  readonly options: GatewayOptions;
  /** undefined where there is none that can sign: one is made for this question */
  readonly poolFile: string | undefined;
};

/** Only the Envoy, the pool and this machine are under test: no listener, certificate or policy of the options. */
export async function tryThroughTemporary({ io, options, poolFile }: TemporaryParts): Promise<HandshakeFacts> {
  const through = 'a gateway of its own';
  const dir = mkdtempSync(join(tmpdir(), `${runFolderPrefix}${process.pid}-`));
  try {
    const folder = makeGatewayFolder(dir);
    const parts = {
      options: bareOptions(options, folder),
      ...{ io, folder, poolFile: poolFile ?? (await makePool(join(dir, 'pool.json'), io.clock)) },
      log: createLog({ level: 'error', json: true, destination: { write: () => undefined } }),
      drainMs: millis(0),
      interrupted: new Promise<never>(() => undefined),
      progress: () => undefined,
      onRecord: () => undefined,
      recordsTaken: () => Promise.resolve(true),
    };
    // a gateway is given only after both halves have been shown
    await withGateway(parts, () => Promise.resolve());
    return { kind: 'passed', through };
  } catch (thrown) {
    return { kind: 'failed', through, reason: LeafgateError.from(thrown).message };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function bareOptions(options: GatewayOptions, { healthSocket }: GatewayFolder): GatewayOptions {
  const policy = { kind: 'rules', policy: policyAllowingAny(), source: 'built in' } as const;
  const listen = parseListenAddress('127.0.0.1:0');
  const metrics = { kind: 'unix', path: healthSocket } as const;
  const none = { front: undefined, transparentPort: undefined, allowFrom: [], originCaFiles: [] };
  return { ...options, ...none, listen, policy, metrics };
}

async function makePool(file: string, clock: Clock): Promise<string> {
  await writeNewPoolFile(file, createPool({ now: clock.now(), randomBytes: (count) => randomBytes(count) }));
  return file;
}

// Facts about the gateway that runs on a state folder, about the files that clients trust it by, and about the address that
// a new one would listen on.
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import type { GatewayFacts, ListenFacts, RunningFacts, TrustFacts, TrustFileState } from '../../doctor/doctor-facts.ts';
import { createAdminClient } from '../../envoy/admin-client.ts';
import { probeListen } from '../../envoy/check-listen.ts';
import { readRunningEnvoy } from '../../envoy/running-envoy.ts';
import { LeafgateError } from '../../errors.ts';
import type { Pool } from '../../pool/pool-types.ts';
import { parseRoots, readSystemRoots } from '../../projection/system-roots.ts';
import { trustFilePaths } from '../../projection/trust-files.ts';
import type { ListenAddress } from '../../settings/gateway-spec.ts';
import { listenAddressText, parseListenAddress } from '../../settings/parse-listen.ts';
import { encodePkcs12TrustStore } from '../../x509/pkcs12-trust-store.ts';
import type { GatewayOptions } from '../gateway-options.ts';
import { systemReason } from '../../system-error.ts';
import { gatewayTrustDir } from '../gateway-folder.ts';
import { readGatewayNote, type RunningGatewayNote } from '../running-gateway-file.ts';
import { readHealth, type HealthReading } from '../running-status.ts';
import type { StateFolder } from '../state-folder.ts';
import { lockHolder } from '../state-lock.ts';
import { bundleText } from '../../x509/bundle-text.ts';

export type GatheredGateway = { readonly facts: GatewayFacts; readonly note: RunningGatewayNote | undefined };

export async function gatherGateway(state: StateFolder): Promise<GatheredGateway> {
  const holder = lockHolder(state.lockFile);
  if (holder === undefined) return { facts: { kind: 'none' }, note: undefined };
  const note = readGatewayNote(state.gatewayFile);
  if (note?.pid !== holder.pid) return { facts: { kind: 'changing', pid: holder.pid }, note: undefined };
  const [health, admin, unusableBecause] = await Promise.all([
    readHealth(note.healthAddress),
    askEnvoy(note.adminSocket),
    whyNotAnswered(note.sdsSocket),
  ]);
  const { pid, proxyUrl, sdsSocket } = note;
  const running = {
    pid,
    proxyUrl,
    health: healthFacts(health),
    sdsSocket: { path: sdsSocket, unusableBecause },
    admin,
  };
  return { facts: { kind: 'running', ...running }, note };
}

function healthFacts(reading: HealthReading): RunningFacts['health'] {
  if (reading.kind === 'silent') return reading;
  const { status, counts } = reading;
  const { rejectedByEnvoy = 0, lost = 0 } = counts ?? {};
  return { kind: 'said', state: status.state, reasons: status.reasons, rejectedByEnvoy, lost };
}

async function askEnvoy(adminSocket: string): Promise<RunningFacts['admin']> {
  try {
    const { state, version } = await readRunningEnvoy(createAdminClient(adminSocket));
    return { kind: 'said', state, version };
  } catch (thrown) {
    const error = LeafgateError.from(thrown);
    return { kind: 'silent', reason: String(error.fields['detail'] ?? error.message) };
  }
}

const connectMs = 2_000;

/** undefined where somebody accepts a connection */
export function whyNotAnswered(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const settle = (reason: string | undefined): void => {
      socket.destroy();
      resolve(reason);
    };
    socket.setTimeout(connectMs, () => settle(`no answer in ${connectMs / 1000} s`));
    socket.once('connect', () => settle(undefined));
    socket.once('error', (error) => settle(systemReason(error)));
  });
}

/** what `up` would have written for this pool and these roots; nothing to compare with where the pool is no good */
export async function gatherTrust(state: StateFolder, pool: Pool | undefined): Promise<TrustFacts> {
  const { caFile, mergedFile, p12File } = trustFilePaths(gatewayTrustDir(state.gatewayDir));
  const paths = [caFile, mergedFile, p12File];
  const texts = await Promise.all(paths.map((path) => readFile(path, 'latin1').catch(() => undefined)));
  if (pool === undefined || texts.every((text) => text === undefined)) return { kind: 'none' };
  const anchors = pool.cas.map(({ anchor }) => anchor);
  const system = await readSystemRoots();
  const [ca, merged, store] = texts;
  const hashes = anchors.map(({ sha256 }) => sha256);
  const certificates = [...anchors, ...system.certificates];
  const mergedState = compare(merged, bundleText(certificates), hashes);
  const expectedStore = Buffer.from(encodePkcs12TrustStore(certificates.map(({ der }) => der))).toString('latin1');
  return {
    kind: 'compared',
    files: [
      { path: caFile, state: compare(ca, bundleText(anchors), []) },
      { path: mergedFile, state: mergedState },
      // the same in another form: what is wrong with the one is told of the one
      ...(mergedState === 'same' ? [{ path: p12File, state: compare(store, expectedStore, []) }] : []),
    ],
  };
}

/** `needed`: with these in it, it is only old; none of them: nothing but the very same will do */
function compare(text: string | undefined, expected: string, needed: readonly string[]): TrustFileState {
  if (text === undefined) return 'missing';
  if (text === expected) return 'same';
  const held = new Set(parseRoots(text).certificates.map(({ sha256 }) => sha256));
  return needed.length > 0 && needed.every((sha256) => held.has(sha256)) ? 'old' : 'differs';
}

type ListenOptions = Pick<GatewayOptions, 'listen' | 'front' | 'transparentPort'>;

/** every address that a gateway with these options listens on */
export async function gatherListen(options: ListenOptions, gateway: GatewayFacts): Promise<readonly ListenFacts[]> {
  const { listen, front, transparentPort } = options;
  const isOurs = gateway.kind === 'running' && new URL(gateway.proxyUrl).port === String(listen.port);
  const everywhere = transparentPort === undefined ? undefined : parseListenAddress(`0.0.0.0:${transparentPort}`);
  return Promise.all([
    tryListen('--listen', listen, isOurs),
    ...(front?.listen === undefined ? [] : [tryListen('--listen-tls', front.listen, isOurs)]),
    ...(everywhere === undefined ? [] : [tryListen('--transparent', everywhere, isOurs)]),
  ]);
}

async function tryListen(flag: ListenFacts['flag'], listen: ListenAddress, isOurs: boolean): Promise<ListenFacts> {
  const address = listenAddressText(listen);
  try {
    await probeListen(listen);
    return { flag, address, state: 'free', detail: '' };
  } catch (thrown) {
    const error = LeafgateError.from(thrown);
    const detail = String(error.fields['detail'] ?? error.message);
    if (error.code !== 'envoy-listen-in-use') return { flag, address, state: 'refused', detail };
    return { flag, address, state: isOurs ? 'ours' : 'taken', detail };
  }
}

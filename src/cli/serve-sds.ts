// The on-demand SDS server alone, for somebody's own Envoy. It starts only with a usable pool and an explicit choice of
// what may be minted.
import type { AllowedClients } from '../settings/sds-server-settings.ts';
import type { Log } from '../observe/log.ts';
import { createMetrics, type Metrics } from '../observe/create-metrics.ts';
import { startHealthServer, type Health, type HealthListen } from '../observe/health-server.ts';
import { LeafgateError } from '../errors.ts';
import {
  givenTexts,
  isSwitchedOn,
  readQuantities,
  type Quantities,
  type SettingSource,
} from '../settings/read-settings.ts';
import { switchSettings, textSettings } from '../settings/text-settings.ts';
import { closeAndTell, createClosers, type Closers } from './closers.ts';
import type { CommandContext } from './command-context.ts';
import { countLostLines } from './count-lost-lines.ts';
import { parseHealthTarget } from './health-target.ts';
import { createLivePolicy } from './live-policy.ts';
import { readMintingPolicy, type PolicyChoice } from './policy-choice.ts';
import { followPolicy, loadPolicy } from './policy-source.ts';
import { createProblems } from '../problems.ts';
import type { PolicyFile } from '../settings/policy-file.ts';
import { signalHeard } from './stop-signals.ts';
import { onSocket, startMinting, type MintingPlace } from './minting.ts';
import { readSdsListen, type SdsListen } from './sds-listen.ts';
import type { Surroundings } from './surroundings.ts';

export type SdsValues = {
  readonly pool: string;
  readonly listen: string;
};

export function serveSds(values: SdsValues, source: SettingSource, context: CommandContext): Promise<void> {
  return runSds({ ...readSdsOptions(values, source), pool: values.pool }, context);
}

/** Until a signal stops it. */
export async function runSds(options: RunningSds, context: CommandContext): Promise<void> {
  const { io } = context;
  const log = context.createLog(options.json);
  const closers = createClosers();
  const metrics = createMetrics();
  countLostLines(metrics, io);
  const signals = signalHeard(io);
  let isStopping = false;
  try {
    const channel = await openChannel(options.listen, { clock: io.clock, log, metrics, closers });
    const clients = options.followClients?.(channel.useClients, log);
    const loaded = await loadPolicy(options.policy);
    const live = createLivePolicy(loaded, { metrics, clock: io.clock });
    const minting = await startMinting({
      ...options,
      place: channel.place,
      poolFile: options.pool,
      mayMint: live.mayMint,
      clock: io.clock,
      ...{ log, metrics, closers },
      onPool: () => undefined,
    });
    const apply = (file: PolicyFile): Promise<void> => {
      live.take(file);
      minting.server.reviewHeldNames();
      return Promise.resolve();
    };
    followPolicy({ loaded, live, apply, clock: io.clock, log, metrics, closers });
    const ready = (): Health => {
      if (isStopping) return { isOk: false, reasons: ['stopping'] };
      const { isOk, reasons } = minting.readiness();
      return { isOk, reasons: [...reasons, ...live.reasons(), ...channel.reasons(), ...(clients?.() ?? [])] };
    };
    if (options.metrics !== undefined) await serveHealth(options.metrics, { metrics, ready, closers });
    log.info('SDS server is ready', { path: channel.text(), caId: minting.pool().active.id });
    log.info('stopping', { signal: await signals.first });
    isStopping = true;
  } finally {
    await closeAndTell(closers, log);
  }
}

type OpenChannel = {
  readonly place: MintingPlace;
  readonly text: () => string;
  readonly reasons: () => readonly string[];
  readonly useClients: UseClients;
};

async function openChannel(listen: SdsListen, surroundings: Surroundings): Promise<OpenChannel> {
  if (listen.kind === 'unix') return { place: onSocket(listen.path), text: () => listen.path, ...nobodyListed };
  const { prepareSdsChannel } = await import('./sds-channel.ts');
  return prepareSdsChannel(listen, surroundings);
}

const nobodyListed = { reasons: () => [], useClients: () => undefined };

type UseClients = (clients: AllowedClients) => void;

export type RunningSds = SdsOptions & {
  readonly pool: string;
  readonly isPoolMounted?: boolean;
  /** who may connect, where that changes under a running server; gives what is wrong with the list */
  readonly followClients?: (use: UseClients, log: Log) => () => readonly string[];
};

type HealthParts = { readonly metrics: Metrics; readonly ready: () => Health; readonly closers: Closers };

async function serveHealth(listen: HealthListen, { metrics, ready, closers }: HealthParts): Promise<void> {
  const health = await startHealthServer({ listen, metrics, live: () => ({ isOk: true, reasons: [] }), ready });
  closers.add('health', () => health.close());
}

type SdsOptions = {
  readonly policy: PolicyChoice;
  readonly listen: SdsListen;
  readonly quantities: Quantities;
  readonly allowEd25519: boolean;
  readonly json: boolean;
  readonly metrics?: HealthListen;
};

/** @throws one error with everything that is wrong, before anything is started */
function readSdsOptions(values: SdsValues, source: SettingSource): SdsOptions {
  const problems = createProblems();
  const { attempt } = problems;
  const policy = readMintingPolicy(source, problems);
  const listen = attempt(() => readSdsListen(values.listen, source));
  const quantities = attempt(() => readQuantities(source));
  const metrics = givenTexts(textSettings.metrics, source)
    .map((given) => attempt(() => parseHealthTarget(given)))
    .at(-1);
  const allowEd25519 = attempt(() => isSwitchedOn(switchSettings.allowEd25519, source)) ?? false;
  const json = attempt(() => isSwitchedOn(switchSettings.json, source)) ?? false;
  problems.throwAny();
  if (listen === undefined || quantities === undefined) throw LeafgateError.from('a setting was lost');
  return { policy, listen, quantities, allowEd25519, json, ...(metrics === undefined ? {} : { metrics }) };
}

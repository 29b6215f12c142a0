// The on-demand SDS server alone, for somebody's own Envoy. It starts only with a usable pool and an explicit choice of
// what may be minted.
import { createMetrics, type Metrics } from '../observe/create-metrics.ts';
import { startHealthServer, type Health, type HealthListen } from '../observe/health-server.ts';
import { policyAllowingAny, policyAllowingOnly } from '../policy/allow-list.ts';
import type { Policy } from '../policy/policy-types.ts';
import { createPolicyJudge } from '../policy/policy-judge.ts';
import { LeafgateError } from '../errors.ts';
import { parseListenTarget } from '../settings/parse-listen.ts';
import { parseHostPatternSetting } from '../settings/parse-targets.ts';
import {
  givenTexts,
  isSwitchedOn,
  readQuantities,
  type Quantities,
  type SettingSource,
} from '../settings/read-settings.ts';
import { switchSettings, textSettings } from '../settings/text-settings.ts';
import { cliErrors } from './cli-errors.ts';
import { createClosers, type Closers } from './closers.ts';
import type { CommandContext } from './command-context.ts';
import { parseHealthTarget } from './health-target.ts';
import { createProblems, type Problems } from './problems.ts';
import { signalHeard } from './stop-signals.ts';
import { startMinting } from './minting.ts';

export type SdsValues = {
  readonly pool: string;
  readonly listen: string;
  readonly allow?: readonly string[];
  readonly allowAny?: boolean;
};

export async function serveSds(values: SdsValues, source: SettingSource, context: CommandContext): Promise<void> {
  const options = readSdsOptions(values, source);
  const { io } = context;
  const judge = createPolicyJudge(options.policy);
  const log = context.createLog(options.json);
  const closers = createClosers();
  const metrics = createMetrics();
  metrics.beforeScrape(() => metrics.setTotal('leafgate_log_lines_lost_total', io.linesLost()));
  const signals = signalHeard(io);
  let isStopping = false;
  try {
    const minting = await startMinting({
      ...options,
      poolFile: values.pool,
      mayMint: (name) => judge.mayIntercept(name),
      clock: io.clock,
      ...{ log, metrics, closers },
      onPool: () => undefined,
    });
    const ready = (): Health => (isStopping ? { isOk: false, reasons: ['stopping'] } : minting.readiness());
    if (options.metrics !== undefined) await serveHealth(options.metrics, { metrics, ready, closers });
    log.info('SDS server is ready', { path: options.socketPath, caId: minting.pool().active.id });
    log.info('stopping', { signal: await signals.first });
    isStopping = true;
  } finally {
    await closers.closeAll((label, error) =>
      log.warn('something did not stop cleanly', { detail: `${label}: ${LeafgateError.from(error).message}` }),
    );
  }
}

type HealthParts = { readonly metrics: Metrics; readonly ready: () => Health; readonly closers: Closers };

async function serveHealth(listen: HealthListen, { metrics, ready, closers }: HealthParts): Promise<void> {
  const health = await startHealthServer({ listen, metrics, live: () => ({ isOk: true, reasons: [] }), ready });
  closers.add('health', () => health.close());
}

type SdsOptions = {
  readonly policy: Policy;
  readonly socketPath: string;
  readonly quantities: Quantities;
  readonly allowEd25519: boolean;
  readonly json: boolean;
  readonly metrics?: HealthListen;
};

/** @throws one error with everything that is wrong, before anything is started */
function readSdsOptions(values: SdsValues, source: SettingSource): SdsOptions {
  const problems = createProblems();
  const { attempt } = problems;
  const policy = chosenPolicy(values, problems);
  const target = attempt(() => parseSocketPath(values.listen));
  const quantities = attempt(() => readQuantities(source));
  const metrics = givenTexts(textSettings.metrics, source)
    .map((given) => attempt(() => parseHealthTarget(given)))
    .at(-1);
  const allowEd25519 = attempt(() => isSwitchedOn(switchSettings.allowEd25519, source)) ?? false;
  const json = attempt(() => isSwitchedOn(switchSettings.json, source)) ?? false;
  problems.throwAny();
  if (target === undefined || quantities === undefined) throw LeafgateError.from('a setting was lost');
  return { policy, socketPath: target, quantities, allowEd25519, json, ...(metrics === undefined ? {} : { metrics }) };
}

function parseSocketPath(text: string): string {
  const target = parseListenTarget(text);
  if (target.kind !== 'unix') throw cliErrors.error('sds-listen-not-a-socket', { value: text });
  return target.path;
}

/** Keeps mint-choice-missing, mint-choice-twice and each malformed pattern as problems. */
function chosenPolicy({ allow = [], allowAny = false }: SdsValues, { attempt }: Problems): Policy {
  if (allowAny && allow.length === 0) return policyAllowingAny();
  if (allowAny) attempt(() => fail('mint-choice-twice'));
  if (allow.length === 0) attempt(() => fail('mint-choice-missing'));
  return policyAllowingOnly(allow.flatMap((text) => attempt(() => [parseHostPatternSetting(text)]) ?? []));
}

function fail(code: 'mint-choice-twice' | 'mint-choice-missing'): never {
  throw cliErrors.error(code);
}

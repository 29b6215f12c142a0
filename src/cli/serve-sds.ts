// The on-demand SDS server alone, for somebody's own Envoy. It starts only with a usable pool and an explicit choice of
// what may be minted.
import { createMetrics } from '../observe/create-metrics.ts';
import { startHealthServer } from '../observe/health-server.ts';
import { policyAllowingAny, policyAllowingOnly } from '../policy/allow-list.ts';
import type { Policy } from '../policy/policy-types.ts';
import { createPolicyJudge } from '../policy/policy-judge.ts';
import { LeafgateError } from '../errors.ts';
import { parseListenTarget } from '../settings/parse-listen.ts';
import { parseHostPatternSetting } from '../settings/parse-targets.ts';
import { givenTexts, isSwitchedOn, readQuantities, type SettingSource } from '../settings/read-settings.ts';
import { switchSettings, textSettings } from '../settings/text-settings.ts';
import { cliErrors } from './cli-errors.ts';
import { createClosers } from './closers.ts';
import type { CommandContext } from './command-context.ts';
import { healthTarget } from './health-target.ts';
import { signalHeard } from './stop-signals.ts';
import { startMinting } from './minting.ts';

export type SdsValues = {
  readonly pool: string;
  readonly listen: string;
  readonly allow?: readonly string[];
  readonly allowAny?: boolean;
};

export async function serveSds(values: SdsValues, source: SettingSource, context: CommandContext): Promise<void> {
  const { io } = context;
  const policy = chosenPolicy(values);
  const target = parseListenTarget(values.listen);
  if (target.kind !== 'unix') throw cliErrors.error('sds-listen-not-a-socket', { value: values.listen });
  const quantities = readQuantities(source);
  const judge = createPolicyJudge(policy);
  const log = context.createLog(isSwitchedOn(switchSettings.json, source));
  const closers = createClosers();
  const metrics = createMetrics();
  metrics.beforeScrape(() => metrics.setTotal('leafgate_log_lines_lost_total', io.linesLost()));
  const signals = signalHeard(io);
  try {
    const minting = await startMinting({
      poolFile: values.pool,
      socketPath: target.path,
      quantities,
      allowEd25519: isSwitchedOn(switchSettings.allowEd25519, source),
      mayMint: (name) => judge.mayIntercept(name),
      clock: io.clock,
      ...{ log, metrics, closers },
      onPool: () => undefined,
    });
    const metricsOn = givenTexts(textSettings.metrics, source).at(-1);
    if (metricsOn !== undefined) {
      const listen = healthTarget(parseListenTarget(metricsOn.text, metricsOn.setting));
      const live = { isOk: true, reasons: [] };
      const ready = () => ({ isOk: true, reasons: [minting.poolTrouble()].filter((reason) => reason !== undefined) });
      const health = await startHealthServer({ listen, metrics, live: () => live, ready });
      closers.add('health', () => health.close());
    }
    log.info('SDS server is ready', { path: target.path, caId: minting.pool().active.id });
    log.info('stopping', { signal: await signals.first });
  } finally {
    await closers.closeAll((label, error) =>
      log.warn('something did not stop cleanly', { detail: `${label}: ${LeafgateError.from(error).message}` }),
    );
  }
}

/** @throws mint-choice-missing, mint-choice-twice, and one error for all malformed patterns */
function chosenPolicy({ allow = [], allowAny = false }: SdsValues): Policy {
  if (allowAny && allow.length > 0) throw cliErrors.error('mint-choice-twice');
  if (allowAny) return policyAllowingAny();
  const problems: LeafgateError[] = [];
  const patterns = allow.flatMap((text) => {
    try {
      return [parseHostPatternSetting(text)];
    } catch (thrown) {
      problems.push(LeafgateError.from(thrown));
      return [];
    }
  });
  const [first, ...more] = problems;
  if (first !== undefined) throw LeafgateError.all([first, ...more]);
  if (patterns.length === 0) throw cliErrors.error('mint-choice-missing');
  return policyAllowingOnly(patterns);
}

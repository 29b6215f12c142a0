// What `leafgate status` shows to people. Pure.
import { between, epoch, type EpochMs } from '../clock.ts';
import type { GatewayStatus } from './gateway-status.ts';
import type { PolicyInForce } from './policy-in-force.ts';
import type { Counts, EnvoyFacts, RunningStatus } from './running-status.ts';

export function statusText(running: RunningStatus, now: EpochMs): string {
  switch (running.kind) {
    case 'none':
      return `no gateway runs on ${running.stateFolder}\n`;
    case 'changing':
      return `the gateway on ${running.stateFolder} (process ${running.pid}) is starting or stopping\n`;
    case 'silent':
      return `the gateway on ${running.stateFolder} (process ${running.pid}) does not answer: ${running.problem}\n`;
    case 'running':
      return runningText(running, now);
    default:
      return running satisfies never;
  }
}

type Running = Extract<RunningStatus, { kind: 'running' }>;

function runningText({ status, counts, memoryBytes, envoy, stateFolder }: Running, now: EpochMs): string {
  const { gateway, version, pid, startedAt } = status;
  const where = gateway === undefined ? '' : ` on ${gateway.proxyUrl}`;
  const lines = [
    `leafgate ${version}${where}: ${stateWords[status.state]}, up for ${elapsed(startedAt, now)} (process ${pid})`,
    ...status.reasons.map((reason) => `  note     ${reason}`),
    `  Envoy    ${envoyText(envoy)}`,
    ...(gateway === undefined ? [] : gatewayLines(gateway, now)),
    ...(counts === undefined ? ['  counts   could not be read'] : countLines(counts)),
    `  memory   leafgate ${sizeText(memoryBytes)}, Envoy ${sizeText('problem' in envoy ? undefined : envoy.memoryBytes)}`,
    `  state    ${stateFolder}`,
  ];
  return `${lines.join('\n')}\n`;
}

const stateWords: Readonly<Record<GatewayStatus['state'], string>> = {
  starting: 'starting',
  ready: 'ready',
  'not-ready': 'not ready',
  stopping: 'stopping',
};

function envoyText(envoy: EnvoyFacts): string {
  if ('problem' in envoy) return envoy.problem;
  return `${envoy.version}, ${envoy.state}, ${plural(envoy.connections, 'open connection')}`;
}

function gatewayLines(gateway: NonNullable<GatewayStatus['gateway']>, now: EpochMs): readonly string[] {
  const { tlsUrl, transparentPort, ca, policy, trust } = gateway;
  const others = ca.cas > 1 ? `, one of ${ca.cas} in the pool` : '';
  return [
    ...(tlsUrl === undefined ? [] : [`  TLS      ${tlsUrl}`]),
    ...(transparentPort === undefined ? [] : [`  takes    redirected connections on port ${transparentPort}`]),
    `  CA       ${ca.id}, ${ca.subject}, valid to ${ca.notAfter.slice(0, 10)}${others}`,
    `  trust    ${trust.ca}`,
    `           ${trust.caAndSystem}`,
    `  policy   ${policyText(policy)}, in force for ${elapsed(policy.since, now)}`,
  ];
}

function policyText({ source, rules, default: byDefault }: PolicyInForce): string {
  return `${source}: ${rules === 0 ? 'no rule' : plural(rules, 'rule')}, default ${byDefault}`;
}

function countLines(counts: Counts): readonly string[] {
  const { records, failedRecords } = counts;
  const byDecision = Object.entries(records).map(([decision, count]) => `${decision} ${count}`);
  const names = `${counts.liveNames} live; ${counts.minted} minted, ${counts.cached} from the cache`;
  return [
    `  names    ${names}, ${counts.refusedNames} refused`,
    `  records  ${byDecision.join(', ')}; ${failedRecords} failed`,
    ...(counts.rejectedByEnvoy === 0 ? [] : [`  note     Envoy rejected ${plural(counts.rejectedByEnvoy, 'secret')}`]),
    ...(counts.lost === 0 ? [] : [`  note     ${plural(counts.lost, 'line')} of records or log reached nobody`]),
  ];
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function sizeText(bytes: number | undefined): string {
  return bytes === undefined ? 'unknown' : `${Math.round(bytes / 1024 / 1024)} MiB`;
}

const units: readonly (readonly [string, number])[] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
];

/** `2 h 14 min`: the two largest units */
function elapsed(since: string, now: EpochMs): string {
  let left = Math.max(0, Math.floor(between(epoch(Date.parse(since)), now) / 1000));
  const parts: string[] = [];
  for (const [unit, seconds] of units) {
    const count = Math.floor(left / seconds);
    left -= count * seconds;
    if (count > 0 || (unit === 's' && parts.length === 0)) parts.push(`${count} ${unit}`);
  }
  return parts.slice(0, 2).join(' ');
}

// The gateway that runs on the state folder, if one does, and the handshake that proves it. Pure.
import { foundOr, ok, skipped, type Check, type CheckResult } from './check-types.ts';
import type { DoctorFacts, GatewayFacts, HandshakeFacts, RunningFacts, TrustFacts } from './doctor-facts.ts';
import { runningProblems } from './gateway-problems.ts';
import type { Problem } from './problem-table.ts';

const { problem } = runningProblems;

export const gatewayChecks: readonly Check<DoctorFacts>[] = [
  { id: 'gateway', title: 'the running gateway', examine: ({ gateway }) => whileRunning(gateway, answers) },
  { id: 'sds-socket', title: 'its SDS socket', examine: ({ gateway }) => whileRunning(gateway, sdsSocket) },
  { id: 'envoy-admin', title: 'its Envoy', examine: ({ gateway }) => whileRunning(gateway, envoyAdmin) },
  {
    id: 'trust-files',
    title: 'the files that clients trust by',
    examine: ({ trust, gateway }) => files(trust, gateway),
  },
];

/** comes last: everything above may explain it */
export const handshakeCheck: Check<DoctorFacts> = {
  id: 'handshake',
  title: 'a handshake with both trusts',
  examine: ({ handshake }) => livePair(handshake),
};

function whileRunning(gateway: GatewayFacts, examine: (running: RunningFacts) => CheckResult): CheckResult {
  switch (gateway.kind) {
    case 'none':
      return skipped('no gateway runs on this state folder');
    case 'changing':
      return skipped(`the gateway (process ${gateway.pid}) is starting or stopping`);
    case 'running':
      return examine(gateway);
    default:
      return gateway satisfies never;
  }
}

function answers({ pid, health, proxyUrl }: RunningFacts): CheckResult {
  if (health.kind === 'silent') return foundOr([problem('gateway-silent', { pid, reason: health.reason })], '');
  const { state, reasons, rejectedByEnvoy, lost } = health;
  const reason = reasons.join(', ');
  const problems: Problem[] = [];
  if (state !== 'ready') problems.push(problem('gateway-not-ready', { pid, state, reason }));
  else if (reasons.length > 0) problems.push(problem('gateway-remarks', { pid, reason }));
  if (rejectedByEnvoy > 0) problems.push(problem('secrets-rejected', { count: rejectedByEnvoy }));
  if (lost > 0) problems.push(problem('records-lost', { count: lost }));
  return foundOr(problems, `ready on ${proxyUrl} (process ${pid})`);
}

function sdsSocket({ sdsSocket: { path, unusableBecause: reason } }: RunningFacts): CheckResult {
  return foundOr(reason === undefined ? [] : [problem('sds-socket-gone', { path, reason })], path);
}

function envoyAdmin({ admin }: RunningFacts): CheckResult {
  if (admin.kind === 'silent') return foundOr([problem('envoy-admin-silent', { reason: admin.reason })], '');
  const { state, version } = admin;
  return foundOr(state === 'LIVE' ? [] : [problem('envoy-not-live', { state })], `${version}, ${state}`);
}

function files(trust: TrustFacts, gateway: GatewayFacts): CheckResult {
  if (trust.kind === 'none') return skipped('there are none yet');
  // while no gateway runs, nobody has to be able to reach one by them
  const isUsed = gateway.kind === 'running';
  const problems = trust.files.flatMap(({ path, state }) => {
    if (state === 'same') return [];
    return [problem(isUsed && state !== 'old' ? 'trust-files-differ' : 'trust-files-old', { path })];
  });
  return foundOr(problems, trust.files.map(({ path }) => path).join(', '));
}

function livePair(handshake: HandshakeFacts): CheckResult {
  switch (handshake.kind) {
    case 'passed':
      return ok(`through ${handshake.through}: the gateway's CA is needed, and enough`);
    case 'skipped':
      return skipped(handshake.why);
    case 'failed': {
      const { through, reason } = handshake;
      return foundOr([problem('handshake-failed', { through, reason })], '');
    }
    default:
      return handshake satisfies never;
  }
}

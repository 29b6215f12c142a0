// What `up` and `run` have in common around a gateway: metrics, health, the order of stopping, and what a signal does.
import { createMetrics } from '../observe/create-metrics.ts';
import type { Health, HealthListen } from '../observe/health-server.ts';
import { startHealthServer } from '../observe/health-server.ts';
import type { Log } from '../observe/log.ts';
import type { LeafgateError } from '../errors.ts';
import { closeAndTell, createClosers } from './closers.ts';
import { countLostLines } from './count-lost-lines.ts';
import type { Surroundings } from './surroundings.ts';
import type { Io } from './command-context.ts';
import { startGateway, type Gateway, type GatewayChoices } from './gateway.ts';
import { gatewayStatus, type GatewayStatus, type ProcessFacts } from './gateway-status.ts';
import { readVersion } from './read-version.ts';

export type SessionParts = GatewayChoices & {
  readonly io: Io;
  readonly log: Log;
  /** ends a start that is still under way */
  readonly interrupted: Promise<unknown>;
};

/** the outcome of a start that a signal ended */
export const interruptedStart = Symbol('interrupted start');

/**
 * Starts a gateway, lets `use` work with it, and stops everything afterwards, also when the start or `use` fails. A gateway
 * that ends by itself settles `ended`; `use` must then come to its end, and what ended the gateway is thrown.
 */
export async function withGateway<Result>(
  parts: SessionParts,
  use: (gateway: Gateway, ended: Promise<unknown>, healthAddress: string) => Promise<Result>,
): Promise<Result | typeof interruptedStart> {
  const closers = createClosers();
  const metrics = createMetrics();
  countLostLines(metrics, parts.io);
  const state: SessionState = {};
  const own = { version: readVersion(), pid: process.pid, startedAt: parts.io.clock.now() };
  closers.add('sockets', () => parts.folder.removeTemporary());
  try {
    const health = await startHealthServer({
      listen: healthListen(parts),
      metrics,
      live: () => ({ isOk: true, reasons: [] }),
      ready: () => readiness(state),
      status: () => statusOf(state, own),
    });
    closers.add('health', () => health.close());
    const gateway = await startUnlessInterrupted(parts, { metrics, closers });
    if (gateway === undefined) return interruptedStart;
    state.gateway = gateway;
    const ended = gateway.failed.then((failure) => (state.failure = failure));
    const result = await use(gateway, ended, health.address);
    if (state.failure !== undefined) throw state.failure;
    return result;
  } finally {
    state.isStopping = true;
    await closeAndTell(closers, parts.log);
  }
}

async function startUnlessInterrupted(
  parts: SessionParts,
  { metrics, closers }: Pick<Surroundings, 'metrics' | 'closers'>,
): Promise<Gateway | undefined> {
  const abort = new AbortController();
  const { env, clock, linesLost } = parts.io;
  const surroundings = { metrics, closers, env, clock, outputLost: linesLost, aborted: abort.signal };
  const starting = startGateway({ ...parts, ...surroundings });
  const interrupted = parts.interrupted.then(() => undefined);
  const gateway = await Promise.race([starting, interrupted]);
  if (gateway !== undefined) return gateway;
  abort.abort();
  // what the start is busy with ends by the abort; its failure is the interruption itself
  await starting.catch(() => undefined);
  return undefined;
}

type SessionState = { gateway?: Gateway; failure?: LeafgateError; isStopping?: boolean };

function readiness({ gateway, failure, isStopping }: SessionState): Health {
  if (failure !== undefined) return { isOk: false, reasons: [failure.message] };
  if (isStopping === true) return { isOk: false, reasons: ['stopping: open connections are drained'] };
  if (gateway === undefined) return { isOk: false, reasons: ['starting: the self-check has not passed yet'] };
  return gateway.readiness();
}

function statusOf(state: SessionState, own: ProcessFacts): GatewayStatus {
  const { gateway, isStopping = false } = state;
  return gatewayStatus({ own, health: readiness(state), isStopping, gateway });
}

function healthListen({ options, folder }: SessionParts): HealthListen {
  return options.metrics ?? { kind: 'unix', path: folder.healthSocket };
}

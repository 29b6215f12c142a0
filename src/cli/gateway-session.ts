// What `up` and `run` have in common around a gateway: metrics, health, the order of stopping, and what a signal does.
import { createMetrics } from '../observe/create-metrics.ts';
import type { Health } from '../observe/health-server.ts';
import { startHealthServer } from '../observe/health-server.ts';
import type { Log } from '../observe/log.ts';
import { LeafgateError } from '../errors.ts';
import { createClosers } from './closers.ts';
import type { Io } from './command-context.ts';
import { healthTarget } from './health-target.ts';
import { startGateway, type Gateway, type GatewayChoices } from './gateway.ts';

export type SessionParts = GatewayChoices & {
  readonly io: Io;
  readonly log: Log;
  /** ends a start that is still under way */
  readonly interrupted: Promise<unknown>;
};

/** the outcome of a start that a signal ended */
export const interruptedStart = Symbol('interrupted start');

/**
 * Starts a gateway, lets `use` work with it, and stops everything afterwards, also when the start or `use` fails.
 * Rejects with what ended the gateway when it ends by itself.
 */
export async function withGateway<Result>(
  parts: SessionParts,
  use: (gateway: Gateway) => Promise<Result>,
): Promise<Result | typeof interruptedStart> {
  const closers = createClosers();
  const metrics = createMetrics();
  metrics.beforeScrape(() => metrics.setTotal('leafgate_log_lines_lost_total', parts.io.linesLost()));
  const state: { gateway?: Gateway; failure?: LeafgateError } = {};
  closers.add('sockets', () => parts.folder.removeTemporary());
  try {
    const health = await startHealthServer({
      listen: healthListen(parts),
      metrics,
      live: () => ({ isOk: true, reasons: [] }),
      ready: () => readiness(state),
    });
    closers.add('health', () => health.close());
    const { env, clock } = parts.io;
    const starting = startGateway({ ...parts, metrics, closers, env, clock });
    const gateway = await Promise.race([starting, parts.interrupted.then(() => undefined)]);
    if (gateway === undefined) return interruptedStart;
    state.gateway = gateway;
    const failed = gateway.failed.then((failure) => {
      state.failure = failure;
      throw failure;
    });
    return await Promise.race([use(gateway), failed]);
  } finally {
    await closers.closeAll((label, error) => {
      parts.log.warn('something did not stop cleanly', { detail: `${label}: ${LeafgateError.from(error).message}` });
    });
  }
}

function readiness({ gateway, failure }: { gateway?: Gateway; failure?: LeafgateError }): Health {
  if (failure !== undefined) return { isOk: false, reasons: [failure.message] };
  if (gateway === undefined) return { isOk: false, reasons: ['starting: the self-check has not passed yet'] };
  const trouble = gateway.minting.poolTrouble();
  return { isOk: true, reasons: trouble === undefined ? [] : [`the last good pool signs: ${trouble}`] };
}

function healthListen({ options, folder }: SessionParts): Parameters<typeof startHealthServer>[0]['listen'] {
  return options.metrics === undefined ? { kind: 'unix', path: folder.healthSocket } : healthTarget(options.metrics);
}

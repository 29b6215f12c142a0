// The `grpc-timeout` header (doc/PROTOCOL-HTTP2.md of gRPC): at most eight digits and a unit. Pure.
import { millis, type DurationMs } from '../clock.ts';

const unitMs: { readonly [unit: string]: number } = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 0.001, n: 0.000_001 };

/** what a Node timer can wait, 25 days; a deadline beyond it is none */
const longestTimerMs = 2 ** 31 - 1;

export function isGrpcTimeout(text: string | string[]): boolean {
  return typeof text === 'string' && /^\d{1,8}[HMSmun]$/.test(text);
}

/** From now on; undefined where there is none, or none that can be waited for. */
export function parseGrpcTimeout(text: string | string[] | undefined): DurationMs | undefined {
  if (typeof text !== 'string') return undefined;
  const ms = Number(text.slice(0, -1)) * (unitMs[text.slice(-1)] ?? Number.NaN);
  return ms <= longestTimerMs ? millis(ms) : undefined;
}

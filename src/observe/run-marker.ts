// The line that leafgate writes at the head of the access log before it starts Envoy: whatever an earlier Envoy had open
// ended with it, also where it was killed and could not say so.
import type { EpochMs } from '../clock.ts';

const start = '{"leg":"gateway",';

export function runMarker(now: EpochMs): string {
  return `${start}"start":"${new Date(now).toISOString()}"}\n`;
}

export function isRunMarker(line: string): boolean {
  return line.startsWith(start);
}

// What the commands that read the access log have in common: how it is cut up, and how a joiner learns what came before the
// place where reading begins.
import type { AccessRecord } from '../observe/access-record.ts';
import { readSegment } from '../observe/read-segment.ts';
import type { RecordJoiner } from '../observe/record-joiner.ts';
import { selfCheckHost } from '../settings/gateway-spec.ts';
import type { ShownRecords } from './record-position.ts';

/** the names of an origin's certificate stand in the reason twice, and there may be thousands */
export const maxLineBytes = 1024 * 1024;

/** so that what is kept never falls below seven eighths of its bound */
export const segmentsKept = 8;

/** the gateway's own requests; a client that only writes their name into its Host header is refused, and that is shown */
export function isOfSelfCheck({ host, outcome }: AccessRecord): boolean {
  return host === selfCheckHost && outcome !== 'refused';
}

export type WarmUp = { readonly path: string; readonly joiner: RecordJoiner; readonly until: ShownRecords };

/**
 * Lets the joiner see again what an earlier run has shown, so that it knows the tunnels that were open. Of what lies further
 * back than the segment before, nobody waits for a line any more but tunnels that stood for long.
 */
export async function warmUp({ path, joiner, until }: WarmUp): Promise<void> {
  const onLine = (line: string): void => void joiner.take(line);
  await readSegment({ path, number: until.segment - 1, maxLineBytes, onLine });
  await readSegment({ path, number: until.segment, untilOffset: until.offset, maxLineBytes, onLine });
  joiner.sweep(until.sweptAt);
}

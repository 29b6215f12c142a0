// How far the records of a gateway have been shown, kept beside its access log: the next run goes on from there, so that a
// restart neither shows a record twice nor leaves one out.
import { z } from 'zod';
import { epoch, millis, type Clock, type EpochMs } from '../clock.ts';
import type { LogPosition } from '../observe/log-segments.ts';
import { readRegularFile } from '../read-regular-file.ts';
import { replaceFile } from '../replace-file.ts';

export type ShownRecords = LogPosition & {
  /** until when tunnels that came to nothing had been shown */
  readonly sweptAt: EpochMs;
  /** all of the run was shown, what had not ended included */
  readonly isFinished: boolean;
};

const shownSchema = z.object({
  segment: z.int().positive(),
  offset: z.int().nonnegative(),
  sweptAt: z.number(),
  isFinished: z.boolean(),
});
const maxBytes = 1024;

/** Undefined where none was kept, or it cannot be read: then nothing of earlier runs is shown. */
export async function readShownRecords(accessLog: string): Promise<ShownRecords | undefined> {
  const content = await readRegularFile(noteOf(accessLog), maxBytes);
  if (content.kind !== 'bytes') return undefined;
  try {
    const parsed = shownSchema.safeParse(JSON.parse(new TextDecoder().decode(content.bytes)));
    return parsed.success ? { ...parsed.data, sweptAt: epoch(parsed.data.sweptAt) } : undefined;
  } catch {
    return undefined;
  }
}

export type ShownNote = {
  /** written soon; of several the last counts */
  write(shown: ShownRecords): void;
  /** settles when the last one is on the disk, or could not be written */
  flush(): Promise<void>;
};

/** what a kill may show twice, and an fsync every so often costs nothing */
const noteEveryMs = millis(500);

export function createShownNote(accessLog: string, clock: Clock, failed: (error: unknown) => void): ShownNote {
  let next: ShownRecords | undefined;
  let isWaiting = false;
  let current: Promise<void> = Promise.resolve();
  const writeNext = async (): Promise<void> => {
    const shown = next;
    next = undefined;
    if (shown !== undefined) await replaceFile(noteOf(accessLog), `${JSON.stringify(shown)}\n`, 0o600).catch(failed);
  };
  const inTurn = (): Promise<void> => (current = current.then(writeNext));
  return {
    write: (shown) => {
      next = shown;
      if (isWaiting) return;
      isWaiting = true;
      clock.after(noteEveryMs, () => {
        isWaiting = false;
        void inTurn();
      });
    },
    flush: inTurn,
  };
}

function noteOf(accessLog: string): string {
  return `${accessLog}.shown`;
}

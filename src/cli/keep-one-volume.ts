// Trust delivery for one actor: its files are there, or the start fails; then its volume file is followed.
import { followTextFile } from '../projection/follow-text-file.ts';
import type { FileContent } from '../read-regular-file.ts';
import { volumeWords } from '../settings/delivery-errors.ts';
import type { TrustVolume } from '../settings/trust-volume.ts';
import { awaitProjection } from './await-projection.ts';
import { readVolume } from './delivery-inputs.ts';
import type { ProjectionParts } from './projection-parts.ts';

export type OneVolume = {
  readonly file: string;
  readonly isOnce: boolean;
  /** what stood in the file at the start */
  readonly content: FileContent;
  readonly volume: TrustVolume;
};

/** Settles when the first projection is done. Rejects with everything that stands against it. */
export async function keepOneVolume(one: OneVolume, parts: ProjectionParts): Promise<void> {
  const { file, isOnce, content, volume } = one;
  const { keeper, book, log, troubles, start, io, closers } = parts;
  const { clock } = io;
  start.initial = new Set([file]);
  keeper.put(file, volume);
  const outcome = await awaitProjection({ name: file, volume, book, clock, mayKeep: !isOnce });
  if (outcome === 'kept') log.warn('the trust files of an earlier run stay in use, since they cannot be renewed now');
  if (isOnce) return;
  const follower = followTextFile({
    ...{ path: file, maxBytes: volumeWords.maxBytes, clock, known: content },
    changed: (changed) => {
      const next = readVolume(changed, file);
      if (next.kind === 'refused') {
        troubles.refused({ of: 'volume', volume: file }, next.problems);
        return;
      }
      troubles.taken({ of: 'volume', volume: file });
      keeper.put(file, next.value);
    },
  });
  closers.add('volume file', () => follower.close());
}

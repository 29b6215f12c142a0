// Trust delivery for all actors of a node: a volume file that comes, changes or goes is one actor's affair, and what an
// earlier run wrote for actors that are gone is taken away.
import { readdirSync } from 'node:fs';
import { readVolumeFileName } from '../projection/actor-name.ts';
import { followActors } from '../projection/follow-actors.ts';
import { systemReason } from '../system-error.ts';
import { cliErrors } from './cli-errors.ts';
import { volumeWords } from '../settings/delivery-errors.ts';
import { fixedLimits } from '../settings/quantity-settings.ts';
import { readVolume } from './delivery-inputs.ts';
import type { ProjectionParts } from './projection-parts.ts';

/** Settles when every volume file that is there has been read. */
export async function keepActors(parts: ProjectionParts): Promise<void> {
  const { settings, io, log, closers, keeper, troubles, start } = parts;
  if (settings.what.kind !== 'actors') return;
  const { folder } = settings.what;
  mustBeReadable(folder);
  const done = Promise.withResolvers<void>();
  const actors = new Set<string>();
  // one whose file was broken from the start has nothing that could be waited for
  const readable = new Set<string>();
  const follower = followActors({
    ...{ folder, clock: io.clock },
    ...{ maxFileBytes: volumeWords.maxBytes, maxActors: fixedLimits.followedActors.value },
    events: {
      fileRead: (actor, content) => {
        actors.add(actor);
        const reading = readVolume(content, `${actor}.yaml`);
        if (reading.kind === 'refused') {
          troubles.refused({ of: 'volume', volume: actor }, reading.problems);
          return;
        }
        troubles.taken({ of: 'volume', volume: actor });
        readable.add(actor);
        keeper.put(actor, reading.value);
      },
      fileGone: (actor) => {
        actors.delete(actor);
        readable.delete(actor);
        troubles.gone({ of: 'volume', volume: actor });
        keeper.remove(actor);
      },
      fileRefused: (path, detail) => log.warn('a file among the volume files is none', { path, detail }),
      folderUnreadable: (detail) =>
        log.warn('the folder of volume files cannot be read, and what was read stays in force', {
          path: folder,
          detail,
        }),
      folderReadable: () => log.info('the folder of volume files can be read again', { path: folder }),
      firstLookDone: () => {
        for (const actor of writtenEarlier(parts)) if (!actors.has(actor)) keeper.remove(actor);
        start.initial = new Set(readable);
        done.resolve();
      },
    },
  });
  closers.add('volume files', () => follower.close());
  await done.promise;
}

function mustBeReadable(folder: string): void {
  try {
    readdirSync(folder);
  } catch (thrown) {
    throw cliErrors.error('project-actors-unreadable', { folder, detail: systemReason(thrown) }, thrown);
  }
}

/** names of folders that may be of actors; what leafgate did not write there stays whatever it is called */
export function writtenEarlier({ settings: { dir } }: Pick<ProjectionParts, 'settings'>): readonly string[] {
  try {
    const folders = readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return folders.map(({ name }) => name).filter((name) => readVolumeFileName(`${name}.yaml`).kind === 'actor');
  } catch {
    // it is made when the first file is written
    return [];
  }
}

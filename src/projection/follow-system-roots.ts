// The system roots as a backend: of this machine, or of an actor's root file system. Packages replace them now and then.
// An edge.
import { millis, seconds, type Clock } from '../clock.ts';
import type { Log } from '../observe/log.ts';
import { pendingState, type Backing } from './backing.ts';
import { followSettled } from '../follow-settled.ts';
import { parseRootsText, readRootsText, rootsPlace, type RootsText } from './system-roots.ts';

export type FollowedSystemRoots = {
  /** the root file system that they are read from; undefined: this machine's own */
  readonly root: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly changed: () => void;
};

/** with the confirming look a change is taken within two seconds; a look at a file of 220 KB costs 0.3 ms */
const lookEvery = millis(1500);
/** hundreds of files */
const lookAtFolderEvery = seconds(30);

export function followSystemRoots({ root, clock, log, changed }: FollowedSystemRoots): Backing {
  let state = pendingState;
  const place = rootsPlace(root);
  const looks = followSettled<RootsText>({
    clock,
    lookAgainAfter: ({ isFolder }) => (isFolder ? lookAtFolderEvery : lookEvery),
    look: () => readRootsText(place),
    isSame: (one, other) => one.path === other.path && one.text === other.text,
    settled: (found) => {
      const { path, certificates, skipped } = parseRootsText(found);
      if (path === undefined) {
        log.warn('no root certificates were found where systems keep them: the roots built into leafgate are taken', {
          path: root ?? '/',
        });
      } else if (skipped > 0) {
        log.info('some system roots cannot be read and are left out', { path, detail: `${skipped} of them` });
      }
      state = { kind: 'certificates', certificates };
      changed();
    },
  });
  return { state: () => state, close: () => looks.close() };
}

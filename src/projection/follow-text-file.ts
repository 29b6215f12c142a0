// Follows one small file: another content is told once two looks have found the same, so that half of a file that is being
// written is never taken for the whole. Looking again and again is what works for symlink swaps (Kubernetes' ..data), for
// replaced files and on every file system. Must not know what the file says.
import { millis, type Clock, type Timer } from '../clock.ts';
import { readRegularFile, type FileContent } from '../read-regular-file.ts';

export type FollowedFile = {
  readonly path: string;
  readonly maxBytes: number;
  readonly clock: Clock;
  /** what was read at the start */
  readonly known: FileContent;
  /** another content, or another reason why there is none */
  readonly changed: (content: FileContent) => void;
};

const lookEvery = millis(250);
const settleFor = millis(100);

export function followTextFile(file: FollowedFile): { close(): void } {
  const { path, maxBytes, clock, changed } = file;
  let told = file.known;
  let unsettled: FileContent | undefined;
  let isClosed = false;
  let timer: Timer;
  const look = async (): Promise<void> => {
    const content = await readRegularFile(path, maxBytes);
    if (isClosed) return;
    const isNews = !isSame(content, told);
    const isSettled = unsettled !== undefined && isSame(content, unsettled);
    unsettled = isNews && !isSettled ? content : undefined;
    if (isNews && isSettled) {
      told = content;
      changed(content);
    }
    timer = clock.after(unsettled === undefined ? lookEvery : settleFor, () => void look());
  };
  timer = clock.after(lookEvery, () => void look());
  return {
    close: () => {
      isClosed = true;
      timer.cancel();
    },
  };
}

function isSame(one: FileContent, other: FileContent): boolean {
  switch (one.kind) {
    case 'bytes':
      return other.kind === 'bytes' && Buffer.compare(one.bytes, other.bytes) === 0;
    case 'unreadable':
      return other.kind === 'unreadable' && one.reason === other.reason;
    case 'too-large':
      return other.kind === 'too-large';
    default:
      return one satisfies never;
  }
}

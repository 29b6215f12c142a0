// Follows one small file whose content is known at the start: another one is told, or why there is none any more. Must not
// know what the file says.
import { millis, type Clock } from '../clock.ts';
import { isSameContent, readRegularFile, type FileContent } from '../read-regular-file.ts';
import { followSettled } from '../follow-settled.ts';

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

export function followTextFile({ path, maxBytes, clock, known, changed }: FollowedFile): { close(): Promise<void> } {
  return followSettled({
    ...{ clock, known, isSame: isSameContent, lookAgainAfter: () => lookEvery },
    look: () => readRegularFile(path, maxBytes),
    settled: changed,
  });
}

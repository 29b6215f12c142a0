// Follows a folder with one volume file for each of thousands of actors: what is new, changed or gone is told within a
// second, once two looks agree on it. A folder that cannot be read changes nothing. Looking at names and dates again and
// again works for every way of writing, Kubernetes' ..data among them. Must not know what the files say.
import { createHash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { millis, seconds, type Clock, type Timer } from '../clock.ts';
import { readRegularFile, type FileContent } from '../read-regular-file.ts';
import { systemReason } from '../system-error.ts';
import { readVolumeFileName } from './actor-name.ts';

type ActorsEvents = {
  /** new, or another content than before */
  fileRead(actor: string, content: FileContent): void;
  fileGone(actor: string): void;
  /** a file that is nobody's volume file; once while it is there */
  fileRefused(name: string, reason: string): void;
  /** once for each reason; what was read stays */
  folderUnreadable(reason: string): void;
  folderReadable(): void;
  /** every file that was there at the start has been told of */
  firstLookDone(): void;
};

export type ActorsRequest = {
  readonly folder: string;
  readonly maxFileBytes: number;
  readonly maxActors: number;
  readonly clock: Clock;
  readonly events: ActorsEvents;
};

/** a file that comes, goes or is replaced changes the date of its folder, which costs one question to the system */
const lookEvery = millis(200);
/** one that is written in place does not: each is asked for its own dates, 4 µs a file (measured) */
const lookAtAllEvery = seconds(1);
const settleFor = millis(100);
/** what was written this lately may still be being written */
const youngMs = 1000;
const readsAtOnce = 16;

export function followActors(request: ActorsRequest): { close(): void } {
  const follower = new FollowedFolder(request);
  void follower.look();
  return follower;
}

/** what the system says of a file: the same as long as nobody writes it */
type Mark = string;

type KnownFile = {
  readonly name: string;
  readonly actor: string;
  /** as it was when it was read */
  taken: Mark | undefined;
  /** as the last look found it; undefined: it was not there */
  seen: Mark | undefined;
  /** of the content that was told; undefined: none was */
  digest: string | undefined;
};

class FollowedFolder {
  readonly #request: ActorsRequest;
  readonly #files = new Map<string, KnownFile>();
  /** names of others that have been told of */
  readonly #refused = new Set<string>();
  #folderMark: Mark | undefined;
  #trouble: string | undefined;
  #lookedAtAllAt = -Infinity;
  #isUnsettled = true;
  #isFirst = true;
  #isClosed = false;
  #timer: Timer | undefined;

  constructor(request: ActorsRequest) {
    this.#request = request;
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  async look(): Promise<void> {
    const { clock, events, folder } = this.#request;
    try {
      const mark = markOf(folder);
      const isDue = clock.monotonic() - this.#lookedAtAllAt >= lookAtAllEvery;
      if (this.#isUnsettled || isDue || mark !== this.#folderMark) await this.#lookAtAll();
      this.#folderMark = mark;
      this.#tellTrouble(undefined);
      if (this.#isFirst && !this.#isClosed) events.firstLookDone();
      this.#isFirst = false;
    } catch (thrown) {
      this.#isUnsettled = false;
      this.#tellTrouble(systemReason(thrown));
    }
    if (this.#isClosed) return;
    this.#timer = clock.after(this.#isUnsettled ? settleFor : lookEvery, () => void this.look());
  }

  async #lookAtAll(): Promise<void> {
    const { clock, folder } = this.#request;
    const names = readdirSync(folder);
    this.#lookedAtAllAt = clock.monotonic();
    this.#isUnsettled = false;
    const due = names.flatMap((name) => this.#dueFile(name) ?? []);
    this.#forget(new Set(names));
    await inParallel(due, readsAtOnce, (file) => this.#read(file));
  }

  /** the file, when it is to be read now */
  #dueFile(name: string): KnownFile | undefined {
    const file = this.#files.get(name) ?? this.#newFile(name);
    if (file === undefined) return undefined;
    const mark = fileMark(join(this.#request.folder, name));
    const isSettled = this.#isFirst || mark === file.seen;
    file.seen = mark;
    if (mark === file.taken) return undefined;
    if (!isSettled) {
      this.#isUnsettled = true;
      return undefined;
    }
    file.taken = mark;
    return file;
  }

  #newFile(name: string): KnownFile | undefined {
    const meant = readVolumeFileName(name);
    if (meant.kind === 'hidden') return undefined;
    const { maxActors } = this.#request;
    const isFull = this.#files.size >= maxActors;
    if (meant.kind === 'refused' || isFull) {
      this.#refuse(name, meant.kind === 'refused' ? meant.reason : `there are ${maxActors} volume files already`);
      return undefined;
    }
    this.#refused.delete(name);
    const file: KnownFile = { name, actor: meant.actor, taken: undefined, seen: undefined, digest: undefined };
    this.#files.set(name, file);
    return file;
  }

  #refuse(name: string, reason: string): void {
    // as many as may be followed are remembered: whoever fills the folder must not fill the memory
    if (this.#refused.has(name) || this.#refused.size >= this.#request.maxActors) return;
    this.#refused.add(name);
    this.#request.events.fileRefused(name, reason);
  }

  #forget(names: ReadonlySet<string>): void {
    for (const name of this.#refused) if (!names.has(name)) this.#refused.delete(name);
    for (const file of this.#files.values()) {
      if (names.has(file.name)) continue;
      if (file.seen !== undefined) {
        file.seen = undefined;
        this.#isUnsettled = true;
        continue;
      }
      this.#files.delete(file.name);
      if (file.digest !== undefined) this.#request.events.fileGone(file.actor);
    }
  }

  async #read(file: KnownFile): Promise<void> {
    const { folder, maxFileBytes, clock, events } = this.#request;
    const path = join(folder, file.name);
    const content = await readRegularFile(path, maxFileBytes);
    if (this.#isClosed || this.#files.get(file.name) !== file) return;
    if (this.#isFirst && isYoung(path, clock)) {
      // nobody waited whether it is whole: the next look reads it again
      file.taken = undefined;
      this.#isUnsettled = true;
    }
    const digest = digestOf(content);
    if (digest === file.digest) return;
    file.digest = digest;
    events.fileRead(file.actor, content);
  }

  #tellTrouble(reason: string | undefined): void {
    const before = this.#trouble;
    this.#trouble = reason;
    if (reason === before || this.#isClosed) return;
    if (reason === undefined) this.#request.events.folderReadable();
    else this.#request.events.folderUnreadable(reason);
  }
}

function markOf(path: string): Mark {
  const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
  return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
}

/** of what cannot be asked for, a mark of its own: reading says why */
function fileMark(path: string): Mark {
  try {
    return markOf(path);
  } catch (thrown) {
    return systemReason(thrown);
  }
}

function isYoung(path: string, clock: Clock): boolean {
  try {
    return Math.abs(clock.now() - statSync(path).mtimeMs) < youngMs;
  } catch {
    // gone, or a link to itself: the next look finds another mark when that changes
    return false;
  }
}

function digestOf(content: FileContent): string {
  switch (content.kind) {
    case 'bytes':
      return createHash('sha256').update(content.bytes).digest('base64');
    case 'unreadable':
      return `unreadable: ${content.reason}`;
    case 'too-large':
      return content.kind;
    default:
      return content satisfies never;
  }
}

async function inParallel<Item>(
  items: readonly Item[],
  parallel: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  const takeTurns = async (): Promise<void> => {
    for (const item of waiting) await work(item);
  };
  await Promise.all(Array.from({ length: parallel }, takeTurns));
}

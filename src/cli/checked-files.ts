// Files of somebody else's that a running gateway depends on: looked at before they are used, followed, and taken anew
// when they change and are good. What is bad leaves in force what was taken last, and is reported once.
import { createHash } from 'node:crypto';
import { minutes, millis, plus, type Clock, type EpochMs } from '../clock.ts';
import { LeafgateError } from '../errors.ts';
import { followSettled, type SettledFollower } from '../follow-settled.ts';
import { readRegularFile } from '../read-regular-file.ts';
import { cliErrors } from './cli-errors.ts';

export type NamedPath = {
  readonly path: string;
  /** what messages call it: the setting and the path */
  readonly source: string;
};

export type CheckedFilesRequest<Value> = {
  readonly files: readonly NamedPath[];
  readonly clock: Clock;
  /** judges the contents, in the order of the files; throws everything that is wrong at once */
  readonly check: (contents: readonly Uint8Array[], now: EpochMs) => Value;
  /** of a file that cannot be read; by default it is one with certificates */
  readonly unreadable?: (source: string, detail: string) => LeafgateError;
};

type CheckedFilesEvents<Value> = {
  /** the files changed and are good, or are good again */
  readonly taken: (value: Value) => void;
  /** `isInForce`: it is what was taken last that is no good any more, as a certificate that has expired */
  readonly refused: (error: LeafgateError, isInForce: boolean) => void;
};

export interface CheckedFiles<Value> {
  /** what was taken last */
  current(): Value;
  follow(events: CheckedFilesEvents<Value>): void;
  close(): void;
}

/** three of these, for a torn read and a second look, still fit into a second */
const pollEvery = millis(250);
/** what was good may become bad by waiting, and the other way round: certificates have dates */
const examineAgainAfter = minutes(1);
/** a certificate with its chain has some KiB, a bundle of roots a quarter of a MiB */
const maxFileBytes = 4 * 1024 * 1024;

/** Rejects with everything that is wrong when the files cannot be used at the start. */
export async function openCheckedFiles<Value>(request: CheckedFilesRequest<Value>): Promise<CheckedFiles<Value>> {
  const look = await lookAt(request);
  if (look.kind === 'refused') throw look.error;
  return new FollowedFiles(request, look);
}

/** What the files were at one look; `contents` tells different ones apart. */
type Look<Value> = Taken<Value> | Refused;
type Taken<Value> = { readonly kind: 'taken'; readonly value: Value; readonly contents: string };
type Refused = { readonly kind: 'refused'; readonly error: LeafgateError; readonly contents: string };

async function lookAt<Value>(
  request: CheckedFilesRequest<Value>,
  recall?: (contents: string) => Look<Value> | undefined,
): Promise<Look<Value>> {
  const { files, clock, check, unreadable = unreadableCertificate } = request;
  const reads = await Promise.all(files.map((file) => readOne(file, unreadable)));
  const failures = reads.filter((read) => read instanceof LeafgateError);
  const [first, ...more] = failures;
  if (first !== undefined) {
    return { kind: 'refused', error: LeafgateError.all([first, ...more]), contents: failures.map(textOf).join('\n') };
  }
  const bytes = reads.filter((read) => read instanceof Uint8Array);
  const contents = bytes.map((read) => createHash('sha256').update(read).digest('hex')).join(' ');
  const known = recall?.(contents);
  if (known !== undefined) return known;
  try {
    return { kind: 'taken', value: check(bytes, clock.now()), contents };
  } catch (thrown) {
    return { kind: 'refused', error: LeafgateError.from(thrown), contents };
  }
}

async function readOne(
  { path, source }: NamedPath,
  unreadable: (source: string, detail: string) => LeafgateError,
): Promise<Uint8Array | LeafgateError> {
  const read = await readRegularFile(path, maxFileBytes);
  if (read.kind === 'bytes') return read.bytes;
  const detail = read.kind === 'too-large' ? `it is larger than ${maxFileBytes} bytes` : read.reason;
  return unreadable(source, detail);
}

function unreadableCertificate(source: string, detail: string): LeafgateError {
  return cliErrors.error('certificate-file-unreadable', { source, detail });
}

function textOf({ message, problems }: LeafgateError): string {
  return [message, ...problems.map((problem) => problem.message)].join('\n');
}

class FollowedFiles<Value> implements CheckedFiles<Value> {
  readonly #request: CheckedFilesRequest<Value>;
  #taken: Taken<Value>;
  #last: Look<Value>;
  #examineAgainAt: EpochMs;
  #looks: SettledFollower | undefined;

  constructor(request: CheckedFilesRequest<Value>, taken: Taken<Value>) {
    this.#request = request;
    this.#taken = taken;
    this.#last = taken;
    this.#examineAgainAt = plus(request.clock.now(), examineAgainAfter);
  }

  current(): Value {
    return this.#taken.value;
  }

  follow({ taken, refused }: CheckedFilesEvents<Value>): void {
    const { clock } = this.#request;
    this.#looks = followSettled<Look<Value>>({
      ...{ clock, known: this.#taken, isSame, lookAgainAfter: () => pollEvery, confirmAfter: pollEvery },
      look: () => this.#look(),
      // files that are being written, or swapped one after the other, are no news
      isWhole: ({ kind }) => kind === 'taken',
      settled: (look) => {
        if (look.kind === 'taken') taken(look.value);
        else refused(look.error, look.contents === this.#taken.contents);
      },
    });
  }

  close(): void {
    void this.#looks?.close();
  }

  async #look(): Promise<Look<Value>> {
    const look = await lookAt(this.#request, (contents) => this.#recall(contents));
    if (look !== this.#last) this.#examineAgainAt = plus(this.#request.clock.now(), examineAgainAfter);
    this.#last = look;
    if (look.kind === 'taken') this.#taken = look;
    return look;
  }

  /** spares judging the same bytes at each look */
  #recall(contents: string): Look<Value> | undefined {
    const isDue = this.#request.clock.now() >= this.#examineAgainAt;
    return contents === this.#last.contents && !isDue ? this.#last : undefined;
  }
}

function isSame<Value>(one: Look<Value>, other: Look<Value>): boolean {
  if (one.contents !== other.contents) return false;
  if (one.kind === 'taken') return other.kind === 'taken';
  return other.kind === 'refused' && textOf(one.error) === textOf(other.error);
}

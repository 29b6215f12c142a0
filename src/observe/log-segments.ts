// A log in segments: the one that grows has the plain path, those before it are `<path>.<number>`, and numbers only grow. So
// one rename is a whole rotation, and a reader that knows a number knows what comes after it.
import { open, readdir, rename, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { systemCode } from '../system-error.ts';

/** the log holds host names and paths of all clients */
const segmentMode = 0o600;

/** a place between two lines */
export type LogPosition = { readonly segment: number; readonly offset: number };

export function segmentPath(path: string, number: number): string {
  return `${path}.${number}`;
}

/** Numbers of the segments that no longer grow, the oldest first. */
export async function closedSegments(path: string): Promise<readonly number[]> {
  const prefix = `${basename(path)}.`;
  const names = await readdir(dirname(path)).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  });
  return names
    .filter((name) => name.startsWith(prefix) && /^[1-9]\d{0,14}$/.test(name.slice(prefix.length)))
    .map((name) => Number(name.slice(prefix.length)))
    .sort((one, other) => one - other);
}

/** The number that the growing segment will have once it is closed. */
export async function growingSegment(path: string): Promise<number> {
  return ((await closedSegments(path)).at(-1) ?? 0) + 1;
}

/** Undefined where there is none. */
export async function fileSize(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Closes the growing segment by its rename, and makes a new one, private before the writer opens it. */
export async function closeSegment(path: string, number: number): Promise<void> {
  await rename(path, segmentPath(path, number));
  await makeSegment(path);
}

/** `a+` never cuts what is there */
export async function makeSegment(path: string, firstLine = ''): Promise<void> {
  const file = await open(path, 'a+', segmentMode);
  try {
    await file.appendFile(firstLine);
  } finally {
    await file.close();
  }
}

/** A new run of the writer begins a segment of its own: the last line of the one before may be a torn one. */
export async function beginRun(path: string, firstLine: string): Promise<number> {
  const number = await growingSegment(path);
  const size = await fileSize(path);
  if (size === undefined || size === 0) {
    await makeSegment(path, firstLine);
    return number;
  }
  await rename(path, segmentPath(path, number));
  await makeSegment(path, firstLine);
  return number + 1;
}

/** The segment of that number, wherever it is by now; undefined when it is gone or not there yet. */
export async function openSegment(path: string, number: number): Promise<FileHandle | undefined> {
  // numbers begin with 1
  if (number < 1) return undefined;
  for (;;) {
    const closed = await openIfThere(segmentPath(path, number));
    if (closed !== undefined) return closed;
    const growing = await openIfThere(path);
    if (growing === undefined) return undefined;
    // a rotation between the two looks makes it another segment's file
    const last = (await closedSegments(path)).at(-1) ?? 0;
    if (last < number) return growing;
    await growing.close();
    if (last > number && (await fileSize(segmentPath(path, number))) === undefined) return undefined;
  }
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

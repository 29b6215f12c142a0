// The unix socket's place in the file system: only its owner may connect, a stale socket of a dead server makes way, a
// live one never does. Must not know gRPC.
import { lstatSync, statSync, unlinkSync } from 'node:fs';
import { connect, type Server } from 'node:net';
import { dirname } from 'node:path';
import { LeafgateError } from '../errors.ts';
import { sdsErrors } from './sds-errors.ts';

/** sun_path has 108 bytes on Linux, 104 on macOS, with a final NUL */
const maxPathBytes = process.platform === 'linux' ? 107 : 103;

/** write permission of group and others; the sticky bit keeps them from replacing what is not theirs */
const writableByOthers = 0o022;
const sticky = 0o1000;

/** read and write for the owner, nothing for anybody else (0600) */
const privateUmask = 0o177;

/** a server that does not even accept within this is dead */
const probeMs = 1000;

/** Listens on the path with mode 0600. Throws the `sds-socket-…` errors. */
export async function listenPrivately(server: Server, path: string): Promise<void> {
  const length = Buffer.byteLength(path);
  if (length > maxPathBytes) throw sdsErrors.error('sds-socket-path-too-long', { path, length, max: maxPathBytes });
  checkFolder(path);
  await clearStaleSocket(path);
  await new Promise<void>((resolve, reject) => {
    const failed = (error: Error): void => reject(socketFailed(path, error));
    server.once('error', failed);
    // the socket file is born inside listen(), which is synchronous for a path: no moment with a wider mode
    const umask = process.umask(privateUmask);
    try {
      server.listen(path, () => {
        server.off('error', failed);
        resolve();
      });
    } finally {
      process.umask(umask);
    }
  });
}

function checkFolder(path: string): void {
  const folder = dirname(path);
  let mode: number;
  try {
    mode = statSync(folder).mode;
  } catch (error) {
    throw socketFailed(path, error);
  }
  if ((mode & writableByOthers) !== 0 && (mode & sticky) === 0) {
    throw sdsErrors.error('sds-socket-folder-unsafe', { folder });
  }
}

async function clearStaleSocket(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw sdsErrors.error('sds-socket-path-taken', { path });
  if (await isAnswered(path)) throw sdsErrors.error('sds-socket-in-use', { path });
  // another server may have taken the place of the dead one while we asked
  if (lstatSync(path, { throwIfNoEntry: false })?.ino !== found.ino)
    throw sdsErrors.error('sds-socket-in-use', { path });
  try {
    unlinkSync(path);
  } catch (error) {
    throw socketFailed(path, error);
  }
}

/** Whether a server listens; refused means nobody does, anything else (no permission, silence) may be somebody. */
function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const settle = (answered: boolean): void => {
      socket.destroy();
      resolve(answered);
    };
    socket.setTimeout(probeMs, () => settle(true));
    socket.once('connect', () => settle(true));
    socket.once('error', (error: NodeJS.ErrnoException) => settle(error.code !== 'ECONNREFUSED'));
  });
}

function socketFailed(path: string, cause: unknown): LeafgateError {
  if (cause instanceof LeafgateError) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return sdsErrors.error('sds-socket-failed', { path, reason }, cause);
}

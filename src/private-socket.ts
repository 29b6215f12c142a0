// A unix socket's place in the file system: only its owner may connect, a stale socket of a dead server makes way, a live
// one never does, and neither does a file that is none. Must not know what is served on it.
import { lstatSync, statSync, unlinkSync } from 'node:fs';
import { connect, type Server } from 'node:net';
import { dirname } from 'node:path';
import { LeafgateError, errorSlice, exitCodes } from './errors.ts';
import { maxSocketPathBytes } from './socket-path.ts';
import { systemReason } from './system-error.ts';

export const socketErrors = errorSlice({
  'socket-in-use': {
    message: 'another server answers on the socket {path}',
    remedy: 'stop that server or choose another socket',
    exitCode: exitCodes.environment,
  },
  'socket-path-taken': {
    message: '{path} exists and is not a socket',
    remedy: 'choose a path that does not exist',
    exitCode: exitCodes.usage,
  },
  'socket-path-too-long': {
    message: 'the socket path {path} has {length} bytes, the system takes {max}',
    remedy: 'choose a shorter path',
    exitCode: exitCodes.usage,
  },
  'socket-folder-unsafe': {
    message: 'other users may write to {folder}, the folder of the socket',
    remedy: 'remove the write permission of group and others (chmod go-w) or choose a private folder',
    exitCode: exitCodes.usage,
  },
  'socket-failed': {
    message: 'cannot listen on the socket {path}: {reason}',
    remedy: 'check that the folder exists and that you may write to it',
    exitCode: exitCodes.environment,
  },
});

/** write permission of group and others; the sticky bit keeps them from replacing what is not theirs */
const writableByOthers = 0o022;
const sticky = 0o1000;

/** read and write for the owner, nothing for anybody else (0600) */
const privateUmask = 0o177;

/** a server that does not even accept within this is dead */
const probeMs = 1000;

/** Listens on the path with mode 0600. Throws the `socket-…` errors. */
export async function listenPrivately(server: Server, path: string): Promise<void> {
  const length = Buffer.byteLength(path);
  if (length > maxSocketPathBytes) {
    throw socketErrors.error('socket-path-too-long', { path, length, max: maxSocketPathBytes });
  }
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
        // one connection that could not be accepted must not end the process
        server.on('error', () => undefined);
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
    throw socketErrors.error('socket-folder-unsafe', { folder });
  }
}

async function clearStaleSocket(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw socketErrors.error('socket-path-taken', { path });
  if (await isAnswered(path)) throw socketErrors.error('socket-in-use', { path });
  // another server may have taken the place of the dead one while we asked
  if (lstatSync(path, { throwIfNoEntry: false })?.ino !== found.ino)
    throw socketErrors.error('socket-in-use', { path });
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
  return socketErrors.error('socket-failed', { path, reason: systemReason(cause) }, cause);
}

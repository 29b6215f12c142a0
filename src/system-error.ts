// What the system says no with, as a short phrase that a person understands: one place, so that no message ends in a bare
// ENOENT. Must not know which file or address it was: the message around it says that.
import { getSystemErrorMessage } from 'node:util';

/** complete "…: <phrase>"; lower case, no full stop */
const phrases: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or folder',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is no folder',
  EACCES: 'permission denied',
  EPERM: 'the system does not permit it',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file would be too large for this system',
  EIO: 'the disk failed',
  EEXIST: 'it exists already',
  ENOTEMPTY: 'the folder is not empty',
  EBUSY: 'it is in use',
  ETXTBSY: 'another process has it open for writing',
  EMFILE: 'this process has too many files open',
  ENFILE: 'the system has too many files open',
  ELOOP: 'too many symbolic links',
  ENAMETOOLONG: 'the name is too long',
  EXDEV: 'it would cross from one disk to another',
  ENOEXEC: 'it is no program for this machine',
  E2BIG: 'the arguments and the environment are too long',
  ENOMEM: 'there is not enough memory',
  EADDRINUSE: 'another process already listens there',
  EADDRNOTAVAIL: 'this machine has no such address',
  EAFNOSUPPORT: 'this machine does not speak that kind of address',
  ECONNREFUSED: 'nobody listens there',
  ECONNRESET: 'the other side broke the connection off',
  EPIPE: 'the other side is gone',
  ETIMEDOUT: 'no answer came in time',
};

/** `ENOENT` and the like; undefined for what is no error of the system */
export function systemCode(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !('code' in thrown) || typeof thrown.code !== 'string') return undefined;
  return /^E[A-Z0-9]+$/.test(thrown.code) ? thrown.code : undefined;
}

/** The same of an error in our words that the system's own is the cause of. */
export function innerSystemCode(thrown: unknown): string | undefined {
  return systemCode(thrown) ?? (thrown instanceof Error ? systemCode(thrown.cause) : undefined);
}

/** A phrase for an error of the system; for any other error its own message, for what is no error its text. */
export function systemReason(thrown: unknown): string {
  const code = systemCode(thrown);
  if (code === undefined) return thrown instanceof Error ? thrown.message : String(thrown);
  return phrases[code] ?? systemText(thrown) ?? `the system says ${code}`;
}

/** the system's own words for what the table leaves out */
function systemText(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !('errno' in thrown) || typeof thrown.errno !== 'number') return undefined;
  return thrown.errno < 0 ? getSystemErrorMessage(thrown.errno) : undefined;
}

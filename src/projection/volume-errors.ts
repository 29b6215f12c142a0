// What can go wrong when a volume's files are written. Must not know which bundle or backend a file is made of.
import { LeafgateError, errorSlice, exitCodes, type ErrorFields } from '../errors.ts';
import { innerSystemCode, systemReason } from '../system-error.ts';

export const volumeErrors = errorSlice({
  'volume-file-not-written': {
    message: '{path} cannot be written: {detail}',
    remedy: 'make the folder writable and make room on its disk; what was there before has been kept',
    exitCode: exitCodes.environment,
  },
  'volume-not-removed': {
    message: '{path} cannot be removed: {detail}',
    remedy: 'make its folder writable, or remove it yourself',
    exitCode: exitCodes.environment,
  },
  'volume-entry-unsafe': {
    message: '{path} is {found}, which is neither followed nor replaced',
    remedy: 'remove it, or give the file another path: below its directory, a volume has plain files and folders only',
    exitCode: exitCodes.environment,
  },
  'volume-path-refused': {
    message: '{path} is no path for a file of a volume: {detail}',
    remedy: 'give a clean relative path such as certs/ca.pem',
    exitCode: exitCodes.usage,
  },
  'volume-owner-refused': {
    message: '{path} cannot be given to user {uid} and group {gid}: {detail}',
    remedy: 'run as root or with CAP_CHOWN, or leave the owner out',
    exitCode: exitCodes.environment,
  },
  'volume-file-empty': {
    message: '{path} would be empty, and who reads an empty file trusts nobody',
    remedy: 'give the bundle at least one certificate',
    exitCode: exitCodes.usage,
  },
  'nss-tool-missing': {
    message: '{tool}, which writes NSS databases, is not on this machine',
    remedy: 'install it (Debian and Ubuntu: libnss3-tools), or ask for another form than NSS',
    exitCode: exitCodes.environment,
  },
  'nss-tool-failed': {
    message: 'certutil could not write the NSS database {path}: {detail}',
    remedy: 'see that nobody has set a password for it, or remove it: it is then made anew',
    exitCode: exitCodes.environment,
  },
  'nss-folder-shared': {
    message: 'others may rename {folder}, so that certutil is not run as root for a database in {path}',
    remedy: 'give the owner of the database, who then runs certutil, or leave the folders above it to root',
    exitCode: exitCodes.environment,
  },
  'nss-database-unsafe': {
    message: 'the NSS database {path} is not whole, has another owner, or others may write to it',
    remedy: 'remove it: it is then made anew',
    exitCode: exitCodes.environment,
  },
});

/** Whatever was thrown while `path` was written; what is an error of ours stays it. */
export function notWritten(path: string, thrown: unknown): LeafgateError {
  if (thrown instanceof LeafgateError) return thrown;
  return volumeErrors.error('volume-file-not-written', fieldsOf(path, thrown), thrown);
}

export function notRemoved(path: string, thrown: unknown): LeafgateError {
  return volumeErrors.error('volume-not-removed', fieldsOf(path, thrown), thrown);
}

function fieldsOf(path: string, thrown: unknown): ErrorFields {
  return { path, detail: systemReason(thrown), reason: innerSystemCode(thrown) ?? 'unknown' };
}

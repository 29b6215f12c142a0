// What can go wrong when a volume's files are written. Must not know which bundle or backend a file is made of.
import { errorSlice, exitCodes } from '../errors.ts';

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
  'volume-form-unsupported': {
    message: '{path} cannot be written: leafgate does not write the form {form} yet',
    remedy: 'ask for PEM or PKCS12',
    exitCode: exitCodes.usage,
  },
  'volume-file-empty': {
    message: '{path} would be empty, and who reads an empty file trusts nobody',
    remedy: 'give the bundle at least one certificate',
    exitCode: exitCodes.usage,
  },
});

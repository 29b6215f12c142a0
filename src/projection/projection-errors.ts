// What can go wrong when trust is written for actors. Must not know who the actors are.
import { errorSlice, exitCodes } from '../errors.ts';

export const projectionErrors = errorSlice({
  'roots-file-unusable': {
    message: 'SSL_CERT_FILE names {path}, which holds no readable certificate: {detail}',
    remedy: 'unset SSL_CERT_FILE or point it at a PEM file of root certificates',
    exitCode: exitCodes.usage,
  },
  'dotenv-unsayable': {
    message: 'a dotenv file has no way to write the value of {name}: it holds quotes of more than one kind',
    remedy: 'use --format json or shell, or take the quotes out of the path or of what {name} had in it',
    exitCode: exitCodes.usage,
  },
  'trust-files-not-written': {
    message: 'the trust files could not be written into {dir}: {detail}',
    remedy: 'make the folder writable and free some space there',
    exitCode: exitCodes.environment,
  },
});

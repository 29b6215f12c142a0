// What can go wrong when trust is written for actors. Must not know who the actors are.
import { errorSlice, exitCodes } from '../errors.ts';

export const projectionErrors = errorSlice({
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
  'trust-name-unknown': {
    message: '{volume}: {path} asks for the bundle {bundle}: {detail}',
    remedy: '{hint}',
    exitCode: exitCodes.usage,
  },
  'trust-object-missing': {
    message: '{volume}: {path} cannot be made, the bundle {bundle} is missing: {detail}',
    remedy: '{hint}',
    exitCode: exitCodes.environment,
  },
  'trust-backend-unavailable': {
    message: '{volume}: {path} cannot be made, where the bundle {bundle} comes from cannot be asked: {detail}',
    remedy: '{hint}',
    exitCode: exitCodes.failed,
  },
  'trust-content-unusable': {
    message: '{volume}: {path} cannot be made, the bundle {bundle} cannot be used: {detail}',
    remedy: '{hint}',
    exitCode: exitCodes.negative,
  },
  'trust-file-not-written': {
    message: '{volume}: {path} cannot be written: {detail}',
    remedy: '{hint}',
    exitCode: exitCodes.environment,
  },
  'trust-rule-missing': {
    message: 'this user has no rule for {rule}',
    remedy: 'add it to its {role}; docs/trust-delivery.md has all that is needed',
    exitCode: exitCodes.environment,
  },
  'trust-api-unavailable': {
    message: 'the API server could not be asked for bundles: {detail}',
    remedy: 'start again once it answers; files that are there already are left as they are',
    exitCode: exitCodes.failed,
  },
});

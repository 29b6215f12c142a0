// What can be wrong with a bundle that actors ask for, where it comes from and what is in it. No message ever carries what
// was read: it may have been a key.
import { errorSlice, exitCodes } from '../errors.ts';

export const bundleErrors = errorSlice({
  'bundle-not-a-ca': {
    message: '{source}, line {line}: {subject} is no CA certificate',
    remedy: 'put only CA certificates into a bundle, those with basicConstraints CA:TRUE',
    exitCode: exitCodes.usage,
  },
  'bundle-expired': {
    message: '{source} has expired certificates only, {count} of them',
    remedy: 'renew them: an actor that trusts nothing else trusts nobody',
    exitCode: exitCodes.usage,
  },
});

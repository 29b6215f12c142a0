// What can go wrong while watching. Must not know what is watched.
import { errorSlice, exitCodes } from '../errors.ts';

export const observeErrors = errorSlice({
  'health-listen-failed': {
    message: 'the health and metrics server cannot listen on {address}: {detail}',
    remedy: 'choose a free port or socket path of this machine for it',
    exitCode: exitCodes.environment,
  },
});

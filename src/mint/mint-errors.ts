// The errors of minting. None of them reaches a peer: Envoy hears a removal, the operator reads the sentence.
import { errorSlice, exitCodes } from '../errors.ts';

export const mintErrors = errorSlice({
  'mint-leaf-check-failed': {
    message: 'a new leaf did not pass its check and was not served: {detail}',
    remedy: 'verify the pool with "leafgate pool verify" and report the output',
    exitCode: exitCodes.failed,
  },
  'mint-setting-out-of-range': {
    message: '{setting} must be {range}, not {value}',
    remedy: 'choose a value in the range',
    exitCode: exitCodes.usage,
  },
});

// What can be wrong with a flag or an environment variable. `{setting}` is whichever of the two the person used.
import { errorSlice, exitCodes } from '../errors.ts';

const exitCode = exitCodes.usage;

export const settingsErrors = errorSlice({
  'setting-malformed': {
    message: '{setting} is "{value}", which is not {expected}',
    remedy: 'write it like {example}',
    exitCode,
  },
  'setting-out-of-range': {
    message: '{setting} is {value}, outside the range {least} to {most}',
    remedy: 'give {setting} a value from {least} to {most}',
    exitCode,
  },
  'setting-unknown': {
    message: '{setting} is no setting of leafgate',
    remedy: 'unset it, or correct its name: `leafgate up --help` lists every setting',
    exitCode,
  },
  'policy-flags-contradict': {
    message: '{one} and {other} say different things about the same host',
    remedy: 'keep one, or give one of them a port',
    exitCode,
  },
  'sidecar-settings-malformed': {
    message: '{source} cannot be used: {detail}',
    remedy: 'leafgate controller writes this file: use the same version for the controller and the gateway',
    exitCode,
  },
  'listen-unguarded': {
    message: '{setting} {value} lets other machines connect, and nothing says which may',
    remedy: 'add --allow-from CIDR for each network that may connect, or listen on 127.0.0.1',
    exitCode,
  },
});

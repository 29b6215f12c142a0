// What can be wrong with an EgressGateway object. `{field}` is its path in the object, like `spec.trustBundle.signerName`;
// what is wrong with its policy is said in the words of policy files, with a path in place of line and column.
import { errorSlice, exitCodes } from '../errors.ts';

const exitCode = exitCodes.usage;

export const egressGatewayErrors = errorSlice({
  'gateway-field-missing': { message: '{field} is missing', remedy: '{hint}', exitCode },
  'gateway-field-wrong': {
    message: '{field} is {value}, which is not {expected}',
    remedy: 'write it like {example}',
    exitCode,
  },
  'gateway-field-unknown': { message: '{field} is no field that this leafgate knows', remedy: '{hint}', exitCode },
  'gateway-fields-clash': { message: '{field} {detail}', remedy: '{hint}', exitCode },
  'gateway-too-many': { message: '{field} has {count} items, more than {most}', remedy: 'take some out', exitCode },
});

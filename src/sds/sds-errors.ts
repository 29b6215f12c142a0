// The errors of the SDS server: what keeps it from listening, and what makes it end a stream. A peer hears a status and
// a fixed sentence, never the text of an error.
import { errorSlice, exitCodes } from '../errors.ts';

export const sdsErrors = errorSlice({
  'sds-request-malformed': {
    message: 'a peer sent a request that is not a DeltaDiscoveryRequest: {reason}',
    remedy: 'check that the peer is an Envoy with api_type DELTA_GRPC or delta ADS',
    exitCode: exitCodes.failed,
  },
  'sds-request-too-large': {
    message: 'a peer sent a request beyond the limit of {max} {unit}',
    remedy: 'check how many names the peer holds',
    exitCode: exitCodes.failed,
  },
  'sds-room-taken': {
    message: 'a peer sent part of a message, and what others have begun and not ended leaves no room for it',
    remedy: 'look for peers that begin messages and do not end them: an Envoy needs milliseconds for one',
    exitCode: exitCodes.failed,
  },
  'sds-request-compressed': {
    message: 'a peer sent a compressed message',
    remedy: 'turn compression off in the gRPC client (Envoy does not compress by itself)',
    exitCode: exitCodes.failed,
  },
  'sds-name-unanswerable': {
    message: 'a client sent a server name that is not UTF-8, which no answer can carry: {name}',
    remedy: 'let the listener turn away server names that are not host names before its certificate selector asks',
    exitCode: exitCodes.failed,
  },
});

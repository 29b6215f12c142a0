// The errors of the SDS server: what keeps it from listening, and what makes it end a stream. A peer hears a status and
// a fixed sentence, never the text of an error.
import { errorSlice, exitCodes } from '../errors.ts';

export const sdsErrors = errorSlice({
  'sds-socket-in-use': {
    message: 'another server answers on the socket {path}',
    remedy: 'stop that server or choose another socket',
    exitCode: exitCodes.environment,
  },
  'sds-socket-path-taken': {
    message: '{path} exists and is not a socket',
    remedy: 'choose a path that does not exist',
    exitCode: exitCodes.usage,
  },
  'sds-socket-path-too-long': {
    message: 'the socket path {path} has {length} bytes, the system takes {max}',
    remedy: 'choose a shorter path',
    exitCode: exitCodes.usage,
  },
  'sds-socket-folder-unsafe': {
    message: 'other users may write to {folder}, the folder of the socket',
    remedy: 'remove the write permission of group and others (chmod go-w) or choose a private folder',
    exitCode: exitCodes.usage,
  },
  'sds-socket-failed': {
    message: 'cannot listen on the socket {path}: {reason}',
    remedy: 'check that the folder exists and that you may write to it',
    exitCode: exitCodes.environment,
  },
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
  'sds-name-unanswerable': {
    message: 'a client sent a server name that is not UTF-8, which no answer can carry: {name}',
    remedy: 'let the listener turn away server names that are not host names before its certificate selector asks',
    exitCode: exitCodes.failed,
  },
});

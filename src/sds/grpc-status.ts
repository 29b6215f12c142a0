// How a gRPC call ends: the statuses that this server says, each with a sentence of ours, as HTTP/2 headers. Only these
// sentences go to a peer, never the text of an error. Must not know streams.
import type { OutgoingHttpHeaders } from 'node:http2';

/** `code` by the gRPC specification (doc/statuscodes.md); `sentence` printable ASCII without %, which needs no escape */
export type GrpcStatus = { readonly code: number; readonly sentence: string };

export const grpcStatus = {
  done: { code: 0, sentence: '' },
  malformed: { code: 3, sentence: 'not a DeltaDiscoveryRequest' },
  late: { code: 4, sentence: 'the deadline that came with the call has passed' },
  tooLarge: { code: 8, sentence: 'the request is too large' },
  roomTaken: { code: 8, sentence: 'there is no room for the request now' },
  unknownMethod: { code: 12, sentence: 'this server has no such method' },
  useDelta: { code: 12, sentence: 'only delta xDS can refuse a name: set api_type to DELTA_GRPC' },
  compressed: { code: 12, sentence: 'compressed messages are not taken' },
  failed: { code: 13, sentence: 'the server failed' },
  badDeadline: { code: 13, sentence: 'malformed grpc-timeout' },
  stopping: { code: 14, sentence: 'the server stops' },
} as const satisfies { readonly [name: string]: GrpcStatus };

export const responseHeaders: OutgoingHttpHeaders = { ':status': 200, 'content-type': 'application/grpc' };

/** The headers that end a response which has begun. */
export function trailers({ code, sentence }: GrpcStatus): OutgoingHttpHeaders {
  return { 'grpc-status': code, ...(sentence === '' ? {} : { 'grpc-message': sentence }) };
}

/** A whole response of one header block, "Trailers-Only" in the specification (doc/PROTOCOL-HTTP2.md). */
export function trailersOnly(status: GrpcStatus): OutgoingHttpHeaders {
  return { ...responseHeaders, ...trailers(status) };
}

// The gRPC methods of the SDS socket, by path, and what else a request must have to be a gRPC call. Delta methods are
// served; state-of-the-world and fetch are answered UNIMPLEMENTED with a sentence, since they can neither refuse nor
// remove a name (design decision 1). Must not know streams.
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import { grpcStatus, trailersOnly } from './grpc-status.ts';
import { isGrpcTimeout } from './grpc-timeout.ts';
import type { StreamKind } from './sds-events.ts';

const aggregated = '/envoy.service.discovery.v3.AggregatedDiscoveryService';
const secrets = '/envoy.service.secret.v3.SecretDiscoveryService';

/** What is served, and how its names are spread over streams. */
const deltaMethods: ReadonlyMap<unknown, StreamKind> = new Map([
  [`${aggregated}/DeltaAggregatedResources`, 'ads'],
  [`${secrets}/DeltaSecrets`, 'per-name'],
]);

const otherMethods: ReadonlySet<unknown> = new Set([
  `${aggregated}/StreamAggregatedResources`,
  `${secrets}/StreamSecrets`,
  `${secrets}/FetchSecrets`,
]);

/** The kind of stream that is asked for, or the response that turns the request away. */
export function routeRequest(headers: IncomingHttpHeaders): StreamKind | OutgoingHttpHeaders {
  const path = headers[':path'];
  if (headers[':method'] !== 'POST') return { ':status': 405, allow: 'POST' };
  if (!isGrpc(headers['content-type'])) return { ':status': 415 };
  const timeout = headers['grpc-timeout'];
  if (timeout !== undefined && !isGrpcTimeout(timeout)) return trailersOnly(grpcStatus.badDeadline);
  return (
    deltaMethods.get(path) ?? trailersOnly(otherMethods.has(path) ? grpcStatus.useDelta : grpcStatus.unknownMethod)
  );
}

/** application/grpc, application/grpc+proto, application/grpc;… and nothing like application/grpc-web */
function isGrpc(contentType: string | undefined): boolean {
  return contentType === 'application/grpc' || /^application\/grpc(?:[+;]|$)/.test(contentType ?? '');
}

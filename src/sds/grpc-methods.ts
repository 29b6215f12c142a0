// The gRPC methods of the SDS socket, by path. Delta methods are served; state-of-the-world and fetch are answered
// UNIMPLEMENTED with a sentence, since they can neither refuse nor remove a name (design decision 1).
import { status, type ServiceDefinition, type UntypedServiceImplementation } from '@grpc/grpc-js';
import type { StreamKind } from './sds-events.ts';

const aggregated = '/envoy.service.discovery.v3.AggregatedDiscoveryService';
const secrets = '/envoy.service.secret.v3.SecretDiscoveryService';

/** What is served, and how its names are spread over streams. */
export const deltaMethods: ReadonlyMap<string, StreamKind> = new Map([
  [`${aggregated}/DeltaAggregatedResources`, 'ads'],
  [`${secrets}/DeltaSecrets`, 'per-name'],
]);

const asIs = (message: Buffer): Buffer => message;

function method(path: string, isStream: boolean): ServiceDefinition[string] {
  return {
    path,
    requestStream: isStream,
    responseStream: isStream,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  };
}

export const sdsService: ServiceDefinition = {
  DeltaAggregatedResources: method(`${aggregated}/DeltaAggregatedResources`, true),
  StreamAggregatedResources: method(`${aggregated}/StreamAggregatedResources`, true),
  DeltaSecrets: method(`${secrets}/DeltaSecrets`, true),
  StreamSecrets: method(`${secrets}/StreamSecrets`, true),
  FetchSecrets: method(`${secrets}/FetchSecrets`, false),
};

const useDelta = {
  code: status.UNIMPLEMENTED,
  details: 'only delta xDS can refuse a name: set api_type to DELTA_GRPC',
};

type FailingStream = { emit(event: 'error', error: typeof useDelta): boolean };

/** What grpc-js itself runs; the delta methods are taken over before it comes to that. */
export const refusingImplementation: UntypedServiceImplementation = {
  StreamAggregatedResources: (call: FailingStream) => void call.emit('error', useDelta),
  StreamSecrets: (call: FailingStream) => void call.emit('error', useDelta),
  FetchSecrets: (_call: unknown, answer: (error: typeof useDelta) => void) => answer(useDelta),
};

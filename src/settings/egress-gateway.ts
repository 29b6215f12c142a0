// An EgressGateway object as the Kubernetes API gives it: read whole, or refused with everything that is wrong, each with
// its path in the object and what to do. Never throws, whatever the object is. Pure.
import type { LeafgateError } from '../errors.ts';
import { readSpec } from './egress-gateway-spec.ts';
import { readStatus } from './egress-gateway-status.ts';
import type { EgressGateway, EgressGatewayIdentity, ReadTrust, TrustBundleSpec } from './egress-gateway-types.ts';
import { FieldReader, type Field } from './field-reader.ts';
import { gatewayNameRule, objectNameRule } from './kubernetes-names.ts';

export type EgressGatewayReading =
  | { readonly kind: 'read'; readonly gateway: EgressGateway }
  | ({
      readonly kind: 'refused';
      readonly problems: readonly [LeafgateError, ...LeafgateError[]];
    } & ReadTrust &
      EgressGatewayIdentity);

/** a person mends a few at a time, and a condition has a length */
const maxProblems = 100;

export function parseEgressGateway(object: unknown): EgressGatewayReading {
  const problems: LeafgateError[] = [];
  const reader = new FieldReader((problem) => {
    if (problems.length < maxProblems) problems.push(problem);
  });
  const fields = ownFields(object);
  const identity = readIdentity(ownFields(fields.get('metadata')), fields.get('status'), reader);
  const { spec, trust } = readSpec({ path: 'spec', value: fields.get('spec') }, identity.name, reader);
  const [first, ...more] = problems;
  if (first !== undefined) return { kind: 'refused', ...identity, ...trust, problems: [first, ...more] };
  if (spec === undefined) throw new Error('the spec of an EgressGateway was lost');
  return { kind: 'read', gateway: { ...identity, spec } };
}

/** What can be said of a gateway whether its spec was read or refused. */
export function identityOf(reading: EgressGatewayReading): EgressGatewayIdentity {
  return reading.kind === 'read' ? reading.gateway : reading;
}

/** Undefined where that part of the spec could not be read. */
export function trustBundleOf(reading: EgressGatewayReading): TrustBundleSpec | undefined {
  return reading.kind === 'read' ? reading.gateway.spec.trustBundle : reading.trustBundle;
}

/** Of the metadata only names are judged: the API server has made the rest. */
function readIdentity(
  metadata: ReadonlyMap<string, unknown>,
  status: unknown,
  reader: FieldReader,
): EgressGatewayIdentity {
  const field = (key: string): Field => ({ path: `metadata.${key}`, value: metadata.get(key) });
  const name = reader.needed(field('name'), gatewayNameRule, 'give the gateway a name');
  const namespace = reader.needed(field('namespace'), objectNameRule, 'give the namespace of the gateway');
  const [uid, generation, finalizers] = ['uid', 'generation', 'finalizers'].map((key) => metadata.get(key));
  return {
    namespace: namespace ?? '',
    name: name ?? '',
    uid: typeof uid === 'string' ? uid : '',
    generation: typeof generation === 'number' && Number.isSafeInteger(generation) ? generation : 0,
    isDeleting: typeof metadata.get('deletionTimestamp') === 'string',
    finalizers: Array.isArray(finalizers) ? finalizers.filter((item) => typeof item === 'string') : [],
    status: readStatus(status),
  };
}

function ownFields(value: unknown): ReadonlyMap<string, unknown> {
  return typeof value === 'object' && value !== null ? new Map(Object.entries(value)) : new Map<string, unknown>();
}

// From what is known of an object to what the judges take: a Secret's bytes as key material that never prints, a ConfigMap's
// texts, and the missing rule where reading is forbidden.
import { isRecord } from '../is-record.ts';
import type { KubeFailure } from '../kube/kube-failure.ts';
import type { KubeObject, ObjectPlace } from '../kube/kube-types.ts';
import { SecretBytes } from '../secret-bytes.ts';
import type { ConfigMapContent, Observed, SecretContent } from './controller-types.ts';
import type { Look } from './followed-objects.ts';
import { followVerbs, ruleFor, sayMissingRule } from './missing-rule.ts';

export function observedSecret(look: Look, place: ObjectPlace): Observed<SecretContent> {
  return observed(look, place, ({ metadata, type, data }) => ({
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    type: typeof type === 'string' ? type : '',
    data: Object.fromEntries(textsIn(data).map(([key, text]) => [key, new SecretBytes(Buffer.from(text, 'base64'))])),
  }));
}

export function observedConfigMap(look: Look, place: ObjectPlace): Observed<ConfigMapContent> {
  return observed(look, place, ({ metadata, data, binaryData }) => ({
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    data: Object.fromEntries(textsIn(data)),
    binaryData: Object.fromEntries(textsIn(binaryData)),
  }));
}

/** An object that is being deleted is gone: nothing that is about to vanish may be built on. */
function observed<Value>(look: Look, place: ObjectPlace, read: (object: KubeObject) => Value): Observed<Value> {
  switch (look.kind) {
    case 'found':
      if (look.object.metadata.deletionTimestamp !== undefined) return { kind: 'absent' };
      return { kind: 'found', value: read(look.object) };
    case 'absent':
      return { kind: 'absent' };
    case 'pending':
      return { kind: 'unavailable', detail: 'the API server has not answered yet' };
    case 'unavailable':
      return { kind: 'unavailable', detail: unavailableDetail(look.failure, place) };
    default:
      return look satisfies never;
  }
}

export function unavailableDetail({ kind, message }: KubeFailure, place: ObjectPlace): string {
  if (kind !== 'forbidden') return message;
  // a name with a slip in it is forbidden as well, since the Role has the right one: say both ways out
  const orElse = place.resource.plural === 'secrets' ? ', or mend the name of the Secret in the spec' : '';
  return `${sayMissingRule(ruleFor(place, followVerbs))}${orElse} (${message})`;
}

function textsIn(value: unknown): readonly (readonly [string, string])[] {
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, text]) => (typeof text === 'string' ? [[key, text] as const] : []));
}

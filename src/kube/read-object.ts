// Objects and lists as the API sends them, checked as far as the rest relies on them: parsed once, here. Pure.
import { isRecord } from '../is-record.ts';
import type { Outcome } from './api-connection.ts';
import { ownFailure } from './kube-failure.ts';
import type { KubeObject, KubeResource, ObjectList } from './kube-types.ts';
import { groupVersionOf } from './object-path.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A list's items carry neither apiVersion nor kind (API server, typed lists): the resource says them. */
export function readObject(value: unknown, resource: KubeResource): KubeObject | undefined {
  if (!isRecord(value) || !isRecord(value['metadata'])) return undefined;
  const { apiVersion = groupVersionOf(resource), kind = resource.kind, metadata } = value;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || kind === 'Status') return undefined;
  if (!isMeta(metadata)) return undefined;
  return { ...value, apiVersion, kind, metadata: withoutManagedFields(metadata) };
}

/** often larger than the object, and refused when it is sent back in an apply */
function withoutManagedFields(metadata: KubeObject['metadata']): KubeObject['metadata'] {
  const kept: KubeObject['metadata'] & { managedFields?: unknown } = { ...metadata };
  delete kept.managedFields;
  return kept;
}

/** The object that was asked for, by its name; anything else is a bad response. */
export function judgeObject(value: unknown, resource: KubeResource, name: string): Outcome<KubeObject> {
  const object = readObject(value, resource);
  if (object?.metadata.name === name) return { kind: 'done', value: object };
  return badShape(`the server answered with something that is not ${resource.kind} "${name}"`);
}

export type ListPage = ObjectList & { readonly next: string | undefined };

export function judgePage(value: unknown, resource: KubeResource): Outcome<ListPage> {
  const wrong = badShape(`the server answered with something that is not a list of ${resource.plural}`);
  if (!isRecord(value) || !isRecord(value['metadata'])) return wrong;
  const { resourceVersion, continue: next } = value['metadata'];
  if (typeof resourceVersion !== 'string' || resourceVersion === '') return wrong;
  // Go writes an empty list as null in old servers
  const entries: unknown = value['items'] ?? [];
  if (!Array.isArray(entries)) return wrong;
  const items = entries.map((entry: unknown) => readObject(entry, resource));
  if (!items.every((item) => item !== undefined)) return wrong;
  return {
    kind: 'done',
    value: { items, resourceVersion, next: typeof next === 'string' && next !== '' ? next : undefined },
  };
}

export function badShape(message: string): Outcome<never> {
  return { kind: 'failed', failure: ownFailure('bad-response', message) };
}

function isMeta(value: unknown): value is KubeObject['metadata'] {
  return (
    isRecord(value) &&
    typeof value['name'] === 'string' &&
    value['name'] !== '' &&
    ['namespace', 'uid', 'resourceVersion', 'creationTimestamp', 'deletionTimestamp'].every((field) =>
      isAbsentOr(value[field], (given) => typeof given === 'string'),
    ) &&
    isAbsentOr(value['generation'], (given) => typeof given === 'number') &&
    isAbsentOr(value['finalizers'], (given) => Array.isArray(given) && given.every((one) => typeof one === 'string')) &&
    ['labels', 'annotations'].every((field) => isAbsentOr(value[field], isTextRecord))
  );
}

function isAbsentOr(value: unknown, holds: (value: unknown) => boolean): boolean {
  return value === undefined || holds(value);
}

function isTextRecord(value: unknown): value is Fields {
  return isRecord(value) && Object.values(value).every((entry) => typeof entry === 'string');
}

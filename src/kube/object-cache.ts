// The objects that a follower has seen, and what a change or a whole new list means for them. Pure.
import type { KubeObject } from './kube-types.ts';

export type ObjectChange =
  | { readonly kind: 'put'; readonly object: KubeObject }
  | { readonly kind: 'gone'; readonly namespace?: string; readonly name: string };

export class ObjectCache {
  readonly #objects = new Map<string, KubeObject>();

  get(name: string, namespace: string | undefined): KubeObject | undefined {
    return this.#objects.get(keyOf(name, namespace));
  }

  items(): readonly KubeObject[] {
    return [...this.#objects.values()];
  }

  put(object: KubeObject): ObjectChange {
    this.#objects.set(keyOf(object.metadata.name, object.metadata.namespace), object);
    return { kind: 'put', object };
  }

  /** undefined: it was not there */
  remove({ metadata }: KubeObject): ObjectChange | undefined {
    return this.#objects.delete(keyOf(metadata.name, metadata.namespace)) ? goneOf(metadata) : undefined;
  }

  /** Takes a whole list over: what is new or other than before, and what vanished unseen. */
  replaceAll(objects: readonly KubeObject[]): readonly ObjectChange[] {
    const before = new Map(this.#objects);
    this.#objects.clear();
    const changes: ObjectChange[] = [];
    for (const object of objects) {
      const key = keyOf(object.metadata.name, object.metadata.namespace);
      const change = this.put(object);
      if (!isSame(before.get(key), object)) changes.push(change);
      before.delete(key);
    }
    return [...[...before.values()].map(({ metadata }) => goneOf(metadata)), ...changes];
  }
}

/** the same object in the same state; versions are compared for equality only */
function isSame(one: KubeObject | undefined, other: KubeObject): boolean {
  return (
    one?.metadata.resourceVersion !== undefined &&
    one.metadata.resourceVersion === other.metadata.resourceVersion &&
    one.metadata.uid === other.metadata.uid
  );
}

function goneOf({ name, namespace }: KubeObject['metadata']): ObjectChange {
  return { kind: 'gone', name, ...(namespace === undefined ? {} : { namespace }) };
}

function keyOf(name: string, namespace: string | undefined): string {
  return `${namespace ?? ''}/${name}`;
}

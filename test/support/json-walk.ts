// Looking through generated JSON: every object in it, with the path that leads there.

export type Found = { readonly path: string; readonly value: { readonly [field: string]: unknown } };

/** every object inside `root`, itself included, outer ones first */
export function objectsIn(root: unknown, path = ''): Found[] {
  if (Array.isArray(root)) return root.flatMap((item: unknown, index) => objectsIn(item, `${path}/${index}`));
  if (!isObject(root)) return [];
  const inner = Object.entries(root).flatMap(([field, value]) => objectsIn(value, `${path}/${field}`));
  return [{ path, value: root }, ...inner];
}

/** the value of every field of that name, wherever it stands */
export function valuesOf(root: unknown, field: string): unknown[] {
  return objectsIn(root).flatMap(({ value }) => (field in value ? [value[field]] : []));
}

/** every object of that proto type */
export function typedIn(root: unknown, type: string): Found['value'][] {
  return objectsIn(root).flatMap(({ value }) => (value['@type'] === `type.googleapis.com/${type}` ? [value] : []));
}

/** one step a segment: a field's name, an index, or the `name` of an item in a list */
export function at(root: unknown, ...segments: readonly (string | number)[]): unknown {
  return segments.reduce<unknown>((value, segment) => {
    if (Array.isArray(value)) {
      const items: readonly unknown[] = value;
      return typeof segment === 'number'
        ? items[segment]
        : items.find((item) => isObject(item) && item['name'] === segment);
    }
    return isObject(value) ? value[segment] : undefined;
  }, root);
}

function isObject(value: unknown): value is { readonly [field: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

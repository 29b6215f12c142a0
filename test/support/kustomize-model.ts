// As much of kustomize as deploy/example needs: resources, components with replacements (by kind, namespace and label selector,
// with a delimiter), objects that stay local. Seen to give what `kubectl kustomize` (5.5) gives; it refuses what it does not know.
import { join } from 'node:path';
import type { Manifest } from './manifest-types.ts';
import { onlyOne, parseManifests, readManifests } from './shipped-manifests.ts';

type Options = { readonly delimiter: string; readonly index: number };
type Source = { readonly kind: string; readonly name: string; readonly fieldPath: string; readonly options?: Options };
type Select = { readonly kind?: string; readonly namespace?: string; readonly labelSelector?: string };
type Target = { readonly select: Select; readonly fieldPaths: readonly string[]; readonly options?: Options };
type Replacement = { readonly source: Source; readonly targets: readonly Target[] };

/** `texts` takes the place of files, by their path */
export function kustomize(folder: string, texts: ReadonlyMap<string, string> = new Map()): readonly Manifest[] {
  return accumulate(folder, texts).filter(
    ({ metadata }) => metadata.annotations?.['config.kubernetes.io/local-config'] !== 'true',
  );
}

/** `images` is not looked at: the example names the images as they are */
const known = new Set(['apiVersion', 'kind', 'resources', 'components', 'replacements', 'images']);

type Kustomization = Manifest & {
  readonly resources?: readonly string[];
  readonly components?: readonly string[];
  readonly replacements?: readonly Replacement[];
};

function readKustomization(folder: string): Kustomization {
  const found = onlyOne(readManifests(join(folder, 'kustomization.yaml')), folder);
  const unknown = Object.keys(found).filter((key) => !known.has(key));
  if (unknown.length > 0) throw new Error(`${folder}: ${unknown.join(', ')} is not known here`);
  return found;
}

function accumulate(folder: string, texts: ReadonlyMap<string, string>): readonly Manifest[] {
  const { resources = [], components = [] } = readKustomization(folder);
  const objects = resources.flatMap((name) => {
    const path = join(folder, name);
    if (!name.endsWith('.yaml')) return accumulate(path, texts);
    const text = texts.get(path);
    return text === undefined ? readManifests(path) : parseManifests(text);
  });
  for (const component of components) {
    const { replacements = [] } = readKustomization(join(folder, component));
    for (const replacement of replacements) replace(objects, replacement);
  }
  return objects;
}

function replace(objects: readonly Manifest[], { source, targets }: Replacement): void {
  const from = objects.find(({ kind, metadata }) => kind === source.kind && metadata.name === source.name);
  if (from === undefined) throw new Error(`no ${source.kind} ${source.name}`);
  const whole = place(from, source.fieldPath).get();
  const value = source.options === undefined ? whole : whole.split(source.options.delimiter)[source.options.index];
  if (value === undefined) throw new Error(`${source.fieldPath}: no part ${String(source.options?.index)} in ${whole}`);
  for (const { select, fieldPaths, options } of targets) {
    for (const object of objects.filter((one) => isSelected(one, select))) {
      for (const path of fieldPaths) {
        const field = place(object, path);
        field.set(options === undefined ? value : withPart(field.get(), value, options));
      }
    }
  }
}

function withPart(text: string, value: string, { delimiter, index }: Options): string {
  const parts = text.split(delimiter);
  if (index >= parts.length) throw new Error(`no part ${index} in ${text}`);
  return parts.with(index, value).join(delimiter);
}

function isSelected({ kind, metadata }: Manifest, select: Select): boolean {
  const [label = '', value] = select.labelSelector?.split('=') ?? [];
  return (
    (select.kind ?? kind) === kind &&
    (select.namespace === undefined || metadata.namespace === select.namespace) &&
    (select.labelSelector === undefined || metadata.labels?.[label] === value)
  );
}

type Place = { get(): string; set(value: string): void };

/** `a.b.0.[name=x].[dotted.key]`; throws where there is no text at it, as kustomize does without `create` */
function place(object: Manifest, path: string): Place {
  const steps = [...path.matchAll(/\[([^\]]+)\]|[^.]+/g)].map((match) => match[1] ?? match[0]);
  const last = steps.pop() ?? '';
  const parent = steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)[keyIn(at, step)], object);
  const holder = parent as Record<string, unknown>;
  const key = keyIn(holder, last);
  const get = (): string => {
    const value = holder[key];
    if (typeof value !== 'string') throw new Error(`${object.kind} ${object.metadata.name}: no text at ${path}`);
    return value;
  };
  get();
  return { get, set: (value) => (holder[key] = value) };
}

function keyIn(holder: unknown, step: string): string {
  if (!Array.isArray(holder) || !step.includes('=')) return step;
  const [field = '', value] = step.split('=');
  return String(holder.findIndex((entry: Record<string, unknown>) => entry[field] === value));
}

// Questions to a bootstrap's tree. Pure.
import type { MapNode, TreeNode, ValueNode } from './bootstrap-tree.ts';

/** The node at a path of field names; undefined where there is none. */
export function at(node: TreeNode | undefined, ...path: readonly string[]): TreeNode | undefined {
  let found = node;
  for (const field of path) found = found?.kind === 'map' ? found.entries.get(field) : undefined;
  return found;
}

export function mapAt(node: TreeNode | undefined, ...path: readonly string[]): MapNode | undefined {
  const found = at(node, ...path);
  return found?.kind === 'map' ? found : undefined;
}

/** what stands in a list of maps; a single map counts as a list of one, as protobuf's parsers take it */
export function mapsAt(node: TreeNode | undefined, ...path: readonly string[]): readonly MapNode[] {
  const found = at(node, ...path);
  if (found?.kind === 'map') return [found];
  return found?.kind === 'list' ? found.items.filter((item) => item.kind === 'map') : [];
}

export function valueAt(node: TreeNode | undefined, ...path: readonly string[]): ValueNode['value'] | undefined {
  const found = at(node, ...path);
  return found?.kind === 'value' ? found.value : undefined;
}

export function textAt(node: TreeNode | undefined, ...path: readonly string[]): string {
  const value = valueAt(node, ...path);
  return value === undefined || value === null ? '' : String(value);
}

/** protobuf's JSON takes `true` and `"true"` */
export function isOn(node: TreeNode | undefined, ...path: readonly string[]): boolean {
  return textAt(node, ...path) === 'true';
}

export type Found = {
  readonly node: MapNode;
  /** maps that it stands in, the outermost first */
  readonly within: readonly MapNode[];
};

/** Every map that fits, wherever it stands. */
export function findMaps(root: TreeNode, fits: (node: MapNode) => boolean): readonly Found[] {
  const found: Found[] = [];
  const visit = (node: TreeNode, within: readonly MapNode[]): void => {
    if (node.kind === 'list') for (const item of node.items) visit(item, within);
    if (node.kind !== 'map') return;
    if (fits(node)) found.push({ node, within });
    for (const child of node.entries.values()) visit(child, [...within, node]);
  };
  visit(root, []);
  return found;
}

/** by the end of its `@type`: `tls.v3.DownstreamTlsContext` */
export function findMessages(root: TreeNode, type: string): readonly Found[] {
  return findMaps(root, (node) => isMessage(node, type));
}

export function isMessage(node: MapNode, type: string): boolean {
  const given = textAt(node, '@type');
  return given.endsWith(`.${type}`) || given.endsWith(`/${type}`);
}

/** Equal for values that mean the same: the order of fields does not count. */
export function canonical(node: TreeNode | undefined): string {
  return JSON.stringify(plain(node));
}

function plain(node: TreeNode | undefined): unknown {
  if (node === undefined) return null;
  if (node.kind === 'value') return node.value;
  if (node.kind === 'list') return node.items.map(plain);
  const entries = [...node.entries].sort(([one], [other]) => (one < other ? -1 : 1));
  return entries.map(([field, value]) => [field, plain(value)]);
}

/** `5s`, `0.25s`: protobuf's JSON for a duration, in milliseconds; undefined for anything else */
export function durationMs(node: TreeNode | undefined, ...path: readonly string[]): number | undefined {
  const seconds = /^(\d+(?:\.\d+)?)s$/.exec(textAt(node, ...path))?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

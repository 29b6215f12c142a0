// Somebody's Envoy bootstrap, YAML or JSON (which is YAML, 1.2.2 section 1.3), as a tree in which every value knows its
// line. Field names are read in both spellings that protobuf's JSON has. Pure; must not know what Envoy makes of it.
import { LineCounter, isAlias, isMap, isScalar, isSeq, parseDocument } from 'yaml';
import type { Node, Pair } from 'yaml';

/** both from 1 */
export type Place = { readonly line: number; readonly column: number };

export type MapNode = { readonly kind: 'map'; readonly at: Place; readonly entries: ReadonlyMap<string, TreeNode> };
type ListNode = { readonly kind: 'list'; readonly at: Place; readonly items: readonly TreeNode[] };
export type ValueNode = {
  readonly kind: 'value';
  readonly at: Place;
  readonly value: string | number | boolean | null;
};
/** `at` of what stands in a map is the place of its key */
export type TreeNode = MapNode | ListNode | ValueNode;

export type TreeReading =
  | { readonly kind: 'tree'; readonly root: MapNode }
  | { readonly kind: 'unreadable'; readonly detail: string; readonly at: Place };

/** far more than any bootstrap has; aliases of aliases could make a small file endless */
const maxNodes = 500_000;

const start: Place = { line: 1, column: 1 };

export function readBootstrapTree(text: string): TreeReading {
  try {
    return readTree(text);
  } catch (thrown) {
    // the parser calls itself for each level
    if (thrown instanceof RangeError) return { kind: 'unreadable', detail: 'it is nested too deeply', at: start };
    throw thrown;
  }
}

function readTree(text: string): TreeReading {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true, logLevel: 'silent' });
  const [error] = document.errors;
  if (error !== undefined) {
    const detail = error.message.split('\n')[0]?.replace(/ at line \d+, column \d+:?$/, '') ?? '';
    return { kind: 'unreadable', detail, at: placeOf(error.pos[0], lines) };
  }
  const budget = { left: maxNodes };
  const root = convert(document.contents, start, { anchors: new Map(), lines, budget });
  if (budget.left <= 0) return { kind: 'unreadable', detail: 'it is too large', at: start };
  if (root?.kind !== 'map') return { kind: 'unreadable', detail: 'it is no object', at: start };
  return { kind: 'tree', root };
}

type Conversion = {
  /** what each name stands for so far: an alias means the last one before it (YAML 1.2.2, 7.1) */
  readonly anchors: Map<string, Node>;
  readonly lines: LineCounter;
  readonly budget: { left: number };
};

function convert(node: unknown, at: Place, conversion: Conversion): TreeNode | undefined {
  conversion.budget.left -= 1;
  if (conversion.budget.left <= 0) return undefined;
  if (isAlias(node)) return convert(conversion.anchors.get(node.source), at, conversion);
  const converted = convertPlain(node, at, conversion);
  // only now: what stands in it cannot mean it
  if ((isMap(node) || isSeq(node) || isScalar(node)) && node.anchor !== undefined) {
    conversion.anchors.set(node.anchor, node);
  }
  return converted;
}

function convertPlain(node: unknown, at: Place, conversion: Conversion): TreeNode {
  if (isMap(node)) return { kind: 'map', at, entries: entriesOf(node.items, at, conversion) };
  if (isSeq(node)) {
    const items = node.items.flatMap((item) => convert(item, placeOfNode(item, at, conversion), conversion) ?? []);
    return { kind: 'list', at, items };
  }
  return { kind: 'value', at, value: isScalar(node) ? plainValue(node.value) : null };
}

function entriesOf(pairs: readonly Pair[], at: Place, conversion: Conversion): ReadonlyMap<string, TreeNode> {
  const entries = new Map<string, TreeNode>();
  for (const { key, value } of pairs) {
    const name = isScalar(key) ? String(key.value) : '';
    const node = convert(value, placeOfNode(key, at, conversion), conversion);
    if (node !== undefined) entries.set(fieldName(name), node);
  }
  return entries;
}

/** `adsConfig` and `ads_config` are one field; keys of maps, such as extension names, have dots and stay as they are */
function fieldName(key: string): string {
  if (!/^[a-z][A-Za-z0-9]*$/.test(key)) return key;
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function plainValue(value: unknown): ValueNode['value'] {
  if (typeof value === 'bigint') return Number(value);
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null;
}

function placeOfNode(node: unknown, otherwise: Place, { lines }: Conversion): Place {
  const range = isNodeWithRange(node) ? node.range : undefined;
  return range === undefined ? otherwise : placeOf(range[0], lines);
}

function isNodeWithRange(node: unknown): node is Node & { readonly range: readonly [number, number, number] } {
  return (isAlias(node) || isMap(node) || isSeq(node) || isScalar(node)) && Array.isArray(node.range);
}

function placeOf(offset: number, lines: LineCounter): Place {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

import { describe, expect, test } from 'vitest';
import { readBootstrapTree, type MapNode } from '../../../src/doctor/bootstrap-tree.ts';
import { at, canonical, durationMs, findMaps, mapsAt, textAt } from '../../../src/doctor/tree-queries.ts';

function treeOf(text: string): MapNode {
  const reading = readBootstrapTree(text);
  if (reading.kind !== 'tree') throw new Error(reading.detail);
  return reading.root;
}

describe('the tree of a bootstrap', () => {
  test('knows the place of every key, in YAML and in JSON', () => {
    const yaml = treeOf('node: {id: a}\nadmin:\n  address:\n    pipe: {path: /x}\n');
    expect(at(yaml, 'admin', 'address', 'pipe')?.at).toEqual({ line: 4, column: 5 });
    const json = treeOf('{"node": {"id": "a"},\n "admin": {\n  "address": 1}}');
    expect(at(json, 'admin', 'address')?.at).toEqual({ line: 3, column: 3 });
  });

  test('reads both spellings of field names, and leaves names of extensions as they are', () => {
    const tree = treeOf('dynamicResources: {adsConfig: {apiType: DELTA_GRPC}}\n"envoy.x.v3.HttpOptions": {a: 1}\n');
    expect(textAt(tree, 'dynamic_resources', 'ads_config', 'api_type')).toBe('DELTA_GRPC');
    expect(textAt(tree, 'envoy.x.v3.HttpOptions', 'a')).toBe('1');
  });

  test('follows aliases, as Envoy does', () => {
    const tree = treeOf('a: &dns {name: egress}\nb: *dns\nc: [*dns, {name: other}]\n');
    expect(textAt(tree, 'b', 'name')).toBe('egress');
    expect(mapsAt(tree, 'c').map((item) => textAt(item, 'name'))).toEqual(['egress', 'other']);
  });

  test.each([
    ['a broken line', 'node: {id: a}\nadmin: {address: [}\n', 2],
    ['a key twice', 'node: {id: a}\nnode: {id: b}\n', 2],
    ['a list', '- a\n- b\n', 1],
    ['nothing', '', 1],
    ['text', 'hello', 1],
  ])('says what is wrong with %s, and where', (_, text, line) => {
    expect(readBootstrapTree(text)).toMatchObject({ kind: 'unreadable', at: { line } });
  });

  test.each([
    ['that stands in itself', 'a: &x {b: *x}\n', { kind: 'tree' }],
    ['nested beyond reason', '['.repeat(200_000), { kind: 'unreadable' }],
  ])('of what is %s comes to an end', (_, text, expected) => {
    expect(readBootstrapTree(text)).toMatchObject(expected);
  });

  test('of aliases that multiply without end is refused in time', () => {
    const levels = Array.from({ length: 12 }, (_, level) => {
      const one =
        level === 0
          ? '[x, x, x, x, x, x, x, x, x, x]'
          : `[${Array(10)
              .fill(`*l${level - 1}`)
              .join(', ')}]`;
      return `l${level}: &l${level} ${one}`;
    });
    expect(readBootstrapTree(levels.join('\n'))).toMatchObject({ kind: 'unreadable', detail: 'it is too large' });
  });

  test('is asked by what its maps hold', () => {
    const tree = treeOf('a: {b: [{x: 1, c: {x: 2}}]}\n');
    const found = findMaps(tree, (node) => node.entries.has('x'));
    expect(found.map(({ node, within }) => [textAt(node, 'x'), within.length])).toEqual([
      ['1', 2],
      ['2', 3],
    ]);
  });

  test('tells what means the same whatever the order of fields', () => {
    const [one, other] = [treeOf('{a: 1, b: {c: x, d: [1, 2]}}'), treeOf('{b: {d: [1, 2], c: x}, a: 1}')];
    expect(canonical(one)).toBe(canonical(other));
    expect(canonical(one)).not.toBe(canonical(treeOf('{a: 1, b: {c: x, d: [2, 1]}}')));
  });

  test('has durations as protobuf writes them', () => {
    const tree = treeOf('{a: 5s, b: 0.25s, c: 5, d: 1m}');
    expect(['a', 'b', 'c', 'd', 'e'].map((field) => durationMs(tree, field))).toEqual([
      5000,
      250,
      undefined,
      undefined,
      undefined,
    ]);
  });
});

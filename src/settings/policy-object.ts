// A policy inside an API object: from the value that JSON gave to nodes for the reader of policies, with paths like
// `rules[3].hosts[0]` as places. Never throws, whatever the value is; must not know what a policy is.
import { policyFileErrors } from './policy-file-errors.ts';
import type { LeafgateError } from '../errors.ts';
import type { PolicyNode, PolicyPlaces } from './policy-node.ts';
import { shownValue } from './shown-value.ts';

/** a policy needs six */
const maxDepth = 12;
/** an object in etcd has 1.5 MiB, and the shortest item of a list takes four bytes */
const maxNodes = 500_000;

export type PolicyObject = {
  readonly root: PolicyNode;
  readonly places: PolicyPlaces;
  readonly problems: readonly LeafgateError[];
};

/** `path` is where the value stands in its object, like `spec.policy`. */
export function policyObject(value: unknown, path: string): PolicyObject {
  const places = new PathTable(path);
  const problems: LeafgateError[] = [];
  const root = nodeOf(value, places.root, { places, problems, depth: 0 });
  return { root, problems, places };
}

/** A path is made only when it is shown: most nodes are never wrong. */
class PathTable implements PolicyPlaces {
  readonly source: string;
  readonly root = 0;
  readonly #parents: number[] = [0];
  readonly #segments: string[];

  constructor(path: string) {
    this.source = path;
    this.#segments = [path];
  }

  get size(): number {
    return this.#parents.length;
  }

  below(parent: number, segment: string): number {
    this.#segments.push(segment);
    return this.#parents.push(parent) - 1;
  }

  placeOf(at: number): string {
    const segments: string[] = [];
    for (let place = at; place !== this.root; place = this.#parents[place] ?? this.root) {
      segments.push(this.#segments[place] ?? '');
    }
    return [this.source, ...segments.reverse()].join('');
  }

  /** an object has no lines */
  lineOf(): number {
    return 1;
  }
}

type Walk = { readonly places: PathTable; readonly problems: LeafgateError[]; readonly depth: number };

function nodeOf(value: unknown, at: number, walk: Walk): PolicyNode {
  const { places, problems, depth } = walk;
  if (value === null || typeof value !== 'object') return plainNode(value, at);
  const tooMuch =
    depth >= maxDepth ? 'it is nested too deeply' : places.size > maxNodes ? 'it is too large' : undefined;
  if (tooMuch !== undefined) {
    // the first says it; a value that is too large would repeat it for each of its parts
    if (problems.length === 0) {
      problems.push(policyFileErrors.error('policy-file-too-complex', { at: places.placeOf(at), reason: tooMuch }));
    }
    return { kind: 'unread', at };
  }
  const inner = { ...walk, depth: depth + 1 };
  if (Array.isArray(value)) {
    const items = Array.from(value, (item: unknown, index) => nodeOf(item, places.below(at, `[${index}]`), inner));
    return { kind: 'list', items, at };
  }
  const entries = Object.entries(value).map(([key, item]: [string, unknown]) => {
    const keyAt = places.below(at, `.${key}`);
    return { key, keyAt, value: nodeOf(item, keyAt, inner) };
  });
  return { kind: 'map', entries, at };
}

function plainNode(value: unknown, at: number): PolicyNode {
  const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  return isPlain
    ? { kind: 'value', value, shown: shownValue(value), at }
    : { kind: 'value', value: null, shown: 'empty', at };
}

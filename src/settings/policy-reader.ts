// Reading parts of a policy, or of another file whose words are given: each reader gives the value, or keeps a problem with
// its place and gives nothing, so that all problems are found at once. Must not know which keys there are.
import type { LeafgateError } from '../errors.ts';
import { nearestWord } from './nearest-word.ts';
import type { FileProblemCode, FileWords } from './file-words.ts';
import { placeIn, policyFileErrors, policyWords, type PolicyFileErrorCode } from './policy-file-errors.ts';
import type { PolicyMap, PolicyNode, PolicyPlaces, PolicyValue } from './policy-node.ts';

type Fields = Readonly<Record<string, string | number>>;

/** a person mends a screenful at a time; a file of garbage must not make a log of its own */
const maxShownProblems = 100;

export class PolicyReader {
  readonly #places: PolicyPlaces;
  readonly #words: FileWords;
  readonly #problems: LeafgateError[] = [];
  #leftOut = 0;

  constructor(places: PolicyPlaces, words: FileWords = policyWords) {
    this.#places = places;
    this.#words = words;
  }

  /** in the order of the file; empty when nothing was wrong */
  problems(): readonly LeafgateError[] {
    const { source: at } = this.#places;
    const sorted = this.#problems.toSorted((one, other) => orderOf(one, at) - orderOf(other, at));
    if (this.#leftOut === 0) return sorted;
    return [...sorted, this.#words.error('more-problems', { at, count: this.#leftOut })];
  }

  keep(problem: LeafgateError): void {
    if (this.#problems.length < maxShownProblems) this.#problems.push(problem);
    else this.#leftOut += 1;
  }

  problem(code: PolicyFileErrorCode, at: number, fields: Fields): void {
    this.keep(policyFileErrors.error(code, { at: this.#places.placeOf(at), ...fields }));
  }

  lineOf(at: number): number {
    return this.#places.lineOf(at);
  }

  wrong(node: PolicyNode, key: string, meant: { readonly expected: string; readonly example: string }): void {
    if (node.kind === 'unread') return;
    const value = node.kind === 'value' ? shownNode(node) : `a ${node.kind}`;
    this.#keepAt(node.at, 'value-wrong', { key, value, ...meant });
  }

  /** The values by key; keys that nobody knows are kept as problems. */
  map(node: PolicyNode, place: string, keys: readonly string[]): ReadonlyMap<string, PolicyNode> | undefined {
    if (node.kind !== 'map') {
      this.wrong(node, place, {
        expected: `a map with the keys ${keys.join(', ')}`,
        example: `${keys[0] ?? ''}: …`,
      });
      return undefined;
    }
    this.#checkKeys(node, place, keys);
    return new Map(node.entries.map(({ key, value }) => [key, value]));
  }

  /** The items of a list that is not empty; `key` is what the list is called. */
  list(
    node: PolicyNode,
    key: string,
    rules: { readonly most: number; readonly example: string },
  ): readonly PolicyNode[] {
    const meant = { expected: 'a list', example: `${key}: ${rules.example}` };
    if (node.kind !== 'list') {
      this.wrong(node, key, meant);
      return [];
    }
    if (node.items.length === 0) this.#keepAt(node.at, 'value-wrong', { key, value: 'an empty list', ...meant });
    if (node.items.length > rules.most) this.tooMany(node.at, { most: rules.most, things: key });
    return node.items.slice(0, rules.most);
  }

  tooMany(at: number, { most, things }: { readonly most: number; readonly things: string }): void {
    this.#keepAt(at, 'too-many', { most, things, hint: this.#words.tooManyHint });
  }

  text(
    node: PolicyNode,
    key: string,
    meant: { readonly expected: string; readonly example: string },
  ): string | undefined {
    if (node.kind === 'value' && typeof node.value === 'string' && node.value !== '') return node.value;
    this.wrong(node, key, meant);
    return undefined;
  }

  #keepAt(at: number, code: FileProblemCode, fields: Fields): void {
    this.keep(this.#words.error(code, { at: this.#places.placeOf(at), ...fields }));
  }

  #checkKeys(map: PolicyMap, place: string, keys: readonly string[]): void {
    for (const { key, keyAt } of map.entries) {
      if (keys.includes(key)) continue;
      const nearest = nearestWord(key, keys);
      const all = `known are ${keys.join(', ')}`;
      const hint = nearest === undefined ? all : `write ${nearest} if that was meant; ${all}`;
      this.#keepAt(keyAt, 'key-unknown', { key: key === '' ? 'an empty text' : key, place, hint });
    }
  }
}

/** a key that was put into the wrong file is not repeated */
function shownNode({ shown }: PolicyValue): string {
  return shown.includes('-----BEGIN') ? 'a PEM text' : shown;
}

/** a line has fewer columns: a file has at most 4 MiB */
const lineWeight = 2 ** 23;

/** what names no place comes first */
function orderOf(problem: LeafgateError, source: string): number {
  const place = placeIn(problem, source);
  return place === undefined ? 0 : place.line * lineWeight + place.column;
}

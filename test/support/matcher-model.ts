// How Envoy evaluates the matchers that we generate, in a few lines: the first that matches in a list, the longest in a
// tree, and no way back from a nested matcher that says what happens when nothing matches. Real Envoy is compared in
// test/integration/policy-agreement.test.ts.
import { cidrContains } from '../../src/names/cidr.ts';
import { ipAddressFromOctets, parseIpAddress } from '../../src/names/ip-address.ts';

/** input name or filter-state key to its value; absent is no match */
export type MatcherInputs = { readonly [input: string]: string | undefined };

type Node = { readonly [field: string]: unknown };

/** name of the action that is reached; undefined when nothing matches */
export function evaluate(matcher: unknown, inputs: MatcherInputs): string | undefined {
  const { matcher_list: list, matcher_tree: tree, on_no_match: otherwise } = node(matcher);
  const matched = list === undefined ? treeMatch(node(tree), inputs) : listMatch(node(list), inputs);
  const next = matched ?? otherwise;
  return next === undefined ? undefined : outcome(node(next), inputs);
}

function outcome(onMatch: Node, inputs: MatcherInputs): string | undefined {
  if (onMatch['matcher'] !== undefined) return evaluate(onMatch['matcher'], inputs);
  const action = node(onMatch['action']);
  const { name, value } = node(action['typed_config']);
  return String(name ?? value);
}

function listMatch(list: Node, inputs: MatcherInputs): unknown {
  const found = items(list['matchers']).find((entry) => holds(node(node(entry)['predicate']), inputs));
  return found === undefined ? undefined : node(found)['on_match'];
}

function holds(predicate: Node, inputs: MatcherInputs): boolean {
  const inner = (kind: string): boolean[] | undefined => {
    const combined = predicate[kind];
    return combined === undefined ? undefined : items(node(combined)['predicate']).map((p) => holds(node(p), inputs));
  };
  const any = inner('or_matcher');
  if (any !== undefined) return any.some(Boolean);
  const all = inner('and_matcher');
  if (all !== undefined) return all.every(Boolean);
  if (predicate['not_matcher'] !== undefined) return !holds(node(predicate['not_matcher']), inputs);
  const single = node(predicate['single_predicate']);
  const text = inputOf(node(single['input']), inputs);
  const { exact, prefix, contains, safe_regex: regex } = node(single['value_match']);
  if (text === undefined) return false;
  if (typeof exact === 'string') return text === exact;
  if (typeof prefix === 'string') return text.startsWith(prefix);
  if (typeof contains === 'string') return text.includes(contains);
  if (regex !== undefined) return wholeMatch(String(node(regex)['regex']), text);
  throw new Error(`a value match that the model does not know: ${JSON.stringify(single)}`);
}

/** RE2 on the whole text; `\\C`, one byte, is any character here: real bytes are shown on a real Envoy */
function wholeMatch(regex: string, text: string): boolean {
  return new RegExp(`^(?:${regex.replaceAll('\\C', '[^]')})$`).test(text);
}

function treeMatch(tree: Node, inputs: MatcherInputs): unknown {
  const text = inputOf(node(tree['input']), inputs);
  if (text === undefined) return undefined;
  const { domain_matchers: domains, range_matchers: ranges } = node(node(tree['custom_match'])['typed_config']);
  return ranges === undefined ? domainMatch(items(domains), text) : rangeMatch(items(ranges), text);
}

function domainMatch(matchers: readonly unknown[], host: string): unknown {
  const labels = host.split('.');
  const candidates = [host, ...labels.slice(1).map((_, index) => ['*', ...labels.slice(index + 1)].join('.'))];
  for (const candidate of candidates) {
    const found = matchers.find((entry) => items(node(entry)['domains']).includes(candidate));
    if (found !== undefined) return node(found)['on_match'];
  }
  return undefined;
}

function rangeMatch(matchers: readonly unknown[], host: string): unknown {
  const address = parseIpAddress(host);
  if (address === undefined) return undefined;
  const holding = matchers.flatMap((entry) =>
    items(node(entry)['ranges']).flatMap((range) => {
      const { address_prefix: prefix, prefix_len: prefixLength } = node(range);
      const base = parseIpAddress(String(prefix)) ?? ipAddressFromOctets(new Uint8Array(4));
      if (base === undefined || typeof prefixLength !== 'number') throw new Error('no range');
      const isIn = cidrContains({ base, prefixLength }, address);
      return isIn ? [{ prefixLength, onMatch: node(entry)['on_match'] }] : [];
    }),
  );
  return holding.toSorted((a, b) => b.prefixLength - a.prefixLength)[0]?.onMatch;
}

/** filter state by its key, other inputs by the last part of their type's name */
function inputOf(input: Node, inputs: MatcherInputs): string | undefined {
  const { key, '@type': type } = node(input['typed_config']);
  return inputs[typeof key === 'string' ? key : (String(type).split('.').at(-1) ?? '')];
}

function node(value: unknown): Node {
  if (typeof value !== 'object' || value === null) throw new Error(`no object: ${JSON.stringify(value)}`);
  return value as Node;
}

function items(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error(`no list: ${JSON.stringify(value)}`);
  return value;
}

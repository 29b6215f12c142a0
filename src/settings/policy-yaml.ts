// YAML as far as a policy, or another file whose words are given, needs it: maps, lists and plain values, each with its
// place. What lets a file mean something else than it shows (aliases, anchors, tags, directives, keys given twice, several
// documents) is refused. JSON is YAML (1.2.2 section 1.3) and is read the same way. Must not know what a policy is.
import { Composer, isAlias, isMap, isScalar, isSeq, Lexer, Parser } from 'yaml';
import type { Document, ErrorCode, ParsedNode, YAMLError, YAMLMap } from 'yaml';
import type { LeafgateError } from '../errors.ts';
import type { FileWords } from './file-words.ts';
import { policyWords } from './policy-file-errors.ts';
import type { PolicyEntry, PolicyNode, PolicyValue } from './policy-node.ts';
import type { PolicyText } from './policy-text.ts';

/** undefined when the file cannot be read as YAML at all; a node may come with problems */
export type YamlReading = { readonly root: PolicyNode | undefined; readonly problems: readonly LeafgateError[] };

/** a policy needs seven; the parser's time grows with the square of the depth */
const maxDepth = 24;
/** the first few say what is wrong, the others mostly follow from them */
const maxSyntaxProblems = 10;

type Reading = { readonly text: PolicyText; readonly words: FileWords; readonly problems: LeafgateError[] };
type Fault = { readonly detail: string; readonly hint: string };

export function readYaml(text: PolicyText, words: FileWords = policyWords): YamlReading {
  const problems: LeafgateError[] = [];
  const reading: Reading = { text, words, problems };
  const composed = compose(reading);
  if (composed === undefined) return { root: undefined, problems };
  const { contents, errors, directives } = composed;
  if (directives.yaml.explicit === true) {
    keep(reading, 0, { detail: 'a directive is not read', hint: 'take the line with % out' });
  }
  for (const error of errors.slice(0, maxSyntaxProblems)) keep(reading, error.pos[0], faultOf(error, words));
  // a tree that was guessed around an error would be reported for what it never was
  if (problems.length > 0) return { root: undefined, problems };
  if (contents === null) {
    keep(reading, 0, { detail: 'the file is empty', hint: words.emptyHint });
    return { root: undefined, problems };
  }
  const root = converted(contents, reading);
  return { root, problems };
}

function compose(reading: Reading): Document.Parsed | undefined {
  const { text, problems } = reading;
  const composer = new Composer<ParsedNode, true>({
    uniqueKeys: false,
    stringKeys: true,
    logLevel: 'silent',
    merge: false,
  });
  const documents = [...composer.compose(tokens(reading), true, text.text.length)];
  const [first, second] = documents;
  if (second !== undefined && problems.length === 0) {
    const detail = 'a second document begins here';
    keep(reading, second.range[0], { detail, hint: 'keep one document, and take the line `---` out' });
  }
  return problems.length > 0 ? undefined : first;
}

function* tokens(reading: Reading): ReturnType<Parser['parse']> {
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(reading.text.text)) {
    yield* parser.next(lexeme);
    if (parser.stack.length <= maxDepth) continue;
    const detail = 'this is nested too deeply';
    keep(reading, parser.offset, { detail, hint: `write it plainly, as ${reading.words.guide} shows` });
    return;
  }
  yield* parser.end();
}

function converted(node: ParsedNode, reading: Reading): PolicyNode {
  const at = node.range[0];
  if (isAlias(node)) {
    const hint = `a text that begins with a star needs quotes: "*${node.source}"`;
    keep(reading, at, { detail: 'an alias is not read', hint });
    return { kind: 'unread', at };
  }
  if (node.anchor !== undefined || node.tag !== undefined) {
    const detail = node.tag === undefined ? 'an anchor is not read' : 'a tag is not read';
    keep(reading, at, { detail, hint: 'write each value out, without & and !' });
  }
  if (isMap(node)) return { kind: 'map', entries: entriesOf(node, reading), at };
  if (isSeq(node)) return { kind: 'list', items: node.items.map((item) => converted(item, reading)), at };
  return isScalar(node) ? valueOf(node.value, reading.text.text.slice(at, node.range[1]), at) : nothing(at);
}

function entriesOf(map: YAMLMap.Parsed, reading: Reading): readonly PolicyEntry[] {
  const { text, words, problems } = reading;
  const seen = new Set<string>();
  return map.items.map((pair) => {
    const keyAt = pair.key.range[0];
    const key = isScalar(pair.key) ? String(pair.key.value) : '';
    if (seen.has(key)) problems.push(words.error('key-twice', { at: text.placeOf(keyAt), key }));
    seen.add(key);
    return { key, keyAt, value: pair.value === null ? nothing(keyAt) : converted(pair.value, reading) };
  });
}

function valueOf(value: unknown, shown: string, at: number): PolicyValue {
  const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  return isPlain ? { kind: 'value', value, shown, at } : nothing(at);
}

function nothing(at: number): PolicyValue {
  return { kind: 'value', value: null, shown: 'empty', at };
}

const hints: { readonly [code in ErrorCode]?: string } = {
  TAB_AS_INDENT: 'indent with spaces',
  BAD_INDENT: 'indent the parts of one list or map alike',
  MULTIPLE_ANCHORS: 'write each value out, without & and !',
  MULTIPLE_TAGS: 'write each value out, without & and !',
  TAG_RESOLVE_FAILED: 'write each value out, without & and !',
  BAD_ALIAS: 'a text that begins with a star needs quotes, like "*.example.com"',
  BAD_DIRECTIVE: 'take the line with % out',
};

function faultOf({ code, message }: Pick<YAMLError, 'code' | 'message'>, { guide }: FileWords): Fault {
  const detail = `${message.charAt(0).toLowerCase()}${message.slice(1)}`.replace(/\.$/, '');
  return {
    detail: `this is no valid YAML: ${detail}`,
    hint: hints[code] ?? `see ${guide} for what such a file looks like`,
  };
}

function keep({ text, words, problems }: Reading, offset: number, fault: Fault): void {
  problems.push(words.error('syntax', { at: text.placeOf(offset), ...fault }));
}

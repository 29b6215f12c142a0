// From the bytes of a policy file, or another that people write, to its text, and from places in the text to lines and
// columns. Refuses what editors and parsers show differently: a file must mean what it looks like.
import type { LeafgateError } from '../errors.ts';
import type { FileWords } from './file-words.ts';
import { policyWords } from './policy-file-errors.ts';
import type { PolicyPlaces } from './policy-node.ts';

/** places are offsets in the text */
export type PolicyText = PolicyPlaces & { readonly text: string };

/** C0 without tab and line feed, DEL, C1, and the line separators that only some readers know (YAML 1.2.2 section 5.4) */
const unwanted = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff]/;
/** a carriage return alone ends a line for some readers and not for others */
const carriageReturns = /\r\n/g;

export type PolicyTextVerdict =
  { readonly kind: 'text'; readonly text: PolicyText } | { readonly kind: 'refused'; readonly problem: LeafgateError };

export function readPolicyText(bytes: Uint8Array, source: string, words: FileWords = policyWords): PolicyTextVerdict {
  const { maxBytes } = words;
  if (bytes.length > maxBytes) return refuse(words.error('file-too-large', { at: source, maxBytes }));
  let decoded: string;
  try {
    decoded = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return refuse(words.error('file-not-text', { at: source, detail: 'it is not UTF-8' }));
  }
  const text = policyText(decoded.replace(carriageReturns, '\n'), source);
  const found = unwanted.exec(text.text);
  if (found === null) return { kind: 'text', text };
  const detail = `the character ${codePointText(found[0])} does not belong here`;
  return refuse(words.error('file-not-text', { at: text.placeOf(found.index), detail }));
}

function policyText(text: string, source: string): PolicyText {
  const starts = lineStarts(text);
  const lineOf = (offset: number): number => lastAtMost(starts, offset) + 1;
  return {
    source,
    text,
    lineOf,
    placeOf: (offset) => {
      const line = lineOf(offset);
      return `${source}:${line}:${offset - (starts[line - 1] ?? 0) + 1}`;
    },
  };
}

function lineStarts(text: string): readonly number[] {
  const starts = [0];
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', end + 1)) starts.push(end + 1);
  return starts;
}

/** index of the last start that is not behind `offset` */
function lastAtMost(starts: readonly number[], offset: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

function codePointText(character: string): string {
  return `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
}

function refuse(problem: LeafgateError): PolicyTextVerdict {
  return { kind: 'refused', problem };
}

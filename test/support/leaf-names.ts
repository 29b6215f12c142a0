// Names of leaves for tests, parsed by the product's own parser.
import { askedNameFromText, parseAskedName } from '../../src/names/parse-asked-name.ts';
import type { LeafRequest } from '../../src/x509/leaf-template.ts';

export function leafName(text: string): LeafRequest['name'] {
  const name = parseAskedName(askedNameFromText(text));
  if (name.kind === 'refused') throw new Error(`${text} is refused: ${name.reason}`);
  return name;
}

/** 253 bytes with labels of 63, the longest name there is (RFC 1035 2.3.4) */
export const longestHost = [63, 63, 63, 61].map((length) => 'a'.repeat(length)).join('.');

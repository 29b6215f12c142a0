// Finds the PEM blocks of a text that people and machines have put together: text around blocks in any encoding, headers in
// them, CRLF, byte order marks, files joined without a line end. What is meant to be a block and is none is told, never
// passed over: a root less would be noticed late. Must not know what the blocks are for; pem.ts reads what is written with
// care.
import type { PemBlock } from './pem.ts';

export type PemFinding =
  | { readonly kind: 'blocks'; readonly blocks: readonly PemBlock[] }
  /** the first place where something is meant to be a block and is none */
  | PemFault;

type PemFault = { readonly kind: 'broken'; readonly line: number; readonly reason: string };

type OpenBlock = {
  readonly label: string;
  readonly line: number;
  readonly body: string[];
  headers: 'none' | 'some' | 'over';
};

/** One character a byte (latin1): all that counts is ASCII. */
export function findPemBlocks(text: string): PemFinding {
  const finder = new BlockFinder();
  for (const [index, line] of text.split(lineEnd).entries()) {
    const fault = finder.take(line, index + 1);
    if (fault !== undefined) return fault;
  }
  return finder.finish();
}

const lineEnd = /\r\n|\r|\n/;
/** in UTF-8, as latin1 shows it; joined files have one in the middle */
const byteOrderMark = /^\xef\xbb\xbf/;
const begin = /^-----BEGIN ([A-Z0-9][A-Z0-9 ]{0,60})-----[ \t]*$/;
/** the next file may begin on the same line */
const end = /^-----END ([A-Z0-9][A-Z0-9 ]{0,60})-----(.*)$/;
const almostMarker = /----\s*(?:BEGIN|END)\b/;

class BlockFinder {
  readonly #blocks: PemBlock[] = [];
  #open: OpenBlock | undefined;

  /** gives what is broken on this line */
  take(text: string, number: number): PemFault | undefined {
    const line = text.replace(byteOrderMark, '');
    return this.#open === undefined ? this.#outside(line, number) : this.#inside(line, number, this.#open);
  }

  finish(): PemFinding {
    if (this.#open === undefined) return { kind: 'blocks', blocks: this.#blocks };
    return broken(this.#open.line, 'a block that is cut off before its END line');
  }

  #outside(line: string, number: number): PemFault | undefined {
    const label = begin.exec(line)?.[1];
    if (label !== undefined) this.#open = { label, line: number, body: [], headers: 'none' };
    else if (almostMarker.test(line)) return broken(number, 'a BEGIN or END line that is broken or out of place');
    return undefined;
  }

  #inside(line: string, number: number, open: OpenBlock): PemFault | undefined {
    const [, label, rest = ''] = end.exec(line) ?? [];
    if (label === open.label) return this.#close(open) ?? this.take(rest, number);
    if (line.startsWith('-----')) return broken(number, 'a BEGIN or END line that does not fit the open block');
    if (isHeader(line, open)) open.headers = 'some';
    else {
      open.headers = 'over';
      open.body.push(line);
    }
    return undefined;
  }

  #close({ label, line, body }: OpenBlock): PemFault | undefined {
    this.#open = undefined;
    const base64 = body.join('').replace(/[ \t]/g, '');
    const isWhole = base64.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(base64);
    if (!isWhole) return broken(line, 'a block whose base64 is not whole');
    this.#blocks.push({ label, bytes: Buffer.from(base64, 'base64'), line });
    return undefined;
  }
}

/** `Key: value` right after BEGIN, as Go's reader takes them (encoding/pem); RFC 1421 4.6 folds long ones */
function isHeader(line: string, { headers }: OpenBlock): boolean {
  if (headers === 'over') return false;
  return line.includes(':') || (headers === 'some' && /^[ \t]+\S/.test(line));
}

function broken(line: number, reason: string): PemFault {
  return { kind: 'broken', line, reason };
}

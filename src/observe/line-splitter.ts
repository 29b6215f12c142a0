// Bytes in, whole lines out, whatever the pieces; a line above the limit is left out and told. Pure.

export interface LineSplitter {
  take(bytes: Uint8Array): void;
  /** bytes of a line that has begun and not ended */
  pendingBytes(): number;
  /** forgets a line that has begun */
  reset(): void;
}

const newline = 0x0a;

export function createLineSplitter(
  maxLineBytes: number,
  onLine: (line: string) => void,
  onTooLong: () => void,
): LineSplitter {
  let parts: Uint8Array[] = [];
  let size = 0;
  const add = (part: Uint8Array): void => {
    size += part.length;
    // the parts of a line that is too long already are not kept, only counted
    if (size <= maxLineBytes) parts.push(part.slice());
  };
  const finish = (): void => {
    if (size > maxLineBytes) onTooLong();
    else if (size > 0) onLine(Buffer.concat(parts).toString('utf8'));
    parts = [];
    size = 0;
  };
  return {
    take: (bytes) => {
      let from = 0;
      for (let at = bytes.indexOf(newline); at !== -1; at = bytes.indexOf(newline, from)) {
        add(bytes.subarray(from, at));
        finish();
        from = at + 1;
      }
      if (from < bytes.length) add(bytes.subarray(from));
    },
    pendingBytes: () => size,
    reset: () => {
      parts = [];
      size = 0;
    },
  };
}

// Random bytes in small pieces out of large draws: a draw costs microseconds however short it is (13 of 100 µs a mint,
// measured). Each byte is handed out once. For serials; keys come from their own generator.

const blockBytes = 4096;

export function createRandomBlocks(draw: (count: number) => Uint8Array): (count: number) => Uint8Array {
  let block = new Uint8Array(0);
  let used = 0;
  return (count) => {
    if (count > blockBytes) return draw(count);
    if (block.length - used < count) {
      block = new Uint8Array(draw(blockBytes));
      used = 0;
    }
    used += count;
    // a copy: what is left of the block must not be reachable through the piece
    return block.slice(used - count, used);
  };
}

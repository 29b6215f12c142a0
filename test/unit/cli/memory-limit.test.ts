import { describe, expect, it } from 'vitest';
import { envoyHeapBytes, type MemoryChoice } from '../../../src/cli/memory-limit.ts';

const mib = 1024 * 1024;
const choice = (change: Partial<MemoryChoice>): MemoryChoice => ({
  ...{ given: undefined, byDefault: 1024 * mib, constrained: 0, total: 64 * 1024 * mib },
  ...change,
});

describe('the heap that Envoy may take', () => {
  it.each([
    ['the default, without a limit of the system', choice({}), 968],
    ['the default, where the limit is what the machine has', choice({ constrained: 2 ** 63 }), 968],
    ['what was given, whatever the system says', choice({ given: 512 * mib, constrained: 256 * mib }), 456],
    ['the limit of the control group less what leafgate needs', choice({ constrained: 2048 * mib }), 1800],
    ['half of a small control group', choice({ constrained: 256 * mib }), 72],
    ['the least that a gateway runs in', choice({ constrained: 192 * mib }), 40],
  ])('is %s, less the pages of its binary', (_, given, expected) => {
    expect(envoyHeapBytes(given) / mib).toBe(expected);
  });

  it('is refused where nothing would be left for clients', () => {
    expect(() => envoyHeapBytes(choice({ constrained: 191 * mib }))).toThrow(
      /has 191 MiB of memory, and a gateway needs at least 192 MiB/,
    );
  });
});

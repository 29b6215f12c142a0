// How much memory Envoy may take, and what of it is its allocator's: the overload guard counts only that, and the kernel's
// control group counts everything. Linux only; where no limit can be read, the setting's default holds.
import { totalmem } from 'node:os';
import { binaryMemory, heapWithin } from '../settings/envoy-heap.ts';
import { cliErrors } from './cli-errors.ts';

const mib = 1024 * 1024;
/** leafgate itself, in the same control group: 80 MB idle, 180 MB with 10,000 names (measured) */
const ownMemory = 192 * mib;
/** Envoy is at 22 MB before the first client */
const leastHeap = 40 * mib;

export type MemoryChoice = {
  /** undefined: the machine decides */
  readonly given: number | undefined;
  readonly byDefault: number;
  /** limit of the control group in bytes; 0 or more than the machine has: none */
  readonly constrained: number;
  readonly total?: number;
};

/** For the overload guard. @throws memory-too-small */
export function envoyHeapBytes(choice: MemoryChoice): number {
  const heap = heapWithin(envoyMemory(choice));
  if (heap >= leastHeap) return heap;
  const [limit, needed] = [choice.constrained, leastLimit].map((bytes) => `${Math.floor(bytes / mib)} MiB`);
  throw cliErrors.error('memory-too-small', { limit: limit ?? '', needed: needed ?? '' });
}

const leastLimit = 2 * (leastHeap + binaryMemory);

function envoyMemory({ given, byDefault, constrained, total = totalmem() }: MemoryChoice): number {
  if (given !== undefined) return given;
  if (constrained <= 0 || constrained >= total) return byDefault;
  // in a small group each gets half
  return constrained - Math.min(ownMemory, constrained / 2);
}

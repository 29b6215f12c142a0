// How much of Envoy's memory its allocator may take: the overload guard counts only that.
const mib = 1024 * 1024;
/** the binary's own pages: 56 MB of every resident size, whatever the load (measured on 1.40.0) */
export const binaryMemory = 56 * mib;

export function heapWithin(memoryBytes: number): number {
  return memoryBytes - binaryMemory;
}

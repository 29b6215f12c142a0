// Leaves by canonical name, least recently used first out, with the press that made them. No clock in here: lru-cache's
// own expiry runs on monotonic time, and a leaf ends by the wall clock, so the minter judges each hit (reliability 2.5).
import { LRUCache } from 'lru-cache';
import type { Leaf } from './mint-types.ts';

export type LeafCache = {
  get(name: string): Leaf | undefined;
  put(name: string, leaf: Leaf): void;
  forget(name: string): void;
  /** the signer changed: what it signed is not served to anybody who asks anew */
  clear(): void;
  readonly size: number;
};

export function createLeafCache(maxLeaves: number): LeafCache {
  const leaves = new LRUCache<string, Leaf>({ max: maxLeaves });
  return {
    get: (name) => leaves.get(name),
    put: (name, leaf) => void leaves.set(name, leaf),
    forget: (name) => void leaves.delete(name),
    clear: () => leaves.clear(),
    get size() {
      return leaves.size;
    },
  };
}

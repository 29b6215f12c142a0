// Tells a leaf's first connection from later ones by the serial that Envoy logs. Bounded; pure.

export interface SeenLeaves {
  /** `minted` while the connection `id` is the one that showed the serial first */
  judge(serial: string, id: string): 'minted' | 'cached';
}

/** more than the live names of one Envoy (20,000); a forgotten leaf would be called minted once more */
const maxSerials = 32_768;

export function createSeenLeaves(limit = maxSerials): SeenLeaves {
  const firstIds = new Map<string, string>();
  return {
    judge: (serial, id) => {
      const first = firstIds.get(serial) ?? id;
      // moved to the end, so that the one not shown for longest is forgotten first
      firstIds.delete(serial);
      firstIds.set(serial, first);
      if (firstIds.size > limit) forgetOldest(firstIds);
      return first === id ? 'minted' : 'cached';
    },
  };
}

export function forgetOldest<Value>(entries: Map<string, Value>): void {
  const oldest = entries.keys().next();
  if (oldest.done !== true) entries.delete(oldest.value);
}

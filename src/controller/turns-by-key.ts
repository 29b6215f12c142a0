// Work on the same thing comes one after the other, work on different things does not wait. Must not know what is done.

export type TurnsByKey = <Value>(key: string, work: () => Promise<Value>) => Promise<Value>;

export function createTurnsByKey(): TurnsByKey {
  const last = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const before = last.get(key) ?? Promise.resolve();
    // what failed before is the business of whoever asked for it
    const mine = before.catch(() => undefined).then(work);
    last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (last.get(key) === mine) last.delete(key);
    }
  };
}

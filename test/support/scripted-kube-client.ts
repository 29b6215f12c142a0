// The list and watch of a client, answered by the test: lists in turn, watches held open until the test ends them.
import type { KubeClient, KubeObject, ObjectList, ObjectQuery, WatchTerms } from '../../src/kube/kube-types.ts';

type OpenWatch = {
  readonly terms: WatchTerms;
  /** as the server's clean end of a stream */
  end(): void;
  fail(error: Error): void;
};

export type ScriptedKubeClient = Pick<KubeClient, 'list' | 'watch'> & {
  readonly listed: () => number;
  /** the query of the last list */
  readonly asked: () => ObjectQuery | undefined;
  readonly watches: readonly OpenWatch[];
  /** the watch that is open now */
  readonly open: () => OpenWatch;
  /** what the next list gives, and every one after it until told otherwise */
  nextList(list: ObjectList | Error): void;
};

export function createScriptedKubeClient(): ScriptedKubeClient {
  const watches: OpenWatch[] = [];
  let listed = 0;
  let asked: ObjectQuery | undefined;
  let next: ObjectList | Error = listOf('1');
  return {
    listed: () => listed,
    asked: () => asked,
    watches,
    open: () => {
      const last = watches.at(-1);
      if (last === undefined) throw new Error('no watch was opened');
      return last;
    },
    nextList: (list) => {
      next = list;
    },
    list: async (query) => {
      listed += 1;
      asked = query;
      if (next instanceof Error) throw next;
      return next;
    },
    watch: (_, terms) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      terms.signal.addEventListener('abort', () => reject(new Error('given up')));
      watches.push({ terms, end: resolve, fail: reject });
      return promise;
    },
  };
}

export function listOf(resourceVersion: string, ...items: readonly KubeObject[]): ObjectList {
  return { items, resourceVersion };
}

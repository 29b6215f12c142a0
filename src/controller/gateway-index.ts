// The EgressGateways of the listed namespaces, as the API server has them now. Must not know what is made of them.
import type { KubeFailure } from '../kube/kube-failure.ts';
import type { KubeObject } from '../kube/kube-types.ts';
import type { Follow, Follower } from './followed-objects.ts';
import { egressGateways } from './watched-kinds.ts';

export interface GatewayIndex {
  /** by `namespace/name` */
  get(key: string): KubeObject | undefined;
  keys(): readonly string[];
  /** its gateways are known, so that one that is not among them does not exist */
  isFollowed(namespace: string): boolean;
  /** of every namespace it is known what it has, or that it cannot be listed now */
  isSettled(): boolean;
  /** every namespace has been listed once */
  isSynced(): boolean;
  /** why there is no current view of a namespace */
  troubles(): readonly { readonly namespace: string; readonly failure: KubeFailure }[];
  close(): Promise<void>;
}

export type GatewayIndexOptions = {
  readonly namespaces: readonly string[];
  readonly follow: (query: Parameters<Follow>[0], changed: (key: string) => void) => GatewayFollower;
  /** a gateway came, changed or went */
  readonly changed: (key: string) => void;
};

export interface GatewayFollower extends Follower {
  items(): readonly KubeObject[];
}

export function gatewayKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

export function indexGateways({ namespaces, follow, changed }: GatewayIndexOptions): GatewayIndex {
  const followers = new Map(
    namespaces.map((namespace) => [namespace, follow({ resource: egressGateways, namespace }, changed)]),
  );
  const all = (): readonly GatewayFollower[] => [...followers.values()];
  return {
    get: (key) => {
      const slash = key.indexOf('/');
      const namespace = key.slice(0, slash);
      return followers.get(namespace)?.get(key.slice(slash + 1), namespace);
    },
    keys: () =>
      all()
        .flatMap((follower) => follower.items())
        .map(({ metadata }) => gatewayKey(metadata.namespace ?? '', metadata.name)),
    isFollowed: (namespace) => followers.get(namespace)?.isSynced() === true,
    isSettled: () => all().every((follower) => follower.isSynced() || follower.trouble() !== undefined),
    isSynced: () => all().every((follower) => follower.isSynced()),
    troubles: () =>
      [...followers].flatMap(([namespace, follower]) => {
        const failure = follower.trouble();
        return failure === undefined ? [] : [{ namespace, failure }];
      }),
    close: async () => {
      await Promise.allSettled(all().map((follower) => follower.close()));
    },
  };
}

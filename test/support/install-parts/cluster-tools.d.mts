// What the tests need of it.
export type ClusterProgram = 'kube-apiserver' | 'etcd' | 'ctb-oracle' | 'kubectl';
export declare const clusterPrograms: readonly ClusterProgram[];
export declare function givenProgram(
  name: ClusterProgram,
  env?: { readonly [name: string]: string | undefined },
): string | undefined;
export declare function builtProgram(name: ClusterProgram): string;

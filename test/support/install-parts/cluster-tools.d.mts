// What the tests need of it.
export type ClusterProgram = 'kube-apiserver' | 'etcd' | 'ctb-oracle' | 'kubectl';
export declare const clusterPrograms: readonly ClusterProgram[];
export declare function givenProgram(name: ClusterProgram): string | undefined;
export declare function builtProgram(name: ClusterProgram): string;

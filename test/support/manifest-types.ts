// The shapes of the shipped YAML as far as tests look at it. What a file leaves out shows as a failing expectation.

type Labels = { readonly [label: string]: string };

export type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Labels;
    readonly annotations?: Labels;
  };
  readonly [field: string]: unknown;
};

export type Container = {
  readonly name: string;
  readonly image: string;
  /** in place of the image's own */
  readonly command?: readonly string[];
  readonly args: readonly string[];
  readonly restartPolicy?: string;
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly lifecycle?: { readonly preStop: object };
  readonly resources: { readonly requests: Amounts; readonly limits: Amounts };
  readonly securityContext: object;
  readonly volumeMounts: readonly Mount[];
};

type Amounts = { readonly memory: string; readonly 'ephemeral-storage'?: string };

type Probe = { readonly httpGet?: object; readonly tcpSocket?: object };

type Mount = { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean };

export type Volume = {
  readonly name: string;
  readonly configMap?: { readonly name: string };
  readonly secret?: { readonly secretName: string; readonly items: readonly { readonly key: string }[] };
  readonly emptyDir?: { readonly medium?: string; readonly sizeLimit: string };
  readonly projected?: { readonly sources: readonly { readonly serviceAccountToken?: object }[] };
};

type Pod = {
  readonly serviceAccountName: string;
  readonly automountServiceAccountToken: boolean;
  readonly enableServiceLinks: boolean;
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext: object;
  readonly topologySpreadConstraints: readonly { readonly labelSelector: object }[];
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
  readonly volumes: readonly Volume[];
};

type Selector = { readonly matchLabels: Labels };

export type Deployment = Manifest & {
  readonly spec: {
    readonly replicas: number;
    readonly selector: Selector;
    readonly template: { readonly metadata: { readonly labels: Labels }; readonly spec: Pod };
  };
};

export type Rule = {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
};

export type RoleManifest = Manifest & { readonly rules: readonly Rule[] };

type Binding = Manifest & {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects: readonly object[];
};

type Ports = readonly { readonly port: number; readonly targetPort?: string }[];

export type Kinds = {
  readonly Deployment: Deployment;
  readonly ServiceAccount: Manifest & { readonly automountServiceAccountToken: boolean };
  readonly Service: Manifest & { readonly spec: { readonly selector: Labels; readonly ports: Ports } };
  readonly PodDisruptionBudget: Manifest & { readonly spec: object };
  readonly Role: RoleManifest;
  readonly ClusterRole: RoleManifest;
  readonly RoleBinding: Binding;
  readonly ClusterRoleBinding: Binding;
  readonly NetworkPolicy: Manifest & {
    readonly spec: {
      readonly podSelector: Selector;
      readonly policyTypes: readonly string[];
      readonly ingress: readonly { readonly from: readonly object[]; readonly ports: Ports }[];
      readonly egress: readonly {
        readonly to?: readonly { readonly ipBlock: { readonly cidr: string; readonly except: readonly string[] } }[];
        readonly ports: Ports;
      }[];
    };
  };
  readonly EgressGateway: Manifest & {
    readonly metadata: { readonly namespace: string };
    readonly spec: {
      readonly caPool: { readonly secretName: string };
      readonly servingTLS: { readonly secretName: string };
      readonly trustBundle: { readonly signerName: string; readonly name: string };
      readonly listener: { readonly port: number; readonly tlsPort: number };
      readonly limits: { readonly maxMemory: string; readonly drain: string };
    };
  };
};

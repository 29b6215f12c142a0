// What an EgressGateway object says, parsed and checked: after this no check repeats. Its status is what was last written,
// as far as it can be read.
import type { DurationMs } from '../clock.ts';
import type { Cidr, HostPattern } from '../names/name-types.ts';
import type { Policy } from '../policy/policy-types.ts';
import type { ClientRate, ListenAddress, ResolveOverride } from './gateway-spec.ts';

/** What can be said of an object also when its spec is wrong. */
export type EgressGatewayIdentity = {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly isDeleting: boolean;
  readonly finalizers: readonly string[];
  readonly status: EgressGatewayStatus;
};

export type EgressGateway = EgressGatewayIdentity & { readonly spec: EgressGatewaySpec };

export type EgressGatewaySpec = {
  readonly caPool: { readonly secretName: string };
  readonly trustBundle: TrustBundleSpec;
  /** the proxy's certificate for clients that speak TLS to it; undefined: they speak in clear */
  readonly servingTls: { readonly secretName: string } | undefined;
  readonly origins: {
    /** private roots beside the common ones */
    readonly caBundle: ConfigMapKey | undefined;
    readonly clientCertificates: readonly ClientCertificateChoice[];
  };
  readonly clients: { readonly caBundle: ConfigMapKey | undefined };
  readonly sds: SdsSpec;
  readonly policy: Policy;
  /** only counts what it would have decided; undefined: none */
  readonly dryRun: Policy | undefined;
  /** policy.yaml for `leafgate sds`: default, rules, dryRun */
  readonly policyText: string;
  readonly deploymentName: string;
  readonly gateway: EgressGatewayTerms;
};

export type TrustBundleSpec = {
  readonly signerName: string;
  readonly name: string;
  /** the one name that the API server accepts for it */
  readonly objectName: string;
  readonly labels: Readonly<Record<string, string>>;
  /** how long the bundle stays when the pool is gone */
  readonly retainForMs: DurationMs;
  /** what becomes of it when the gateway is deleted */
  readonly deletionPolicy: 'Delete' | 'Retain';
};

/** What could be read of a spec that is refused: the trust of its clients goes on, and goes with it when it is deleted. */
export type ReadTrust = {
  readonly caPool: EgressGatewaySpec['caPool'] | undefined;
  readonly trustBundle: TrustBundleSpec | undefined;
  readonly allowEd25519: boolean;
};

export type ConfigMapKey = { readonly name: string; readonly key: string };

export type ClientCertificateChoice = { readonly hosts: readonly HostPattern[]; readonly secretName: string };

export type SdsSpec = {
  readonly transport: 'UnixSocket' | 'TCP';
  readonly leafLifetimeMs: DurationMs;
  readonly allowEd25519: boolean;
  /** undefined: the block is absent */
  readonly tls: SdsTls | undefined;
};

export type SdsTls = {
  readonly enabled: boolean;
  /** of the server */
  readonly secretName: string | undefined;
  /** of Envoy; undefined: the same Secret as the server's */
  readonly clientSecretName: string | undefined;
  readonly allowedSans: readonly string[];
  readonly allowAnyClient: boolean;
  readonly insecureSkipVerify: boolean;
};

/** what else the generator of Envoy's files takes */
export type EgressGatewayTerms = {
  readonly listenPort: number;
  /** a port of its own for TLS; undefined: `listenPort` itself speaks TLS where there is a serving certificate */
  readonly listenTlsPort: number | undefined;
  /** never empty */
  readonly allowFrom: readonly Cidr[];
  readonly resolve: readonly ResolveOverride[];
  readonly allowDestinations: readonly Cidr[];
  readonly dnsServers: readonly ListenAddress[];
  readonly maxConnections: number;
  /** of the container that Envoy runs in */
  readonly maxMemoryBytes: number;
  readonly clientRate: ClientRate;
  readonly drainMs: DurationMs;
};

/** Field names are those of the object: it is written back as it is. */
export type EgressGatewayStatus = {
  readonly observedGeneration?: number;
  readonly bundle?: {
    readonly objectName: string;
    readonly sha256: string;
    readonly anchors: readonly AnchorStatus[];
  };
  readonly pool?: { readonly activeID: string; readonly activeSince: string };
  readonly servingTLS?: { readonly secretName: string; readonly requiredDNSNames: readonly string[] };
  readonly conditions: readonly StatusCondition[];
};

/** `sha256` in hex, times in RFC 3339 */
export type AnchorStatus = {
  readonly id: string;
  readonly subject: string;
  readonly sha256: string;
  readonly notAfter: string;
  readonly publishedAt: string;
};

export type StatusCondition = {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
};

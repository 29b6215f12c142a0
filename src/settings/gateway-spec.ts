// GatewaySpec: the one value that flags, a policy file and an EgressGateway object all parse into (design decision 15).
// Everything in it is parsed and checked; the generator of Envoy's files takes it as it is.
import type { Cidr, HostName, HostPattern, IpAddress, ValidName } from '../names/name-types.ts';
import type { Policy } from '../policy/policy-types.ts';

/** Name of the built-in origin of the self-check; `.invalid` never resolves (RFC 6761 6.4). Always minted. */
export const selfCheckHost = 'self-check.leafgate.invalid' as HostName;

/** What Envoy asks for when a client sent no server name: its mapper needs a default. Always minted. */
export const noSniHost = 'no-sni.leafgate.invalid' as HostName;

export type ListenAddress = { readonly address: IpAddress; readonly port: number };

/** `--resolve HOST:PORT:ADDRESS`, as curl has it: the name stays in SNI, Host and verification; `*` is any name */
export type ResolveOverride = { readonly host: HostName | '*'; readonly port: number; readonly address: IpAddress };

export type GatewaySpec = {
  /** the port is the real one, never 0 */
  readonly listen: ListenAddress;
  /** whether listeners on `::` take IPv4 too, as in a cluster with both families */
  readonly takesBothFamilies: boolean;
  /** other addresses at which the listener is reached, when it listens on all of them */
  readonly ownAddresses: readonly IpAddress[];
  /** whether those are all; a pod has an address that is given to it when it runs, and a Service in front of it */
  readonly knowsOwnAddresses: boolean;
  /** who may connect; empty means loopback only, which `listen` must then be */
  readonly allowFrom: readonly Cidr[];
  readonly policy: Policy;
  /** only counts what it would have decided; undefined: none */
  readonly dryRun: Policy | undefined;
  readonly resolve: readonly ResolveOverride[];
  /** exceptions to the destination guard */
  readonly allowDestinations: readonly Cidr[];
  /** DNS servers for origins; empty means the system's own */
  readonly dnsServers: readonly ListenAddress[];
  readonly limits: GatewayLimits;
  readonly paths: GatewayPaths;
  /** an SDS server on another machine; undefined: the one that listens on `paths.sdsSocket` */
  readonly remoteSds: RemoteSds | undefined;
  readonly selfCheck: SelfCheckOrigin;
  /** TLS to the proxy; undefined: clients speak to it in clear */
  readonly front: ProxyFront | undefined;
  /** a listener for connections that the system redirects here; undefined: none */
  readonly transparent: TransparentListener | undefined;
  /** client certificates for chosen origins; all other origins see none */
  readonly originCredentials: readonly ShownCredential[];
};

export type ProxyFront = {
  /** a listener of its own, TLS only; undefined: `listen` itself speaks TLS, and clear only to this machine */
  readonly listen: ListenAddress | undefined;
  /** folder with tls.crt and tls.key, as a Secret of type kubernetes.io/tls is mounted */
  readonly certificateDir: string;
  /** PEM; the CAs that clients' certificates are verified with; undefined: clients are asked for none */
  readonly clientCaFile: string | undefined;
};

/** Reached by TCP (docs/sds-channel.md). */
export type RemoteSds = {
  /** one or more, each with the same pool: Envoy goes to another when one is away */
  readonly endpoints: readonly { readonly host: ValidName; readonly port: number }[];
  /** undefined: in plaintext, by somebody's choice */
  readonly tls: RemoteSdsTls | undefined;
};

/** Mutual TLS. */
export type RemoteSdsTls = {
  /** what is sent as the server name, and what the server's certificate must have as a DNS name */
  readonly serverName: HostName;
  /** false: any certificate will do, for development; Envoy shows its own all the same */
  readonly verifiesServer: boolean;
  /** folder with tls.crt and tls.key, which Envoy shows, and ca.crt, which the server is verified with; followed */
  readonly certificateDir: string;
};

export type TransparentListener = {
  /** the unspecified addresses of the families that this machine has */
  readonly addresses: readonly IpAddress[];
  /** what connections are redirected to */
  readonly port: number;
};

/** A certificate that the gateway shows to origins whose host a pattern names. Files are PEM, absolute paths. */
export type OriginCredential = {
  /** unique; shown in logs */
  readonly name: string;
  readonly hosts: readonly HostPattern[];
  readonly certificateFile: string;
  readonly keyFile: string;
  /** verifies these origins in place of the common roots; undefined: the common roots do */
  readonly caFile: string | undefined;
};

/** `digest` is of what the files say: others are another credential to Envoy, which reads them once */
export type ShownCredential = OriginCredential & { readonly digest: string };

export type GatewayLimits = {
  readonly maxConnections: number;
  /** of Envoy's allocator; the process has about 56 MB more */
  readonly maxHeapBytes: number;
  /** what one client may ask the proxy for; undefined: as much as it likes */
  readonly clientRate: ClientRate | undefined;
};

/** CONNECTs and clear requests of one client: in the long run, and at once above that */
export type ClientRate = { readonly perSecond: number; readonly burst: number };

/** absolute paths, as Envoy sees them */
export type GatewayPaths = {
  readonly sdsSocket: string;
  readonly adminSocket: string;
  readonly accessLog: string;
  /** folder of the rendered files: bootstrap.yaml, policy.json, resolve.json, origin-roots.json */
  readonly renderedDir: string;
  /** PEM, what origins are verified with, in a folder where a change shows; never the gateway's own CA */
  readonly originRoots: string;
  /**
   * A file moved into it makes Envoy read the certificates of others anew: they are looked at before. Undefined where the
   * folder of each is swapped as a whole, as the kubelet does: Envoy then watches that folder itself.
   */
  readonly reloadDir: string | undefined;
};

/** the built-in origin of the self-check: reached only under its own name, verified with its own CA */
export type SelfCheckOrigin = {
  readonly host: HostName;
  readonly socketPath: string;
  readonly caFile: string;
  /** whether its CA may change under a running Envoy, as where the two are containers that start again each by itself */
  readonly isCaFollowed: boolean;
};

// What doctor knows before it judges: everything that is read, asked or tried, gathered by the edge. Reasons are phrases
// for people. Must not know how anything was read.
import type { EpochMs } from '../clock.ts';

export type MachineFacts = {
  readonly openFiles: {
    /** undefined where the system does not say */
    readonly limit: number | undefined;
    readonly possibleConnections: number;
    readonly fewestConnections: number;
    readonly wantedConnections: number;
  };
  readonly disk: { readonly folder: string; readonly freeBytes: number | undefined };
  readonly systemRoots: { readonly path: string | undefined; readonly count: number };
  readonly nameServers: { readonly servers: readonly string[]; readonly silentBecause: string | undefined };
};

export type EnvoyFacts = {
  readonly minimum: string;
  /** sentences about those on PATH that are not used */
  readonly passedOver: readonly string[];
  readonly search:
    | { readonly kind: 'found'; readonly path: string; readonly version: string }
    /** none is here; `cannotBringBecause`: why `up` cannot download one either */
    | { readonly kind: 'none'; readonly cannotBringBecause: string | undefined }
    | {
        readonly kind: 'unusable';
        readonly setting: string;
        readonly path: string;
        readonly detail: string;
        /** what the program is made for, where that differs from this machine */
        readonly madeFor: string | undefined;
        readonly machine: string;
      };
};

type LockFacts =
  { readonly kind: 'free' } | { readonly kind: 'held' | 'left-behind'; readonly pid: number; readonly file: string };

export type StateFacts = {
  readonly folder: string;
  /** why nothing can be made in it, or, where it does not exist, why it cannot be made itself */
  readonly notWritableBecause: string | undefined;
  readonly mode: number | undefined;
  /** leafgate has written into it */
  readonly isOurs: boolean;
  /** a name in it that leafgate did not write, where it is not ours */
  readonly foreignFile: string | undefined;
  readonly schema: { readonly found: string | undefined; readonly known: string };
  readonly lock: LockFacts;
  /** the newest time of change of its files */
  readonly newestFileAt: EpochMs | undefined;
};

export type FoundFault = { readonly code: string; readonly message: string; readonly remedy: string };

export type PoolFacts = { readonly file: string; readonly looseMode: string | undefined } & (
  | { readonly kind: 'absent'; readonly wasThere: boolean }
  | { readonly kind: 'unusable'; readonly faults: readonly FoundFault[] }
  | {
      readonly kind: 'usable';
      readonly activeId: string;
      /** the earliest end of the chain that signs */
      readonly notAfter: EpochMs;
      readonly leftOut: readonly FoundFault[];
    }
);

export type ListenFacts = {
  /** the setting that names it */
  readonly flag: '--listen' | '--listen-tls' | '--transparent';
  readonly address: string;
  readonly state: 'free' | 'ours' | 'taken' | 'refused';
  readonly detail: string;
};

export type SocketPathFacts = { readonly bytes: number; readonly fallbackBytes: number; readonly most: number };

export type RunningFacts = {
  readonly kind: 'running';
  readonly pid: number;
  readonly proxyUrl: string;
  readonly health:
    | { readonly kind: 'silent'; readonly reason: string }
    | {
        readonly kind: 'said';
        readonly state: string;
        readonly reasons: readonly string[];
        readonly rejectedByEnvoy: number;
        readonly lost: number;
      };
  readonly sdsSocket: { readonly path: string; readonly unusableBecause: string | undefined };
  readonly admin:
    | { readonly kind: 'silent'; readonly reason: string }
    | { readonly kind: 'said'; readonly state: string; readonly version: string };
};

export type GatewayFacts =
  { readonly kind: 'none' } | { readonly kind: 'changing'; readonly pid: number } | RunningFacts;

/** old: the pool's anchors are in it, and other roots than the system has now */
export type TrustFileState = 'same' | 'old' | 'differs' | 'missing';

export type TrustFacts =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'compared';
      readonly files: readonly { readonly path: string; readonly state: TrustFileState }[];
    };

export type EnvironmentFacts = {
  /** the gateway's, while one runs */
  readonly proxyUrl: string | undefined;
  /** HTTPS_PROXY and its kin, as they are set */
  readonly proxies: Readonly<Record<string, string>>;
  readonly noProxy: Readonly<Record<string, string>>;
  readonly trust: readonly {
    readonly name: string;
    readonly path: string;
    readonly unusableBecause: string | undefined;
    /** undefined where there is no CA to look for */
    readonly holdsCa: boolean | undefined;
  }[];
};

export type GivenFileFacts = {
  /** --origin-ca, --proxy-cert and --client-ca */
  readonly certificates: { readonly files: readonly string[]; readonly faults: readonly FoundFault[] } | undefined;
  readonly policy: { readonly file: string; readonly faults: readonly FoundFault[] } | undefined;
};

export type HandshakeFacts =
  | { readonly kind: 'passed'; readonly through: string }
  | { readonly kind: 'failed'; readonly through: string; readonly reason: string }
  | { readonly kind: 'skipped'; readonly why: string };

export type DoctorFacts = {
  readonly now: EpochMs;
  readonly machine: MachineFacts;
  readonly envoy: EnvoyFacts;
  readonly state: StateFacts;
  readonly pool: PoolFacts;
  readonly listen: readonly ListenFacts[];
  readonly socketPath: SocketPathFacts;
  readonly gateway: GatewayFacts;
  readonly trust: TrustFacts;
  readonly environment: EnvironmentFacts;
  readonly files: GivenFileFacts;
  readonly handshake: HandshakeFacts;
};

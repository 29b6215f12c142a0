// What the sidecar of a gateway's pod is told: sidecar.yaml, written here by the controller and read by `leafgate sds --gateway`
// (parse-sidecar-settings.ts). A change of it restarts the pods, so that it holds only what stays as it is: the policy and the
// certificates have files of their own. Must not import what the reading needs: 3 MB of the controller (measured).
import type { DurationMs } from '../clock.ts';
import { isRecord } from '../is-record.ts';
import type { ListenAddress } from './gateway-spec.ts';
import { listenAddressText } from './parse-listen.ts';
import { formatQuantity } from './quantities.ts';

export type SidecarSettings = {
  /** undefined where an SDS server outside of the pod has it */
  readonly pool: (MountedSecret & { readonly file: string }) | undefined;
  /** of that server */
  readonly remoteSds: RemoteSdsSettings | undefined;
  readonly sockets: {
    readonly sds: string;
    readonly admin: string;
    readonly selfCheck: string;
    readonly control: string;
  };
  readonly selfCheckCa: string;
  readonly accessLog: string;
  /** where the sidecar reaches Envoy's proxy in clear */
  readonly proxy: ListenAddress;
  readonly leafLifetimeMs: DurationMs;
  readonly allowEd25519: boolean;
  readonly drainMs: DurationMs;
  /** the proxy's certificate, where it speaks TLS */
  readonly serving: MountedFolder | undefined;
  /** PEM; clients' certificates are verified with it */
  readonly clientRoots: string | undefined;
  /** what some origins are shown */
  readonly originCertificates: readonly MountedFolder[];
};

type RemoteSdsSettings = {
  /** PEM file with the anchors of its pool */
  readonly anchors: string;
  readonly channel: RemoteChannel;
};

/** with what Envoy shows to it; `tls-unverified`: it takes any server */
export type RemoteChannel =
  (MountedFolder & { readonly kind: 'tls' | 'tls-unverified' }) | { readonly kind: 'plaintext' };

/** the name counts as part of what is constant: another Secret is another mount */
type MountedSecret = { readonly secret: string };

type MountedFolder = MountedSecret & { readonly dir: string };

/** as it stands in the file; durations and addresses are as people write them */
export type SidecarDocument = Omit<
  SidecarSettings,
  'pool' | 'remoteSds' | 'proxy' | 'leafLifetimeMs' | 'drainMs' | 'serving' | 'clientRoots'
> & {
  readonly pool?: SidecarSettings['pool'];
  readonly remoteSds?: SidecarSettings['remoteSds'];
  readonly proxy: string;
  readonly leafLifetime: string;
  readonly drain: string;
  readonly serving?: MountedFolder | undefined;
  readonly clientRoots?: string | undefined;
};

const head = [
  '# Made by leafgate controller, for `leafgate sds --gateway` in the pods of the gateway. A change here restarts them; the',
  '# policy beside it, and the certificates, are followed.',
  '',
].join('\n');

export function renderSidecarSettings(settings: SidecarSettings): string {
  const { pool, remoteSds, leafLifetimeMs, drainMs, proxy, serving, clientRoots, ...plain } = settings;
  const document = {
    ...(pool === undefined ? {} : { pool }),
    ...(remoteSds === undefined ? {} : { remoteSds }),
    ...plain,
    proxy: listenAddressText(proxy),
    leafLifetime: formatQuantity(leafLifetimeMs, 'duration'),
    drain: formatQuantity(drainMs, 'duration'),
    ...(serving === undefined ? {} : { serving }),
    ...(clientRoots === undefined ? {} : { clientRoots }),
  } satisfies SidecarDocument;
  // JSON is YAML (1.2.2 section 1.3)
  return `${head}${JSON.stringify(document, null, 1)}\n`;
}

/** The Secrets with certificates for origins that pods mount, as a file of ours says; none where it is something else. */
export function mountedOriginSecrets(text: string): ReadonlySet<string> {
  const listed = readOwn(text)?.['originCertificates'];
  const secrets = Array.isArray(listed)
    ? listed.map((entry: unknown) => (isRecord(entry) ? entry['secret'] : undefined))
    : [];
  return new Set(secrets.filter((secret) => typeof secret === 'string'));
}

function readOwn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const document: unknown = JSON.parse(text.replaceAll(/^#.*$/gm, ''));
    return isRecord(document) ? document : undefined;
  } catch {
    return undefined;
  }
}

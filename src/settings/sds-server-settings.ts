// What the SDS servers of a gateway are told that serve its Envoys over TCP: written here by the controller, read by `leafgate sds
// --gateway DIR --listen tcp:…`. Who may connect has a file of its own, since it is followed; the rest restarts them. Must not
// import what the reading needs (sidecar-settings.ts says why).
import type { DurationMs } from '../clock.ts';
import { isRecord } from '../is-record.ts';
import type { SdsTls } from './egress-gateway-types.ts';
import { formatQuantity } from './quantities.ts';

export type SdsServerSettings = {
  /** the names of Secrets count as part of what is constant: another Secret is another mount */
  readonly pool: { readonly secret: string; readonly file: string };
  readonly channel: SdsServerChannel;
  readonly leafLifetimeMs: DurationMs;
  readonly allowEd25519: boolean;
};

/** `dir` has the files of mutual TLS; it is spoken where they are, also where the gateway chose plaintext */
export type SdsServerChannel =
  | {
      readonly kind: 'tls';
      readonly secret: string;
      readonly dir: string;
      /** what Envoy asks for; undefined: it verifies none */
      readonly serverName?: string | undefined;
    }
  | { readonly kind: 'plaintext'; readonly dir: string };

/** as it stands in the file */
export type SdsServerDocument = Omit<SdsServerSettings, 'leafLifetimeMs'> & { readonly leafLifetime: string };

/** Who may connect: every client of the CA, or those with one of these names. */
export type AllowedClients =
  { readonly kind: 'any' } | { readonly kind: 'listed'; readonly names: ReadonlySet<string> };

export function allowedClientsOf(tls: Pick<SdsTls, 'allowAnyClient' | 'allowedSans'> | undefined): AllowedClients {
  return tls?.allowAnyClient === true ? { kind: 'any' } : { kind: 'listed', names: new Set(tls?.allowedSans) };
}

export type SdsClientsDocument = { readonly any: true } | { readonly names: readonly string[] };

export function renderSdsServerSettings({ leafLifetimeMs, ...plain }: SdsServerSettings): string {
  return json({ ...plain, leafLifetime: formatQuantity(leafLifetimeMs, 'duration') } satisfies SdsServerDocument);
}

/** Whether a file of ours has mutual TLS; not where it is something else. */
export function rendersTls(text: string): boolean {
  try {
    const document: unknown = JSON.parse(text);
    const channel = isRecord(document) ? document['channel'] : undefined;
    return isRecord(channel) && channel['kind'] === ('tls' satisfies SdsServerChannel['kind']);
  } catch {
    return false;
  }
}

export function renderSdsClients(clients: AllowedClients): string {
  return json((clients.kind === 'any' ? { any: true } : { names: [...clients.names] }) satisfies SdsClientsDocument);
}

function json(document: SdsServerDocument | SdsClientsDocument): string {
  return `${JSON.stringify(document, null, 1)}\n`;
}

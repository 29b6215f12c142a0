// What becomes of a gateway's rendered files at one look. The first rendering waits until everything that a pod needs is
// good, since a pod that cannot start helps nobody. From then on each input is gated by itself: what is bad now leaves its
// last good value in force, and holds nothing else back. Pure.
import type { EgressGateway } from '../settings/egress-gateway-types.ts';
import { maxRenderedBytes, podFiles } from '../settings/pod-layout.ts';
import { rendersTls } from '../settings/sds-server-settings.ts';
import { mountedOriginSecrets } from '../settings/sidecar-settings.ts';
import type { Observed } from './controller-types.ts';
import type { Render } from './remember-renderings.ts';
import { renderGateway, type RenderedGateway } from './render-gateway.ts';

type Files = RenderedGateway['data'];

export type FilesInput = {
  readonly gateway: EgressGateway;
  /** the ConfigMap as it stands */
  readonly existing: Observed<{ readonly data: Files }>;
  /** conditions that hold a first rendering back, in the order in which a person should see to them */
  readonly blocking: readonly string[];
  /** PEM; undefined: not good now */
  readonly originRootsPem: string | undefined;
  /** PEM; undefined: not good now, or not asked for */
  readonly clientRootsPem: string | undefined;
  /** Secrets of `origins.clientCertificates` that are good now */
  readonly goodOriginSecrets: ReadonlySet<string>;
  /** of an SDS server that is reached by TCP; its name is known, the anchors of its pool may not be good now */
  readonly remote?: { readonly serverName: string; readonly anchorsPem: string | undefined };
};

/** inputs whose last good value is in the files, or that are left out until they are good */
type HeldInput = 'origin-roots' | 'client-roots' | 'origin-certificates' | 'anchors';

export type FilesDecision =
  /** no files yet, and none now */
  | { readonly kind: 'wait'; readonly blocking: readonly string[] }
  /** what is there cannot be read, so that nobody knows what the last good values are */
  | { readonly kind: 'unavailable'; readonly detail: string }
  /** files that exist stay */
  | { readonly kind: 'too-large'; readonly bytes: number; readonly maxBytes: number }
  | { readonly kind: 'keep' | 'apply'; readonly rendered: RenderedGateway; readonly held: readonly HeldInput[] };

export function decideFiles(input: FilesInput, render: Render = renderGateway): FilesDecision {
  const { gateway, existing, blocking } = input;
  if (existing.kind === 'unavailable') return { kind: 'unavailable', detail: existing.detail };
  const last = existing.kind === 'found' ? existing.value.data : undefined;
  if (last === undefined && blocking.length > 0) return { kind: 'wait', blocking };
  if (!mayChangeTransport(gateway, blocking, last)) return { kind: 'wait', blocking };
  const gated = gate(input, last ?? {});
  // its condition is among those that block; whoever does not say so gets no files either
  if (gated === undefined) return { kind: 'wait', blocking };
  const { held, ...renderable } = gated;
  const rendered = render(renderable);
  const { bytes } = rendered;
  if (bytes > maxRenderedBytes) return { kind: 'too-large', bytes, maxBytes: maxRenderedBytes };
  return { kind: last !== undefined && isSame(last, rendered.data) ? 'keep' : 'apply', rendered, held };
}

/**
 * Mutual TLS comes into the files once it is good, as files come at all; then it stays, whatever becomes of its Secrets.
 * Plaintext has none, and needs no more than to be chosen.
 */
function mayChangeTransport({ spec: { sds } }: EgressGateway, blocking: readonly string[], last: Files = {}): boolean {
  if (sds.transport === 'UnixSocket' || sds.tls?.enabled === false) return true;
  if (sds.tls?.secretName === undefined) return false;
  return rendersTls(last[podFiles.sdsServer] ?? '') || !blocking.includes('TLSConfigured');
}

function gate({ gateway, originRootsPem, clientRootsPem, goodOriginSecrets, remote }: FilesInput, last: Files) {
  const held: HeldInput[] = [];
  const pick = (now: string | undefined, before: string | undefined, name: HeldInput): string | undefined => {
    if (now === undefined) held.push(name);
    return now ?? before;
  };
  const originRoots = pick(originRootsPem, last[podFiles.originRoots], 'origin-roots');
  const asksClients = gateway.spec.servingTls !== undefined && gateway.spec.clients.caBundle !== undefined;
  const clientRoots = asksClients ? pick(clientRootsPem, last[podFiles.clientRoots], 'client-roots') : undefined;
  const { isComplete, ...choices } = originCertificates(gateway, goodOriginSecrets, last);
  if (!isComplete) held.push('origin-certificates');
  const anchorsPem = remote && pick(remote.anchorsPem, last[podFiles.anchors], 'anchors');
  if (originRoots === undefined || (remote !== undefined && anchorsPem === undefined)) return undefined;
  const reached = remote && anchorsPem !== undefined ? { serverName: remote.serverName, anchorsPem } : undefined;
  // Clients are not asked for certificates before it is known what verifies them. A rule for an actor fits nobody meanwhile.
  const clients = asksClients && clientRoots === undefined ? { caBundle: undefined } : gateway.spec.clients;
  const spec = { ...gateway.spec, clients, origins: { ...gateway.spec.origins, ...choices } };
  return {
    gateway: { ...gateway, spec },
    originRootsPem: originRoots,
    clientRootsPem: clientRoots,
    remote: reached,
    held,
  };
}

/** A Secret that pods mount already stays, whatever is wrong with it now; one that is not good is not mounted anew. */
function originCertificates({ spec }: EgressGateway, good: ReadonlySet<string>, last: Files) {
  // what another version wrote may say nothing: its Secrets are judged as new ones
  const mounted = mountedOriginSecrets(last[podFiles.sidecar] ?? '');
  const wanted = spec.origins.clientCertificates;
  const kept = wanted.filter(({ secretName }) => good.has(secretName) || mounted.has(secretName));
  return { clientCertificates: kept, isComplete: wanted.every(({ secretName }) => good.has(secretName)) };
}

function isSame(one: Files, other: Files): boolean {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}

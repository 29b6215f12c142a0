// One verified TLS connection: straight to an endpoint or through a proxy's tunnel. Nothing above TLS is written before
// the peer has proven its name, and there is no session resumption, since a resumed session skips that proof.
// Must not know HTTP, origins or how connections are kept.
import { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { connect } from 'node:tls';
import type { SecureContext, TLSSocket } from 'node:tls';
import type { Clock, DurationMs } from '../clock.ts';
import { classifyFailure, plainFailure } from './classify-failure.ts';
import type { Peer } from './classify-failure.ts';
import { FetchFailureError } from './fetch-result.ts';
import type { FetchFailure } from './fetch-result.ts';
import { authorityOf } from './fetch-target.ts';
import type { Endpoint } from './fetch-target.ts';
import type { HttpProxy } from './http-proxy.ts';
import { openTunnel } from './open-tunnel.ts';
import { serverNameText } from './server-name.ts';
import type { ServerName } from './server-name.ts';
import { presentedLeaf, tlsSessionOf } from './tls-session.ts';
import type { LeafFacts, TlsSession } from './tls-session.ts';

export type DialPlan = {
  readonly endpoint: Endpoint;
  readonly proxy?: HttpProxy;
  /** the anchors; made once for many dials, since reading 140 roots takes milliseconds */
  readonly secureContext: SecureContext;
  /** what the certificate must carry, and the SNI when it is a host name (RFC 6066 3 has no addresses) */
  readonly serverName: ServerName;
  readonly timeoutMs: DurationMs;
  readonly clock: Clock;
  /** gives the attempt up when whoever wanted it is gone */
  readonly ended?: AbortSignal;
};

export type VerifiedConnection = { readonly socket: TLSSocket; readonly session: TlsSession };

/** Rejects with a FetchFailureError. */
export async function dialTls(plan: DialPlan): Promise<VerifiedConnection> {
  const peer = peerOf(plan);
  const attempt = new AbortController();
  const timer = plan.clock.after(plan.timeoutMs, () => {
    const failure = plainFailure('timeout', peer, `no verified connection within ${plan.timeoutMs} ms`);
    attempt.abort(new FetchFailureError(failure));
  });
  const end = (): void => attempt.abort(new FetchFailureError(plainFailure('connection-closed', peer, 'given up')));
  plan.ended?.addEventListener('abort', end, { once: true });
  try {
    const { proxy } = plan;
    const tunnel =
      proxy === undefined
        ? undefined
        : await openTunnel({ proxy, authority: authorityOf(plan.endpoint), signal: attempt.signal });
    return await handshake(plan, tunnel, attempt.signal);
  } finally {
    timer.cancel();
    plan.ended?.removeEventListener('abort', end);
  }
}

async function handshake(plan: DialPlan, tunnel: Socket | undefined, signal: AbortSignal): Promise<VerifiedConnection> {
  const socket = startHandshake(plan, tunnel);
  const abort = (): void => void socket.destroy();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return { socket, session: await verifiedSession(socket, plan) };
  } catch (thrown) {
    socket.destroy();
    signal.throwIfAborted();
    throw thrown;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

function startHandshake({ endpoint, secureContext, serverName }: DialPlan, tunnel: Socket | undefined): TLSSocket {
  const way = tunnel === undefined ? { host: serverNameText(endpoint.host), port: endpoint.port } : { socket: tunnel };
  return connect({
    ...way,
    secureContext,
    servername: serverName.kind === 'dns' ? serverName.host : '',
    rejectUnauthorized: true,
    checkServerIdentity: (_, peer) => identityError(serverName, peer.raw),
    ALPNProtocols: ['http/1.1'],
  });
}

function verifiedSession(socket: TLSSocket, plan: DialPlan): Promise<TlsSession> {
  const { promise, resolve, reject } = Promise.withResolvers<TlsSession>();
  let presented: LeafFacts | undefined;
  // emitted when the handshake has ended and before Node judges the chain, after which the certificate is gone; it is
  // for the explanation only, so nothing breaks should a later Node stop emitting it
  socket.prependOnceListener('secure', () => {
    presented = presentedLeaf(socket);
  });
  socket.once('secureConnect', () => {
    const session = tlsSessionOf(socket);
    if (socket.authorized && session !== undefined) resolve(session);
    else reject(new FetchFailureError(plainFailure('bad-response', peerOf(plan), 'no readable certificate')));
  });
  socket.once('error', (thrown: Error) => {
    reject(new FetchFailureError(failureOf(thrown, { socket, presented, plan }), thrown));
  });
  socket.once('close', () => {
    reject(new FetchFailureError(plainFailure('connection-closed', peerOf(plan), 'during the TLS handshake')));
  });
  return promise;
}

type HandshakeFacts = {
  readonly socket: TLSSocket;
  readonly presented: LeafFacts | undefined;
  readonly plan: DialPlan;
};

function failureOf(thrown: Error, { socket, presented, plan }: HandshakeFacts): FetchFailure {
  // set by Node exactly when verification, not the wire, is what failed
  const openssl = certificateCode(socket.authorizationError);
  if (openssl === undefined) return classifyFailure(thrown, peerOf(plan));
  const name = serverNameText(plan.serverName);
  const issuer = presented === undefined ? '' : `, issued by "${presented.issuer}"`;
  const detail = `the certificate shown for ${name} was refused: ${openssl}${issuer}`;
  return { kind: 'failed', code: 'certificate', openssl, detail, ...(presented === undefined ? {} : { presented }) };
}

/** Typed as an Error, set to a code or a message (lib/_tls_wrap.js, onConnectSecure). */
function certificateCode(error: unknown): string | undefined {
  if (typeof error === 'string') return error;
  return error instanceof Error ? error.message : undefined;
}

/**
 * The name must stand in the subject alternative names: the fallback to the subject's common name that Node has is
 * dead everywhere else (RFC 9525 6.3). A wildcard stands for one whole label only.
 */
export function identityError(name: ServerName, der: Uint8Array): Error | undefined {
  const certificate = new X509Certificate(der);
  const matched =
    name.kind === 'dns'
      ? certificate.checkHost(name.host, { subject: 'never', partialWildcards: false })
      : certificate.checkIP(name.address.text);
  if (matched !== undefined) return undefined;
  return Object.assign(new Error(`the certificate is not for ${serverNameText(name)}`), {
    code: 'ERR_TLS_CERT_ALTNAME_INVALID',
  });
}

function peerOf({ endpoint, proxy }: DialPlan): Peer {
  const text = authorityOf(endpoint);
  return { role: 'server', text: proxy === undefined ? text : `${text} behind ${proxy.authority}` };
}

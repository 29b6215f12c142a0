// One TLS handshake by name, and what the client saw of it. A failure is an answer too: the alert, or how the connection
// ended. Verifies only when given a CA.
import { X509Certificate } from 'node:crypto';
import { connect } from 'node:tls';
import type { SecureContext, TLSSocket } from 'node:tls';

export type Handshake = SucceededHandshake | FailedHandshake;

export type SucceededHandshake = {
  readonly kind: 'done';
  readonly tookMs: number;
  readonly protocol: string | null;
  readonly leaf: X509Certificate;
  /** lower-case hex */
  readonly serialHex: string;
  /** as `X509Certificate` has it: `DNS:a.test` */
  readonly subjectAltName: string | undefined;
  readonly issuer: string;
  readonly authorized: boolean;
  /** why not, when a CA was given */
  readonly verifyError: string | undefined;
};

type FailedHandshake = {
  readonly kind: 'failed';
  readonly tookMs: number;
  /** number of the TLS alert that the server sent (RFC 8446 section 6) */
  readonly alert: number | undefined;
  /** `closed` when the server hung up without a word; else Node's code */
  readonly code: string;
};

export type HandshakeOptions = {
  readonly port: number;
  readonly host?: string;
  /** the SNI; undefined sends none */
  readonly name: string | undefined;
  readonly ca?: string;
  /** made once for many handshakes with one CA: parsing the CA costs more than a handshake */
  readonly context?: SecureContext;
  readonly maxVersion?: 'TLSv1.2' | 'TLSv1.3';
  readonly timeoutMs?: number;
};

/** A handshake on a connection of its own, closed afterwards. */
export async function tlsHandshake(options: HandshakeOptions): Promise<Handshake> {
  const { handshake, socket } = await openTls(options);
  socket.destroy();
  return handshake;
}

/** Like `tlsHandshake`, but asserts success and says what came instead. */
export async function succeedingHandshake(options: HandshakeOptions): Promise<SucceededHandshake> {
  const handshake = await tlsHandshake(options);
  if (handshake.kind === 'failed') {
    throw new Error(`handshake for ${options.name ?? '(no name)'} failed: ${JSON.stringify(handshake)}`);
  }
  return handshake;
}

/** The connection stays open; the caller destroys it. */
export function openTls(options: HandshakeOptions): Promise<{ handshake: Handshake; socket: TLSSocket }> {
  const started = performance.now();
  const tookMs = (): number => performance.now() - started;
  const socket = connect({
    host: options.host ?? '127.0.0.1',
    port: options.port,
    ...(options.name === undefined ? {} : { servername: options.name }),
    ...(options.ca === undefined ? {} : { ca: options.ca }),
    ...(options.context === undefined ? {} : { secureContext: options.context }),
    ...(options.maxVersion === undefined ? {} : { maxVersion: options.maxVersion }),
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
  });
  socket.setTimeout(options.timeoutMs ?? 15_000, () => socket.destroy(new Error('client timeout')));
  return new Promise((resolve) => {
    const fail = (code: string, alert?: number): void =>
      resolve({ handshake: { kind: 'failed', tookMs: tookMs(), alert, code }, socket });
    socket.once('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.message, alertOf(error)));
    socket.once('close', () => fail('closed'));
    socket.once('secureConnect', () => {
      // later errors are the caller's own doing: it destroys the socket
      socket.on('error', () => undefined);
      resolve({ handshake: succeeded(socket, tookMs()), socket });
    });
  });
}

function succeeded(socket: TLSSocket, tookMs: number): SucceededHandshake {
  const leaf = new X509Certificate(socket.getPeerCertificate(true).raw);
  return {
    kind: 'done',
    tookMs,
    protocol: socket.getProtocol(),
    leaf,
    serialHex: leaf.serialNumber.toLowerCase(),
    subjectAltName: leaf.subjectAltName,
    issuer: leaf.issuer,
    authorized: socket.authorized,
    verifyError: socket.authorized ? undefined : String(socket.authorizationError),
  };
}

/** OpenSSL words an alert `…:SSL alert number 40:`. */
function alertOf(error: Error): number | undefined {
  const number = /SSL alert number (\d+)/.exec(error.message)?.[1];
  return number === undefined ? undefined : Number(number);
}

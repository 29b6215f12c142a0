// One TLS handshake inside a CONNECT, as a client does it that may lie about its server name. A failure is an answer.
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

export type TunnelHandshake =
  | { readonly kind: 'done'; readonly issuer: string; readonly subjectAltName: string }
  /** the tunnel was refused, or ended before a handshake did */
  | { readonly kind: 'failed'; readonly code: string };

export type TunnelRequest = {
  readonly proxyPort: number;
  readonly authority: string;
  /** undefined sends none */
  readonly serverName: string | undefined;
  /** silence between the proxy's yes and the ClientHello */
  readonly waitMs?: number;
};

export async function handshakeInTunnel(request: TunnelRequest): Promise<TunnelHandshake> {
  const socket = connectTcp(request.proxyPort, '127.0.0.1');
  try {
    const answer = await askForTunnel(socket, request.authority);
    if (!answer.startsWith('HTTP/1.1 200')) return { kind: 'failed', code: answer.slice(9, 12) };
    await new Promise((resolve) => setTimeout(resolve, request.waitMs ?? 0));
    return await handshake(socket, request.serverName);
  } finally {
    socket.destroy();
  }
}

function askForTunnel(socket: Socket, authority: string): Promise<string> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.once('data', (chunk) => resolve(chunk.toString('latin1')));
    socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
  });
}

function handshake(socket: Socket, serverName: string | undefined): Promise<TunnelHandshake> {
  return new Promise((resolve) => {
    const tls = connectTls({
      socket,
      rejectUnauthorized: false,
      ...(serverName === undefined ? {} : { servername: serverName }),
    });
    tls.setTimeout(10_000, () => tls.destroy(new Error('no end of the handshake')));
    tls.once('secureConnect', () => {
      const { issuer, subjectaltname: subjectAltName = '' } = tls.getPeerCertificate();
      tls.on('error', () => undefined);
      resolve({ kind: 'done', issuer: JSON.stringify(issuer), subjectAltName });
      tls.destroy();
    });
    tls.once('error', (error: NodeJS.ErrnoException) => resolve({ kind: 'failed', code: error.code ?? error.message }));
    tls.once('close', () => resolve({ kind: 'failed', code: 'closed' }));
  });
}

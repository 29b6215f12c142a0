// A real HTTPS server on loopback that notes what reached it: connections, finished handshakes, and every decrypted byte.
import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { ServerCertificate } from './test-certificates.ts';

export type TlsOrigin = {
  readonly port: number;
  readonly seen: {
    connections: number;
    /** handshakes that the client finished, which it does only when it trusts us */
    handshakes: number;
    /** the SNI of each finished handshake; false without one */
    serverNames: (string | false)[];
    requests: number;
    /** what clients sent inside TLS: request lines, headers and bodies */
    decrypted: string;
  };
  /** serves another certificate from the next handshake on */
  present(certificate: ServerCertificate): void;
  openConnections(): number;
  /** ends kept connections as a restarted server does */
  dropConnections(): void;
  close(): Promise<void>;
};

export type TlsOriginOptions = {
  /** one of loopback; default 127.0.0.1 */
  readonly address?: string;
  readonly certificate: ServerCertificate;
  readonly answer?: (request: IncomingMessage, response: ServerResponse) => void;
  readonly maxVersion?: 'TLSv1.2' | 'TLSv1.3';
};

export async function startTlsOrigin(options: TlsOriginOptions): Promise<TlsOrigin> {
  const { address = '127.0.0.1', certificate, answer, maxVersion } = options;
  const seen: TlsOrigin['seen'] = { connections: 0, handshakes: 0, serverNames: [], requests: 0, decrypted: '' };
  const open = new Set<Socket>();
  const keyPair = ({ chainPem, keyPem }: ServerCertificate) => ({ cert: chainPem, key: keyPem });
  const server = createServer({ ...keyPair(certificate), ...(maxVersion === undefined ? {} : { maxVersion }) });
  // after Node's 5 s a kept connection may end in the very moment in which a gateway uses it again
  server.keepAliveTimeout = 120_000;
  server.on('connection', (socket: Socket) => {
    seen.connections += 1;
    open.add(socket);
    socket.on('close', () => open.delete(socket)).on('error', () => undefined);
  });
  server.on('secureConnection', (socket: TLSSocket & { readonly servername: string | false }) => {
    seen.handshakes += 1;
    seen.serverNames.push(socket.servername);
  });
  server.on('tlsClientError', () => undefined);
  server.on('request', (request, response) => {
    seen.requests += 1;
    seen.decrypted += `${request.method ?? ''} ${request.url ?? ''}\n${JSON.stringify(request.headers)}\n`;
    request.on('data', (chunk: Buffer) => {
      seen.decrypted += chunk.toString('latin1');
    });
    request.on('end', () => {
      if (answer === undefined) response.end('hello');
      else answer(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  const drop = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    present: (next) => server.setSecureContext(keyPair(next)),
    openConnections: () => open.size,
    dropConnections: drop,
    close: () => {
      drop();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

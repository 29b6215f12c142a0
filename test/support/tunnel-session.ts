// One intercepted connection that stays open: a CONNECT, TLS inside it, and HTTP/1.1 requests over it one after the other.
import { Agent, request, type IncomingHttpHeaders } from 'node:http';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { withDeadline } from './wait-for.ts';

type SessionAnswer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: string };

export type TunnelSession = {
  /** hex, as the leaf has it */
  readonly leafSerial: string;
  isOpen(): boolean;
  get(path: string): Promise<SessionAnswer>;
  close(): void;
};

export type TunnelTarget = {
  readonly proxyPort: number;
  readonly host: string;
  readonly port: number;
  readonly ca: string;
};

export async function openTunnelSession(target: TunnelTarget): Promise<TunnelSession> {
  const { host, port, ca } = target;
  const { socket, head } = await openTunnel(target.proxyPort, `${host}:${port}`);
  if (!head.startsWith('HTTP/1.1 200 ')) throw new Error(`no tunnel: ${head}`);
  const tls = connectTls({ socket, servername: host, ca, ALPNProtocols: ['http/1.1'] });
  await withDeadline('the handshake', secured(tls));
  tls.on('error', () => undefined);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  agent.createConnection = () => tls;
  return {
    leafSerial: tls.getPeerCertificate().serialNumber,
    isOpen: () => !tls.destroyed && tls.writable,
    get: (path) => withDeadline('the answer', ask({ agent, host: `${host}:${port}`, path })),
    close: () => {
      agent.destroy();
      socket.destroy();
    },
  };
}

/** A tunnel as the proxy opened or refused it. */
export async function openTunnel(
  proxyPort: number,
  authority: string,
): Promise<{ readonly socket: Socket; readonly head: string }> {
  const socket = connectTcp(proxyPort, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
  const head = await withDeadline('the answer to CONNECT', new Promise<Buffer>((done) => socket.once('data', done)));
  return { socket, head: head.toString('latin1') };
}

function secured(tls: TLSSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    tls.once('secureConnect', () => resolve());
    tls.once('error', reject);
    tls.once('close', () => reject(new Error('closed in the handshake')));
  });
}

type Asked = { readonly agent: Agent; readonly host: string; readonly path: string };

function ask({ agent, host, path }: Asked): Promise<SessionAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<SessionAnswer>();
  const asked = request({ agent, path, headers: { host } });
  asked.on('error', reject).on('response', (response) => {
    let body = '';
    response.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk;
    });
    response.on('error', reject).on('end', () => {
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
    });
  });
  asked.end();
  return promise;
}

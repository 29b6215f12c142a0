// A CONNECT in the three versions of HTTP that a client may speak to the proxy, and TLS inside it. What comes back is a
// plain stream, so that a test says in it what it wants to.
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { withDeadline } from './wait-for.ts';

export const proxyProtocols = ['HTTP/1.0', 'HTTP/1.1', 'HTTP/2'] as const;
type ProxyProtocol = (typeof proxyProtocols)[number];

export type TunnelTarget = {
  readonly proxyPort: number;
  /** HOST:PORT */
  readonly authority: string;
  readonly protocol?: ProxyProtocol;
};

/** @throws when the proxy says anything but yes; the error's message is its answer */
export function openTunnel({ proxyPort, authority, protocol = 'HTTP/1.1' }: TunnelTarget): Promise<Duplex> {
  const opening: Promise<Duplex> =
    protocol === 'HTTP/2' ? tunnelInHttp2(proxyPort, authority) : tunnelInHttp1(proxyPort, authority, protocol);
  return withDeadline(`a tunnel to ${authority}`, opening);
}

async function tunnelInHttp1(proxyPort: number, authority: string, protocol: ProxyProtocol): Promise<Socket> {
  const socket = connectTcp(proxyPort, '127.0.0.1');
  socket.write(`CONNECT ${authority} ${protocol}\r\nHost: ${authority}\r\n\r\n`);
  const head = await new Promise<string>((resolve, reject) => {
    let text = '';
    // read, not flowing: whoever takes the tunnel gets every byte after the answer
    const take = (): void => {
      for (let chunk: unknown = socket.read(); Buffer.isBuffer(chunk); chunk = socket.read()) {
        text += chunk.toString('latin1');
      }
      const end = text.indexOf('\r\n\r\n');
      if (end === -1) return;
      socket.removeListener('readable', take);
      const rest = text.slice(end + 4);
      if (rest !== '') socket.unshift(Buffer.from(rest, 'latin1'));
      resolve(text.slice(0, end));
    };
    socket.on('readable', take);
    socket.once('close', () => reject(new Error(`closed after ${JSON.stringify(text)}`)));
    socket.on('error', reject);
  });
  socket.on('error', () => undefined);
  if (/^HTTP\/1\.[01] 200 /.test(head)) return socket;
  socket.destroy();
  throw new Error(head);
}

/** prior knowledge, in clear: that is what `curl --proxy-http2-prior-knowledge` and Envoys speak to a proxy */
async function tunnelInHttp2(proxyPort: number, authority: string): Promise<Duplex> {
  const session = await openHttp2(`http://127.0.0.1:${proxyPort}`);
  const stream = session.request({ ':method': 'CONNECT', ':authority': authority }, { endStream: false });
  stream.once('close', () => session.close());
  const status = await new Promise<number | undefined>((resolve, reject) => {
    stream.once('response', (headers) => resolve(headers[':status']));
    stream.once('error', reject);
    // Envoy resets what it cannot read, without an answer
    stream.once('close', () => reject(new Error('HTTP/2 closed')));
  });
  stream.on('error', () => undefined);
  if (status === 200) return stream;
  session.destroy();
  throw new Error(`HTTP/2 ${status ?? 'nothing'}`);
}

function openHttp2(url: string): Promise<ClientHttp2Session> {
  const session = connectHttp2(url);
  return new Promise((resolve, reject) => {
    session.once('connect', () => resolve(session));
    session.on('error', reject);
  });
}

export type TlsInTunnel = TunnelTarget & {
  readonly ca: string;
  /** the host of the authority by default */
  readonly serverName?: string;
  readonly alpn?: readonly string[];
  readonly more?: ConnectionOptions;
};

/** A verified handshake inside a tunnel. @throws what TLS says */
export async function openTlsInTunnel(request: TlsInTunnel): Promise<TLSSocket> {
  const { authority, ca, serverName = authority.replace(/:\d+$/, ''), alpn, more } = request;
  const socket = await openTunnel(request);
  const tls = connectTls({
    ...{ socket, ca, servername: serverName },
    ...(alpn === undefined ? {} : { ALPNProtocols: [...alpn] }),
    ...more,
  });
  tls.once('close', () => socket.destroy());
  const connected = new Promise<TLSSocket>((resolve, reject) => {
    tls.once('secureConnect', () => resolve(tls));
    tls.once('error', reject);
    tls.once('close', () => reject(new Error('closed before the handshake ended')));
  });
  await withDeadline(`a handshake with ${serverName}`, connected);
  return tls.on('error', () => undefined);
}

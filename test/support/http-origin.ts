// An origin that speaks HTTP/1.1, HTTP/2, or both by ALPN, in TLS or in clear, and notes what reached it: every connection,
// and of every request its version, head and trailers, as they were sent. What it answers is the test's own.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createSecureServer as createSecureHttp2, createServer as createHttp2 } from 'node:http2';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ServerCertificate } from './test-certificates.ts';

export type HttpVersion = 'h2' | 'http/1.1';
type Answer = (request: IncomingMessage, response: ServerResponse) => void;

type SeenRequest = {
  readonly version: string;
  readonly method: string;
  readonly path: string;
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined };
  /** the port of the connection's other end: the same for requests of one connection */
  readonly fromPort: number;
};

export type HttpOriginOptions = {
  /** in clear without one */
  readonly certificate?: ServerCertificate;
  /** what it offers by ALPN; in clear the only one that it speaks */
  readonly speaks?: readonly HttpVersion[];
  readonly address?: string;
  readonly answer?: Answer;
  /** says yes to every upgrade by default, and sends everything back */
  readonly upgrade?: (request: IncomingMessage, socket: Duplex) => void;
};

export type HttpOrigin = {
  readonly port: number;
  readonly requests: readonly SeenRequest[];
  connections(): number;
  seen(path: string): SeenRequest | undefined;
  close(): Promise<void>;
};

export async function startHttpOrigin(options: HttpOriginOptions = {}): Promise<HttpOrigin> {
  const { answer = sayHello, upgrade = echo, address = '127.0.0.1' } = options;
  const requests: SeenRequest[] = [];
  const open = new Set<Socket>();
  let connections = 0;
  const server = createOrigin(options);
  server.on('connection', (socket: Socket) => {
    connections += 1;
    open.add(socket);
    socket.on('close', () => open.delete(socket)).on('error', () => undefined);
  });
  const take: Answer = (request, response) => {
    requests.push(seenRequest(request));
    answer(request, response);
  };
  // both versions have the same request and response, as far as an answer goes (Node's HTTP/2 compatibility API)
  server.on('request', take);
  // `Expect: 100-continue`: the test's answer says whether to go on
  server.on('checkContinue', take);
  server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    requests.push(seenRequest(request));
    upgrade(
      request,
      socket.on('error', () => undefined),
    );
  });
  for (const quiet of ['tlsClientError', 'sessionError', 'clientError']) server.on(quiet, () => undefined);
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    connections: () => connections,
    seen: (path) => requests.find((request) => request.path === path),
    close: () => {
      for (const socket of open) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** large headers are the gateway's to refuse */
const maxHeaderSize = 1024 * 1024;

function createOrigin({ certificate, speaks = ['h2', 'http/1.1'] }: HttpOriginOptions): Server {
  const [only, other] = speaks;
  if (certificate === undefined)
    return only === 'h2' && other === undefined ? createHttp2() : createServer({ maxHeaderSize });
  const keyPair = { cert: certificate.chainPem, key: certificate.keyPem };
  if (!speaks.includes('h2')) return createHttps({ ...keyPair, maxHeaderSize, ALPNProtocols: ['http/1.1'] });
  const unlimited = {
    settings: { maxHeaderListSize: maxHeaderSize },
    maxSendHeaderBlockLength: maxHeaderSize,
    maxHeaderListPairs: 1000,
  };
  return createSecureHttp2({
    ...keyPair,
    ...unlimited,
    allowHTTP1: speaks.includes('http/1.1'),
    ALPNProtocols: [...speaks],
  });
}

function seenRequest(request: IncomingMessage): SeenRequest {
  const { httpVersion: version, method = '', url = '', headers, socket } = request;
  return { version, method, path: url, headers: { ...headers }, fromPort: socket.remotePort ?? 0 };
}

function sayHello(request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  response.end(`hello over ${request.httpVersion}`);
}

function echo(request: IncomingMessage, socket: Duplex): void {
  const protocol = request.headers.upgrade ?? '';
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${protocol}\r\n\r\n`);
  socket.pipe(socket);
}

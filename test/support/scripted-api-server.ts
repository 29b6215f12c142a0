// An HTTPS server that answers as a script says, for what a real API server cannot do on demand. It notes every call with
// its body, who showed which certificate, and how many connections are open.
import { createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { ServerCertificate } from './test-certificates.ts';

type ApiCallSeen = {
  readonly method: string;
  /** without the query */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** the peer's port: the same for calls of one connection */
  readonly fromPort: number;
  /** of the certificate that the client showed */
  readonly shownSubject: string | undefined;
};

export type ApiScript = (call: ApiCallSeen, response: ServerResponse) => void;

export type ScriptedApiServer = {
  readonly url: string;
  readonly calls: readonly ApiCallSeen[];
  /** the rest of the test goes by another script */
  play(script: ApiScript): void;
  present(certificate: ServerCertificate): void;
  openConnections(): number;
  /** connections so far */
  connections(): number;
  /** ends kept connections as a restarted server does */
  dropConnections(): void;
  close(): Promise<void>;
};

export type ScriptedApiOptions = {
  readonly certificate: ServerCertificate;
  readonly script?: ApiScript;
  /** asks clients for a certificate of this CA */
  readonly clientCaPem?: string;
};

export async function startScriptedApiServer(options: ScriptedApiOptions): Promise<ScriptedApiServer> {
  const { certificate, clientCaPem } = options;
  const keyPair = ({ chainPem, keyPem }: ServerCertificate) => ({ cert: chainPem, key: keyPem });
  const mutual = clientCaPem === undefined ? {} : { ca: clientCaPem, requestCert: true, rejectUnauthorized: true };
  const server = createServer({ ...keyPair(certificate), ...mutual });
  server.keepAliveTimeout = 120_000;
  const calls: ApiCallSeen[] = [];
  const open = new Set<Socket>();
  let connections = 0;
  let script: ApiScript = options.script ?? ((_, response) => sayJson(response, 404, { kind: 'Status', code: 404 }));
  server.on('connection', (socket: Socket) => {
    connections += 1;
    open.add(socket);
    socket.on('close', () => open.delete(socket)).on('error', () => undefined);
  });
  server.on('tlsClientError', () => undefined);
  server.on('request', (request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const seen = callOf(request, body);
      calls.push(seen);
      script(seen, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const drop = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    calls,
    play: (next) => {
      script = next;
    },
    present: (next) => server.setSecureContext({ ...keyPair(next), ...mutual }),
    openConnections: () => open.size,
    connections: () => connections,
    dropConnections: drop,
    close: () => {
      drop();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

export function sayJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}

export function sayStatus(response: ServerResponse, code: number, more: object = {}): void {
  sayJson(response, code, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, ...more });
}

function callOf(request: IncomingMessage, body: string): ApiCallSeen {
  const url = new URL(request.url ?? '/', 'https://api');
  const shown = request.socket instanceof TLSSocket ? request.socket.getPeerX509Certificate() : undefined;
  return {
    method: request.method ?? '',
    path: url.pathname,
    query: url.searchParams,
    headers: request.headers,
    body,
    fromPort: request.socket.remotePort ?? 0,
    shownSubject: shown?.subject,
  };
}

// A small CONNECT proxy on loopback with the ways in which gateways behave: it tunnels, refuses, hangs up, stays silent,
// or intercepts with a given authority. It notes who asked for what and every byte that clients sent into tunnels.
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { Socket, connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { issueServerCertificate } from './test-certificates.ts';
import type { TestAuthority } from './test-certificates.ts';
import { startTlsOrigin } from './tls-origin.ts';
import type { TlsOrigin, TlsOriginOptions } from './tls-origin.ts';

export type ProxyMode =
  /** relays; `route` gives the loopback port for HOST:PORT */
  | { readonly kind: 'tunnel'; readonly route: (authority: string) => number }
  | { readonly kind: 'refuse'; readonly status: number; readonly rule?: string; readonly body?: string }
  /** opens the tunnel, then ends it */
  | { readonly kind: 'hang-up' }
  /** never answers */
  | { readonly kind: 'silent' }
  /** answers every host itself, with a leaf of this authority */
  | { readonly kind: 'intercept'; readonly authority: TestAuthority; readonly answer?: TlsOriginOptions['answer'] };

export type ConnectProxy = {
  readonly url: string;
  readonly port: number;
  /** HOST:PORT of each CONNECT */
  readonly asked: readonly string[];
  readonly requests: readonly IncomingMessage[];
  /** what clients sent into tunnels, as it was on the wire */
  sent(): string;
  /** connections of clients that have not ended */
  openConnections(): number;
  close(): Promise<void>;
};

export async function startConnectProxy(mode: ProxyMode): Promise<ConnectProxy> {
  const asked: string[] = [];
  const requests: IncomingMessage[] = [];
  const open = new Set<Socket>();
  const origins = new Map<string, Promise<TlsOrigin>>();
  let sent = '';
  const keep = (socket: Socket): Socket => {
    open.add(socket);
    return socket.on('close', () => open.delete(socket)).on('error', () => undefined);
  };
  const relay = (client: Socket, port: number): void => {
    const server = keep(connect({ host: '127.0.0.1', port }));
    server.on('connect', () => client.write('HTTP/1.1 200 Connection established\r\n\r\n'));
    client.on('data', (chunk: Buffer) => {
      sent += chunk.toString('latin1');
    });
    client.pipe(server);
    server.pipe(client);
    server.on('close', () => client.destroy());
    client.on('close', () => server.destroy());
  };
  const originFor = (authority: string, { authority: signer, answer }: Extract<ProxyMode, { kind: 'intercept' }>) => {
    const known = origins.get(authority);
    if (known !== undefined) return known;
    const certificate = issueServerCertificate(signer, { names: [authority.replace(/:\d+$/, '')] });
    const origin = startTlsOrigin({ certificate, ...(answer === undefined ? {} : { answer }) });
    origins.set(authority, origin);
    return origin;
  };

  const server = createServer();
  server.on('connection', keep);
  server.on('connect', (request, client, head) => {
    if (!(client instanceof Socket)) throw new Error('a CONNECT came over something that is no socket');
    const authority = request.url ?? '';
    asked.push(authority);
    requests.push(request);
    if (head.length > 0) client.unshift(head);
    if (mode.kind === 'tunnel') relay(client, mode.route(authority));
    else if (mode.kind === 'refuse') client.end(refusal(mode));
    else if (mode.kind === 'hang-up') client.end('HTTP/1.1 200 OK\r\n\r\n');
    // read on, or its end would never be noticed
    else if (mode.kind === 'silent') client.resume().on('end', () => client.end());
    else void originFor(authority, mode).then(({ port }) => relay(client, port));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    asked,
    requests,
    sent: () => sent,
    openConnections: () => open.size,
    close: async () => {
      for (const socket of open) socket.destroy();
      await Promise.all([...origins.values()].map(async (origin) => (await origin).close()));
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function refusal({ status, rule, body = '' }: Extract<ProxyMode, { kind: 'refuse' }>): string {
  const ruleLine = rule === undefined ? '' : `x-leafgate-rule: ${rule}\r\n`;
  return `HTTP/1.1 ${status} Refused\r\n${ruleLine}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

// Requests at a steady rate through a gateway, each with a path of its own: over kept HTTP/2 connections, over kept
// HTTP/1.1 ones, in clear, and each so often over a tunnel of its own. What got an answer is listed.
import { Agent, request as httpRequest } from 'node:http';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import { withDeadline } from './wait-for.ts';

export type LoadTarget = {
  readonly proxyPort: number;
  readonly ca: string;
  /** `good.test:12345`, a TLS origin that speaks HTTP/1.1 */
  readonly tlsAuthority: string;
  /** `clear.test:12345` */
  readonly clearAuthority: string;
};

export type LoadOptions = {
  readonly perSecond: number;
  readonly seconds: number;
  /** goes before the number in each path */
  readonly prefix: string;
  /** ends the load early */
  readonly until?: AbortSignal;
};

export type LoadResult = {
  /** got an HTTP answer, whatever its status; in the order of their answers */
  readonly answered: readonly string[];
  readonly failed: readonly string[];
};

const keptConnections = 4;
/** of a hundred requests */
const shares = { ownTunnel: 2, clear: 18, http1: 30 } as const;
const turnMs = 20;

export async function runSteadyLoad(target: LoadTarget, options: LoadOptions): Promise<LoadResult> {
  const context = createSecureContext({ ca: target.ca });
  const senders = await openSenders(target, context);
  const answered: string[] = [];
  const failed: string[] = [];
  const total = options.perSecond * options.seconds;
  const pending = new Set<Promise<void>>();
  const started = performance.now();
  for (let sent = 0; sent < total && options.until?.aborted !== true;) {
    const due = Math.min(total, Math.ceil(((performance.now() - started) / 1000) * options.perSecond));
    // a machine that cannot keep up must not pile up requests
    for (; sent < due && pending.size < 400; sent += 1) {
      const path = `${options.prefix}${sent}`;
      const done = senders
        .send(sent, path)
        .then(() => void answered.push(path))
        .catch(() => void failed.push(path))
        .finally(() => pending.delete(done));
      pending.add(done);
    }
    await new Promise((resolve) => setTimeout(resolve, turnMs));
  }
  // whoever ends a load early has taken the gateway away, and some requests would wait for it for ever
  if (options.until?.aborted !== true) await withDeadline('the last answers', Promise.all(pending), 60_000);
  senders.close();
  return { answered, failed };
}

type Senders = { send(index: number, path: string): Promise<void>; close(): void };

async function openSenders(target: LoadTarget, context: SecureContext): Promise<Senders> {
  const sessions: ClientHttp2Session[] = [];
  for (let count = 0; count < keptConnections; count += 1) sessions.push(await openHttp2(target, context));
  const http1 = new Agent({ keepAlive: true, maxSockets: 16 });
  http1.createConnection = (_, done) => {
    openTls(target, context, 'http/1.1').then(
      (socket) => done?.(null, socket),
      (error: unknown) => done?.(error as Error, undefined as unknown as Socket),
    );
    return undefined;
  };
  const clear = new Agent({ keepAlive: true, maxSockets: 16 });
  return {
    send: async (index, path) => {
      const place = index % 100;
      if (place < shares.ownTunnel) {
        const session = await openHttp2(target, context);
        await overHttp2(session, target.tlsAuthority, path).finally(() => session.close());
      } else if (place < shares.ownTunnel + shares.clear) {
        const options = { port: target.proxyPort, path: `http://${target.clearAuthority}${path}`, agent: clear };
        await overHttp1({ ...options, headers: { host: target.clearAuthority } });
      } else if (place < shares.ownTunnel + shares.clear + shares.http1) {
        await overHttp1({ path, agent: http1, headers: { host: target.tlsAuthority } });
      } else {
        const session = sessions[index % sessions.length];
        if (session !== undefined) await overHttp2(session, target.tlsAuthority, path);
      }
    },
    close: () => {
      for (const session of sessions) session.destroy();
      http1.destroy();
      clear.destroy();
    },
  };
}

async function openHttp2(target: LoadTarget, context: SecureContext): Promise<ClientHttp2Session> {
  const socket = await openTls(target, context, 'h2');
  const session = connectHttp2(`https://${target.tlsAuthority}`, { createConnection: () => socket });
  session.on('error', () => undefined);
  return session;
}

async function openTls(target: LoadTarget, context: SecureContext, protocol: string): Promise<TLSSocket> {
  const tunnel = await openTunnel(target);
  const servername = target.tlsAuthority.split(':')[0] ?? '';
  const socket = connectTls({ socket: tunnel, servername, secureContext: context, ALPNProtocols: [protocol] });
  await new Promise<void>((resolve, reject) => {
    socket.once('secureConnect', resolve);
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('closed')));
  });
  socket.on('error', () => undefined);
  return socket;
}

function openTunnel({ proxyPort, tlsAuthority }: LoadTarget): Promise<Socket> {
  const socket = connectTcp(proxyPort, '127.0.0.1');
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.once('close', () => reject(new Error('closed')));
    socket.once('data', (head) => {
      if (head.toString('latin1').startsWith('HTTP/1.1 200')) resolve(socket);
      else reject(new Error('no tunnel'));
    });
    socket.write(`CONNECT ${tlsAuthority} HTTP/1.1\r\nHost: ${tlsAuthority}\r\n\r\n`);
  });
}

function overHttp2(session: ClientHttp2Session, authority: string, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':path': path, ':authority': authority });
    let status = 0;
    stream.on('response', (headers) => (status = headers[':status'] ?? 0));
    stream.on('error', reject);
    stream.on('close', () => (status > 0 ? resolve() : reject(new Error('no answer'))));
    stream.resume();
    stream.end();
  });
}

function overHttp1(options: Parameters<typeof httpRequest>[1] & object): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(options, (response) => {
      response.on('end', () => resolve());
      response.on('error', reject);
      response.resume();
    });
    request.on('error', reject);
    request.end();
  });
}

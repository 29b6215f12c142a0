// Opens a tunnel through an HTTP proxy with CONNECT (RFC 9110 9.3.6). Done here and not by undici's ProxyAgent, which
// hides the headers and body of a refusal: they carry the rule that refused. Must not know TLS or trusts.
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { request } from '../node-http.ts';
import { classifyFailure } from './classify-failure.ts';
import { FetchFailureError } from './fetch-result.ts';
import { maxRefusalBytes, readGatewayRefusal } from './gateway-refusal.ts';
import type { HttpProxy } from './http-proxy.ts';

/** a refusal's status alone says most: its body is worth no longer a wait than this */
const refusalBodyMs = 1000;

export type TunnelRequest = {
  readonly proxy: HttpProxy;
  /** HOST:PORT */
  readonly authority: string;
  /** ends the attempt; its reason is what is thrown */
  readonly signal: AbortSignal;
};

/** The raw connection to `authority`, nothing read from it yet. Rejects with a FetchFailureError. */
export async function openTunnel(tunnel: TunnelRequest): Promise<Socket> {
  const { signal } = tunnel;
  signal.throwIfAborted();
  const asked = askForTunnel(tunnel);
  const abort = (): void => void asked.destroy();
  signal.addEventListener('abort', abort, { once: true });
  try {
    const { response, socket, head } = await answerOf(asked, tunnel.proxy);
    const status = response.statusCode ?? 0;
    if (status < 200 || status > 299) throw await refusalOf(response, { socket, head }, tunnel);
    if (head.length > 0) socket.unshift(head);
    return socket;
  } catch (thrown) {
    // what an aborted attempt throws is noise: the reason says why it was given up
    signal.throwIfAborted();
    throw thrown;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

type ProxyAnswer = { readonly response: IncomingMessage; readonly socket: Socket; readonly head: Buffer };

function askForTunnel({ proxy, authority }: TunnelRequest): ClientRequest {
  const { authorization } = proxy;
  const credentials =
    authorization === undefined
      ? {}
      : { 'proxy-authorization': Buffer.from(authorization.reveal()).toString('latin1') };
  return request({
    method: 'CONNECT',
    host: proxy.host,
    port: proxy.port,
    path: authority,
    headers: { host: authority, ...credentials },
    agent: false,
  });
}

function answerOf(asked: ClientRequest, proxy: HttpProxy): Promise<ProxyAnswer> {
  const peer = { role: 'proxy', text: `the proxy ${proxy.authority}` } as const;
  const { promise, resolve, reject } = Promise.withResolvers<ProxyAnswer>();
  asked.on('connect', (response, socket, head) => {
    // until the handshake takes the socket over, its end must not become an uncaught error
    socket.on('error', () => undefined);
    resolve({ response, socket, head });
  });
  asked.on('error', (thrown) => {
    reject(new FetchFailureError(classifyFailure(thrown, peer), thrown));
  });
  asked.end();
  return promise;
}

async function refusalOf(
  response: IncomingMessage,
  { socket, head }: { readonly socket: Socket; readonly head: Buffer },
  tunnel: TunnelRequest,
): Promise<FetchFailureError> {
  const status = response.statusCode ?? 0;
  const length = Number(response.headers['content-length'] ?? 0);
  const body = await readBody(socket, head, Math.min(length, maxRefusalBytes));
  const refusal = readGatewayRefusal(response.headers, body);
  const rule = refusal?.rule === undefined ? '' : ` by rule ${refusal.rule}`;
  const detail = `the proxy ${tunnel.proxy.authority} answered ${status} to CONNECT ${tunnel.authority}${rule}`;
  return new FetchFailureError({ kind: 'failed', code: 'refused-by-proxy', status, ...refusal, detail });
}

/** Up to `length` bytes, or what came before the peer closed or the time was up; the connection is ended. */
function readBody(socket: Socket, head: Buffer, length: number): Promise<Buffer> {
  const chunks = [head];
  let size = head.length;
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const finish = (): void => {
    socket.destroy();
    resolve(Buffer.concat(chunks).subarray(0, length));
  };
  socket.on('error', finish).on('close', finish);
  if (size >= length) finish();
  else {
    socket.setTimeout(refusalBodyMs, finish);
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= length) finish();
    });
  }
  return promise;
}

// Talks to a proxy byte by byte, as clients that misbehave do: the request as it is written, then what comes back until
// a whole response has come, the wanted text has, or the proxy closes.
import { connect, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';

export type RawAnswer = {
  readonly text: string;
  /** 0 when no status line came */
  readonly status: number;
  /** lower-case names */
  readonly headers: { readonly [name: string]: string };
  readonly body: string;
  readonly closed: boolean;
};

export type RawRequest = {
  readonly port: number;
  readonly host?: string;
  readonly localAddress?: string;
  /** speaks TLS to the proxy */
  readonly tls?: ConnectionOptions;
  readonly send: string;
  /** sent once the proxy has said yes to a CONNECT, `thenAfterMs` later */
  readonly then?: string;
  readonly thenAfterMs?: number;
  /** ends the exchange as soon as it is in the answer; else a whole response to the last request or the end does */
  readonly until?: string;
  readonly deadlineMs?: number;
};

const accepted = /^HTTP\/1\.1 200 [^\r]*\r\n(?:[^\r]+\r\n)*\r\n/;

export function rawExchange(request: RawRequest): Promise<RawAnswer> {
  const { port, host = '127.0.0.1', localAddress } = request;
  const place = { port, host, ...(localAddress === undefined ? {} : { localAddress }) };
  const socket: Socket = request.tls === undefined ? connect(place) : connectTls({ ...place, ...request.tls });
  return new Promise((resolve, reject) => {
    let text = '';
    let isThenSent = request.then === undefined;
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no end of the exchange; so far: ${JSON.stringify(text)}`));
    }, request.deadlineMs ?? 10_000);
    const finish = (closed: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(parseAnswer(text, closed));
    };
    const ready = request.tls === undefined ? 'connect' : 'secureConnect';
    socket.on(ready, () => socket.write(request.send, 'latin1'));
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (!isThenSent && accepted.test(text)) {
        isThenSent = true;
        const { then: rest = '', thenAfterMs = 0 } = request;
        setTimeout(() => socket.writable && socket.write(rest, 'latin1'), thenAfterMs);
      }
      const { until } = request;
      if (until === undefined ? isThenSent && isWhole(text) : text.includes(until)) finish(false);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => finish(true));
  });
}

/** Envoy keeps a connection for a second after a last answer, for the client to read it: too long for many of them */
function isWhole(text: string): boolean {
  const { headers, body } = parseAnswer(text, false);
  const length = headers['content-length'];
  return length !== undefined && Buffer.byteLength(body, 'latin1') >= Number(length);
}

/** one absolute-form request in clear */
export function plainGet(port: number, url: string): Promise<RawAnswer> {
  return rawExchange({ port, send: `GET ${url} HTTP/1.1\r\nHost: ignored.test\r\nConnection: close\r\n\r\n` });
}

export function connectRequest(authority: string): string {
  return `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`;
}

/** the last response in the text: inside a tunnel that is the inner one */
function parseAnswer(text: string, closed: boolean): RawAnswer {
  const start = text.lastIndexOf('HTTP/1.1 ');
  const [head = '', ...body] = text.slice(Math.max(0, start)).split('\r\n\r\n');
  const [statusLine = '', ...headerLines] = head.split('\r\n');
  const headers = Object.fromEntries(
    headerLines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1] ?? 0);
  return { text, status, headers, body: body.join('\r\n\r\n'), closed };
}

// HTTP/1.1 and HTTP/2 over a stream that is there already: a tunnel, or TLS inside one. Whole answers, with what came
// before and after them.
import { request as requestHttp1, type IncomingHttpHeaders } from 'node:http';
import { connect as connectHttp2, type ClientHttp2Session, type IncomingHttpHeaders as Http2Headers } from 'node:http2';
import type { Duplex } from 'node:stream';
import { withDeadline } from './wait-for.ts';

/** limits are the gateway's to hold */
const maxHeaderSize = 1024 * 1024;

export type HttpQuestion = {
  readonly authority: string;
  readonly path: string;
  readonly method?: string;
  readonly headers?: { readonly [name: string]: string };
  readonly body?: string | Buffer;
  readonly trailers?: { readonly [name: string]: string };
};

export type HttpAnswer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders | Http2Headers;
  readonly body: string;
  readonly trailers: { readonly [name: string]: unknown };
  /** statuses below 200 that came before */
  readonly informational: readonly number[];
};

/** The connection stays open; one question at a time. */
export function askHttp1(stream: Duplex, question: HttpQuestion): Promise<HttpAnswer> {
  const { authority, path, method = 'GET', headers, body, trailers } = question;
  const answer = new Promise<HttpAnswer>((resolve, reject) => {
    const request = requestHttp1({
      ...{ method, path, setHost: false, headers: { host: authority, ...headers }, maxHeaderSize },
      // no agent: the connection is the test's
      createConnection: () => stream,
    });
    const informational: number[] = [];
    request.on('information', ({ statusCode }) => informational.push(statusCode));
    request.on('error', reject);
    request.on('response', (response) => {
      let text = '';
      response.on('error', reject).on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
      response.on('end', () => {
        const { statusCode: status = 0, headers: got, trailers: last } = response;
        resolve({ status, headers: got, body: text, trailers: { ...last }, informational });
      });
    });
    const send = (): void => {
      // trailers need a body of unknown length
      if (trailers !== undefined) request.write(body ?? '');
      if (trailers !== undefined) request.addTrailers({ ...trailers });
      request.end(trailers === undefined ? body : undefined);
    };
    if (headers?.['expect'] === undefined) send();
    else request.on('continue', send).flushHeaders();
  });
  return withDeadline(`the answer to ${method} ${path}`, answer);
}

/** `scheme` is https inside TLS */
export function openHttp2Over(stream: Duplex, authority: string, scheme = 'https'): ClientHttp2Session {
  const session = connectHttp2(`${scheme}://${authority}`, {
    createConnection: () => stream,
    settings: { maxHeaderListSize: maxHeaderSize },
    maxSendHeaderBlockLength: maxHeaderSize,
    maxHeaderListPairs: 1000,
  });
  return session.on('error', () => undefined);
}

export function askHttp2(session: ClientHttp2Session, question: HttpQuestion): Promise<HttpAnswer> {
  const { path, method = 'GET', headers, body, trailers } = question;
  const answer = new Promise<HttpAnswer>((resolve, reject) => {
    const hasMore = body !== undefined || trailers !== undefined;
    const stream = session.request(
      { ':method': method, ':path': path, ...headers },
      { endStream: !hasMore, waitForTrailers: trailers !== undefined },
    );
    const informational: number[] = [];
    let head: Http2Headers = {};
    let last: Http2Headers = {};
    let text = '';
    stream.on('wantTrailers', () => stream.sendTrailers({ ...trailers }));
    stream.on('headers', (more) => informational.push(Number(more[':status'])));
    stream.on('response', (got) => (head = got));
    stream.on('trailers', (got: Http2Headers) => (last = got));
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    stream.on('error', reject);
    stream.on('end', () => {
      resolve({ status: Number(head[':status']), headers: head, body: text, trailers: { ...last }, informational });
    });
    const send = (): void => void stream.end(body ?? '');
    if (headers?.['expect'] !== undefined) stream.on('continue', send);
    else if (hasMore) send();
  });
  return withDeadline(`the answer to ${method} ${path}`, answer);
}

/** A request whose body is written piece by piece, and the body of its answer so far. */
export type HttpTalk = {
  text(): string;
  write(piece: string): void;
  end(): void;
};

export function talkHttp(version: 'h2' | 'http/1.1', stream: Duplex, question: HttpQuestion): HttpTalk {
  const { authority, path, method = 'GET', headers } = question;
  let text = '';
  const take = (chunk: Buffer): void => void (text += chunk.toString('latin1'));
  if (version === 'h2') {
    const session = openHttp2Over(stream, authority);
    const request = session.request({ ':method': method, ':path': path, ...headers }, { endStream: false });
    request.on('data', take).on('error', () => undefined);
    return { text: () => text, write: (piece) => void request.write(piece), end: () => void request.end() };
  }
  const request = requestHttp1({
    ...{ method, path, setHost: false, headers: { host: authority, ...headers } },
    createConnection: () => stream,
  });
  request.on('error', () => undefined).on('response', (response) => response.on('data', take));
  request.flushHeaders();
  return { text: () => text, write: (piece) => void request.write(piece), end: () => void request.end() };
}

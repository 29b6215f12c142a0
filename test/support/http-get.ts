// One plain HTTP request as a test wants it, headers and path untouched, each over a connection of its own.
import { request } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';

export type HttpAnswer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: string };

/** `address`: HOST:PORT with an IPv4 host */
export function httpGet(
  address: string,
  path: string,
  more: { readonly method?: string; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<HttpAnswer> {
  const [host = '', port = ''] = address.split(':');
  const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
  const asked = request({ host, port, path, method: more.method ?? 'GET', headers: { ...more.headers }, agent: false });
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

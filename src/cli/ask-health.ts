// One question to the health server of a running gateway, on its socket or port: bounded in time and size.
import type { RequestOptions } from 'node:http';
import { request } from '../node-http.ts';
import { systemReason } from '../system-error.ts';

export type HealthAnswer =
  | { readonly kind: 'answer'; readonly status: number; readonly body: string }
  /** `reason` is a phrase for people */
  | { readonly kind: 'silent'; readonly reason: string };

const timeoutMs = 3_000;
/** /metrics has some 30 KB */
const maxBytes = 4 * 1024 * 1024;

/** `address` as the health server tells its own: `unix:/path`, `127.0.0.1:9090` or `[::1]:9090`. Never rejects. */
export function askHealth(address: string, path: string): Promise<HealthAnswer> {
  const { promise, resolve } = Promise.withResolvers<HealthAnswer>();
  const signal = AbortSignal.timeout(timeoutMs);
  const silent = (reason: string): void => resolve({ kind: 'silent', reason });
  const target: RequestOptions = { ...targetOf(address), path, agent: false, signal };
  const sent = request(target, (response) => {
    let body = '';
    response.setEncoding('utf8');
    response.on('data', (text: string) => {
      body += text;
      if (body.length <= maxBytes) return;
      silent('its answer is too long');
      sent.destroy();
    });
    response.on('end', () => resolve({ kind: 'answer', status: response.statusCode ?? 0, body }));
    response.on('error', (error) => silent(systemReason(error)));
  });
  sent.on('error', (error) => silent(signal.aborted ? `no answer in ${timeoutMs / 1000} s` : systemReason(error)));
  sent.end();
  return promise;
}

function targetOf(address: string): RequestOptions {
  if (address.startsWith('unix:')) return { socketPath: address.slice('unix:'.length), headers: { host: 'leafgate' } };
  const [, inBrackets, bare, port] = /^(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(address) ?? [];
  return { host: inBrackets ?? bare ?? '', port: Number(port) };
}

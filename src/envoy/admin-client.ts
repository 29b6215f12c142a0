// Envoy's admin interface over its unix socket: bounded in time and size, one request a connection. Must not know what
// is asked for, but for the one answer that everybody reads, the statistics.
import { request } from '../node-http.ts';
import { isRecord } from '../is-record.ts';
import { systemReason } from '../system-error.ts';
import { envoyErrors } from './envoy-errors.ts';

type AdminAnswer = { readonly status: number; readonly body: string };

export interface AdminClient {
  get(path: string): Promise<AdminAnswer>;
  post(path: string): Promise<AdminAnswer>;
  /** counters and gauges whose names match the regular expression (RE2, as Envoy reads it) */
  readStats(filter: string): Promise<ReadonlyMap<string, number>>;
}

export type AdminLimits = { readonly timeoutMs: number; readonly maxBytes: number };

/** /stats of a gateway with its exclusions is 60 KB; the cap only guards our memory */
const defaultLimits: AdminLimits = { timeoutMs: 2_000, maxBytes: 4 * 1024 * 1024 };

export function createAdminClient(socketPath: string, limits: AdminLimits = defaultLimits): AdminClient {
  const ask = (method: string, path: string) => askAdmin({ socketPath, method, path, limits });
  return {
    get: (path) => ask('GET', path),
    post: (path) => ask('POST', path),
    readStats: async (filter) => {
      const path = `/stats?format=json&filter=${encodeURIComponent(filter)}`;
      const { status, body } = await ask('GET', path);
      if (status !== 200) throw adminFailed('GET /stats', `status ${status}`);
      return parseStats(body);
    },
  };
}

/** Reads `{"stats":[{"name":"a","value":1}, …]}`; histograms and text values are left out. */
export function parseStats(body: string): ReadonlyMap<string, number> {
  const stats = new Map<string, number>();
  const parsed: unknown = parseJson(body);
  if (!isRecord(parsed) || !Array.isArray(parsed['stats'])) throw adminFailed('GET /stats', 'not the expected JSON');
  for (const entry of parsed['stats'] as readonly unknown[]) {
    if (!isRecord(entry)) continue;
    const { name, value } = entry;
    if (typeof name === 'string' && typeof value === 'number') stats.set(name, value);
  }
  return stats;
}

type AdminRequest = {
  readonly socketPath: string;
  readonly method: string;
  readonly path: string;
  readonly limits: AdminLimits;
};

function askAdmin({ socketPath, method, path, limits }: AdminRequest): Promise<AdminAnswer> {
  const asked = `${method} ${path.split('?')[0] ?? ''}`;
  const { promise, resolve, reject } = Promise.withResolvers<AdminAnswer>();
  const fail = (detail: string, cause?: unknown) => reject(adminFailed(asked, detail, cause));
  const signal = AbortSignal.timeout(limits.timeoutMs);
  // `agent: false`: a kept-alive connection would itself count as an active one while draining
  const sent = request({ socketPath, method, path, agent: false, signal, headers: { host: 'envoy' } }, (response) => {
    const chunks: Buffer[] = [];
    let size = 0;
    response.on('data', (chunk: Buffer) => {
      size += chunk.length;
      chunks.push(chunk);
      if (size <= limits.maxBytes) return;
      fail(`more than ${limits.maxBytes} bytes`);
      sent.destroy();
    });
    response.on('end', () =>
      resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') }),
    );
    response.on('error', (error) => fail(systemReason(error), error));
  });
  sent.on('error', (error) =>
    fail(signal.aborted ? `no answer in ${limits.timeoutMs} ms` : systemReason(error), error),
  );
  sent.end();
  return promise;
}

function adminFailed(asked: string, detail: string, cause?: unknown): Error {
  return envoyErrors.error('envoy-admin-failed', { request: asked, detail }, cause);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

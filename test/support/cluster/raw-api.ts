// Plain requests to an API server as one of its users, for tests that must not use the product's own client. Answers are
// given as they come, refusals too. Knows HTTP and Kubernetes' content types, no object.
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import type { IncomingHttpHeaders } from 'node:http';

export type ApiPlace = { readonly url: string; readonly caFile: string };

export type ApiCredential =
  { readonly certFile: string; readonly keyFile: string } | { readonly token: string; readonly certFile?: never };

export type ApiAnswer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** the JSON of the answer; undefined where it is none */
  readonly body: ApiObject | undefined;
};

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests look into answers by their paths, and fail where nothing is
export type ApiObject = { readonly [field: string]: any };

type ApplyOptions = { readonly fieldManager?: string; readonly force?: boolean; readonly query?: string };

export type RawApi = {
  /** as JSON, or as `accept` says */
  get(path: string, accept?: string): Promise<ApiAnswer>;
  post(path: string, body: object): Promise<ApiAnswer>;
  put(path: string, body: object): Promise<ApiAnswer>;
  /** a merge patch, or what `contentType` says */
  patch(path: string, body: object, contentType?: string): Promise<ApiAnswer>;
  /** server-side, as field manager `test` and by force unless it is said otherwise */
  apply(path: string, body: object, options?: ApplyOptions): Promise<ApiAnswer>;
  remove(path: string, body?: object): Promise<ApiAnswer>;
  close(): void;
};

/** far above what an answer takes; `timeoutSeconds` of a watch has to be below */
const answerDeadlineMs = 60_000;

const json = 'application/json';

type Terms = {
  readonly body?: object | undefined;
  readonly contentType?: string;
  readonly accept?: string | undefined;
};

export function apiAs(place: ApiPlace, credential: ApiCredential): RawApi {
  const agent = new Agent({
    keepAlive: true,
    ca: readFileSync(place.caFile),
    ...(credential.certFile === undefined
      ? {}
      : { cert: readFileSync(credential.certFile), key: readFileSync(credential.keyFile) }),
  });
  const authorization = credential.certFile === undefined ? { authorization: `Bearer ${credential.token}` } : {};
  const ask = (
    method: string,
    path: string,
    { body, contentType = json, accept = json }: Terms = {},
  ): Promise<ApiAnswer> =>
    new Promise((resolve, reject) => {
      const sentText = body === undefined ? undefined : JSON.stringify(body);
      // said by ourselves: Node sends the body of a DELETE without its length, and the server takes it for another request
      const about = sentText && { 'content-type': contentType, 'content-length': Buffer.byteLength(sentText) };
      const headers = { ...authorization, accept, ...about };
      const signal = AbortSignal.timeout(answerDeadlineMs);
      const sent = request(new URL(path, place.url), { agent, method, headers, signal }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        answer.once('error', reject).once('end', () => {
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text, body: parsed(text) });
        });
      });
      sent.once('error', reject).end(sentText);
    });
  return {
    get: (path, accept) => ask('GET', path, { accept }),
    post: (path, body) => ask('POST', path, { body }),
    put: (path, body) => ask('PUT', path, { body }),
    patch: (path, body, contentType = 'application/merge-patch+json') => ask('PATCH', path, { body, contentType }),
    apply: (path, body, { fieldManager = 'test', force = true, query } = {}) => {
      const terms = `fieldManager=${fieldManager}&force=${force}${query === undefined ? '' : `&${query}`}`;
      return ask('PATCH', `${path}?${terms}`, { body, contentType: 'application/apply-patch+yaml' });
    },
    remove: (path, body) => ask('DELETE', path, { body }),
    close: () => agent.destroy(),
  };
}

/** The object of an answer that must be a success. */
export function mustSucceed(answer: ApiAnswer): ApiObject {
  if (answer.status < 200 || answer.status > 299 || answer.body === undefined) {
    throw new Error(`the API server said ${answer.status}: ${answer.text}`);
  }
  return answer.body;
}

function parsed(text: string): ApiObject | undefined {
  try {
    return JSON.parse(text) as ApiObject;
  } catch {
    return undefined;
  }
}

// What drives a browser: questions with a number and answers with the same over a WebSocket, as both the DevTools protocol of
// Chromium and WebDriver BiDi have them. Must not know either's commands.
import { withDeadline } from './wait-for.ts';

/** far above what a page takes on a busy machine */
const answerDeadlineMs = 30_000;

export type BrowserSocket = {
  /** throws what the browser says where it cannot */
  call(method: string, params?: object, more?: object): Promise<unknown>;
  close(): void;
};

type Answer = {
  readonly id?: number | null;
  readonly result?: unknown;
  readonly error?: unknown;
  readonly message?: unknown;
};

type Waiting = { readonly resolve: (result: unknown) => void; readonly reject: (error: Error) => void };

export async function openBrowserSocket(url: string): Promise<BrowserSocket> {
  const socket = new WebSocket(url);
  const waiting = new Map<number, Waiting>();
  let last = 0;
  socket.addEventListener('message', ({ data }) => {
    const { id, result, error, message } = JSON.parse(String(data)) as Answer;
    const asked = waiting.get(id ?? 0);
    if (asked === undefined) return;
    waiting.delete(id ?? 0);
    if (error === undefined) asked.resolve(result);
    else asked.reject(new Error(`${JSON.stringify(error)} ${typeof message === 'string' ? message : ''}`));
  });
  socket.addEventListener('close', () => {
    for (const { reject } of waiting.values()) reject(new Error('the browser is gone'));
    waiting.clear();
  });
  const opened = new Promise<void>((resolve, reject) => {
    socket.addEventListener('open', () => resolve());
    socket.addEventListener('error', () => reject(new Error(`no WebSocket at ${url}`)));
  });
  await withDeadline('the browser to be reached', opened);
  return {
    call: (method, params = {}, more = {}) => {
      last += 1;
      const id = last;
      const answer = new Promise<unknown>((resolve, reject) => waiting.set(id, { resolve, reject }));
      socket.send(JSON.stringify({ id, method, params, ...more }));
      return withDeadline(`an answer to ${method}`, answer, answerDeadlineMs);
    },
    close: () => socket.close(),
  };
}

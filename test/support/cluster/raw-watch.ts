// A watch as the API server sends it, event by event, without the product's own client. It is not begun again when it ends.
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { createInterface } from 'node:readline';
import type { ApiObject, ApiPlace } from './raw-api.ts';

export type WatchEvent = { readonly type: string; readonly object: ApiObject; readonly at: number };

export type RawWatch = {
  /** the API server has answered: what changes from here on is seen */
  readonly opened: Promise<void>;
  close(): void;
};

/** `path` is that of a list, with the selectors of the watch; `at` of an event is `performance.now()` at its arrival */
export function watchAs(
  place: ApiPlace,
  credential: { readonly certFile: string; readonly keyFile: string },
  path: string,
  onEvent: (event: WatchEvent) => void,
): RawWatch {
  const url = new URL(path, place.url);
  url.searchParams.set('watch', '1');
  url.searchParams.set('timeoutSeconds', '3000');
  const asked = request(url, {
    ca: readFileSync(place.caFile),
    cert: readFileSync(credential.certFile),
    key: readFileSync(credential.keyFile),
  });
  const opened = new Promise<void>((resolve, reject) => {
    asked.once('error', reject).once('response', (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`the API server said ${answer.statusCode} to the watch`));
      const lines = createInterface({ input: answer });
      // it ends with close(), and both say so
      for (const stream of [answer, lines]) stream.on('error', () => undefined);
      lines.on('line', (line) => {
        const event = JSON.parse(line) as Omit<WatchEvent, 'at'>;
        onEvent({ ...event, at: performance.now() });
      });
      resolve();
    });
  });
  asked.on('error', () => undefined).end();
  return { opened, close: () => void asked.destroy() };
}

// The sidecar's private door: `leafgate drain` speaks to it from a hook in the sidecar's own container. Only this user reaches
// the socket.
import type { ServerResponse } from 'node:http';
import { createServer } from '../node-http.ts';
import { listenPrivately } from '../private-socket.ts';
import type { DrainOutcome } from './paired-drain.ts';

/** Resolves when it listens. @throws socket-… */
export async function serveControl(
  path: string,
  announce: () => Promise<DrainOutcome>,
): Promise<{ close(): Promise<void> }> {
  const server = createServer((request, response) => {
    if (request.method !== 'POST' || request.url !== drainPath) reply(response, 404, 'there is POST /drain\n');
    else void announce().then((outcome) => reply(response, 200, `${outcome}\n`));
  });
  await listenPrivately(server, path);
  return {
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

export const drainPath = '/drain';

function reply(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'text/plain' }).end(body);
}

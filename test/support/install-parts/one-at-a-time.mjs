// Of all processes that want to make the same folder, one makes it and the others wait.
import { createHash } from 'node:crypto';
import { createConnection, createServer } from 'node:net';

/**
 * Whoever listens on the name has the turn, and the kernel takes it back however that process ends (unix(7), abstract
 * sockets). The others wait for their connection to close. Resolves with what gives the turn away.
 */
export async function waitForTurn(folder, onWait = () => undefined) {
  const name = `\0leafgate-install-${createHash('sha256').update(folder).digest('hex')}`;
  for (;;) {
    const waiting = new Set();
    const server = createServer((socket) => waiting.add(socket.on('error', () => undefined).unref()));
    try {
      await new Promise((resolve, reject) => server.once('error', reject).listen(name, resolve));
      server.unref();
      return () => {
        server.close();
        for (const socket of waiting) socket.destroy();
      };
    } catch (error) {
      if (error.code !== 'EADDRINUSE') throw error;
    }
    onWait();
    await new Promise((resolve) => {
      createConnection(name)
        .on('error', () => undefined)
        .once('close', resolve)
        .resume();
    });
  }
}

// Origins that fail, each in its own way: what a gateway has to tell apart. All on loopback.
import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';
import { epoch, hours } from '../../src/clock.ts';
import { freePort } from './free-port.ts';
import { startProcess } from './run-command.ts';
import { scrubbedEnvironment } from './scrubbed-environment.ts';
import { createTestAuthority, issueServerCertificate, type TestAuthority } from './test-certificates.ts';
import { startTlsOrigin } from './tls-origin.ts';
import { waitFor } from './wait-for.ts';

export type BrokenOrigin = { readonly port: number; close(): Promise<void> };

/** whose names are what is wrong with them, as `<name>.test` */
export async function startBadlyCertified(
  authority: TestAuthority,
): Promise<{ readonly [name: string]: BrokenOrigin }> {
  const now = Date.now();
  const issue = (name: string, hoursFrom = -1, hoursTo = 1) =>
    issueServerCertificate(authority, {
      names: [name],
      notBefore: epoch(now + hours(hoursFrom)),
      notAfter: epoch(now + hours(hoursTo)),
    });
  const stranger = createTestAuthority();
  return {
    expired: await startTlsOrigin({ certificate: issue('expired.test', -4, -2) }),
    early: await startTlsOrigin({ certificate: issue('early.test', 1, 2) }),
    misnamed: await startTlsOrigin({ certificate: issue('other.test') }),
    stranger: await startTlsOrigin({ certificate: issueServerCertificate(stranger, { names: ['stranger.test'] }) }),
  };
}

/** RFC 8446 section 6: a fatal handshake_failure in a record of TLS 1.2 */
const fatalAlert = Buffer.from([21, 3, 3, 0, 2, 2, 40]);

export async function startBadlySpoken(): Promise<{ readonly [name: string]: BrokenOrigin }> {
  const clearHttp = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi';
  return {
    'in-clear': await tcpOrigin((socket) => socket.once('data', () => socket.end(clearHttp))),
    alerting: await tcpOrigin((socket) => socket.once('data', () => socket.end(fatalAlert))),
    'hanging-up': await tcpOrigin((socket) => socket.once('data', () => socket.end())),
    abrupt: await tcpOrigin((socket) => socket.once('data', () => socket.resetAndDestroy())),
    garbled: await tcpOrigin((socket) => socket.once('data', () => socket.end('no HTTP\r\n\r\n'))),
    mute: await tcpOrigin(() => undefined),
    refusing: { port: await freePort(), close: () => Promise.resolve() },
  };
}

async function tcpOrigin(onConnection: (socket: Socket) => void): Promise<BrokenOrigin> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket)).on('error', () => undefined);
    onConnection(socket);
  });
  await listening(server);
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      for (const socket of open) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

const waiter = `require('node:net').createServer(() => undefined)
  .listen(0, '127.0.0.1', 1, function () { console.log('port ' + this.address().port + '.'); })`;

/** A listener whose queue is full and whose process stands still: the kernel drops every SYN, as a black hole does. */
export async function startBlackHole(home: string): Promise<BrokenOrigin> {
  const child = startProcess(process.execPath, ['-e', waiter], { env: scrubbedEnvironment(home) });
  const [, digits = ''] = await child.waitForOutput(/port (\d+)\./);
  const port = Number(digits);
  child.signal('SIGSTOP');
  const fillers: Socket[] = [];
  const isFull = async (): Promise<boolean> => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    fillers.push(socket);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(true), connectedWithinMs);
      socket.once('connect', () => {
        clearTimeout(timer);
        resolve(false);
      });
    });
  };
  await waitFor('the queue of the black hole to be full', isFull);
  return {
    port,
    close: async () => {
      for (const socket of fillers) socket.destroy();
      child.signal('SIGCONT');
      await child.stop();
    },
  };
}

/** far above what a connection on loopback takes, far below a retry of SYN */
const connectedWithinMs = 500;

function listening(server: Server): Promise<void> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
}

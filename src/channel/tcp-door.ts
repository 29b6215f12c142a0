// A TCP port: listens, hands over what it accepts, and closes. An edge; it must not know who may come in.
import { createServer, type Server, type Socket } from 'node:net';
import { seconds } from '../clock.ts';
import type { ListenAddress } from '../settings/gateway-spec.ts';
import { listenAddressText } from '../settings/parse-listen.ts';
import { systemReason } from '../system-error.ts';
import { channelErrors } from './channel-errors.ts';

/** TCP's own question to a silent peer, beside that of HTTP/2, which ends a connection after 40 s */
const keepAliveInitialDelay = seconds(30);

export class TcpDoor {
  readonly #server: Server;
  #port = 0;

  /** `opened` gets each connection and who is at its other end */
  constructor(opened: (socket: Socket, peer: Peer) => void) {
    // answers of a few hundred bytes must not wait for more (Nagle)
    this.#server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay }, (socket) => {
      const peer = peerOf(socket);
      // it is gone already, and nobody is there to tell
      if (peer === undefined) socket.on('error', () => undefined).destroy();
      else opened(socket, peer);
    });
  }

  /** the real one, where port 0 asked the system for a free one */
  get port(): number {
    return this.#port;
  }

  /** Throws `channel-listen-failed`. */
  async listen(address: ListenAddress): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const failed = (error: Error): void => {
        const fields = { address: listenAddressText(address), detail: systemReason(error) };
        reject(channelErrors.error('channel-listen-failed', fields, error));
      };
      this.#server.once('error', failed);
      this.#server.listen({ host: address.address.text, port: address.port }, () => {
        this.#server.off('error', failed);
        // one connection that could not be accepted must not end the process
        this.#server.on('error', () => undefined);
        resolve();
      });
    });
    const bound = this.#server.address();
    this.#port = typeof bound === 'object' && bound !== null ? bound.port : address.port;
  }

  /** Accepts nothing more; what is open stays. */
  close(): void {
    this.#server.close();
  }
}

/** `text` has the port, and is of one connection alone while that is open */
export type Peer = { readonly address: string; readonly text: string };

const mappedIpv4 = '::ffff:';

export function peerOf(socket: Socket): Peer | undefined {
  const { remoteAddress, remotePort } = socket;
  if (remoteAddress === undefined || remotePort === undefined) return undefined;
  const address = remoteAddress.startsWith(mappedIpv4) ? remoteAddress.slice(mappedIpv4.length) : remoteAddress;
  return { address, text: address.includes(':') ? `[${address}]:${remotePort}` : `${address}:${remotePort}` };
}

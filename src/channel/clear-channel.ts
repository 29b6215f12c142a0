// The channel in plaintext, for those who chose it: everybody who reaches the port is let in, until the server has as many
// connections as it serves. There is nothing to judge.
import type { Socket } from 'node:net';
import type { ListenAddress } from '../settings/gateway-spec.ts';
import type { ChannelEvents } from './channel-events.ts';
import { TcpDoor } from './tcp-door.ts';

type ClearChannelParts = {
  readonly events: ChannelEvents;
  /** speaks on a socket that was let in */
  readonly serve: (socket: Socket) => void;
};

export class ClearChannel {
  readonly #door: TcpDoor;

  constructor({ events, serve }: ClearChannelParts) {
    this.#door = new TcpDoor((socket, peer) => {
      events.admitted({ peer: peer.text, by: 'nothing', name: '' });
      serve(socket);
    });
  }

  get port(): number {
    return this.#door.port;
  }

  listen(address: ListenAddress): Promise<void> {
    return this.#door.listen(address);
  }

  close(): void {
    this.#door.close();
  }
}

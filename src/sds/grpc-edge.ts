// The gRPC server behind the socket (docs/decisions/0005): our own net server accepts, counts and closes connections and
// hands each to an HTTP/2 session, so that limits, file mode and shutdown are ours. Must not know names or certificates.
import { createServer, type Server, type Socket } from 'node:net';
import type { DurationMs } from '../clock.ts';
import { listenPrivately } from '../private-socket.ts';
import { GrpcConnection, maxUnfinishedBytes, type EdgeParts } from './grpc-connection.ts';
import { SharedKeptBytes } from './grpc-messages.ts';
import { maxConnections, unfinishedBytesOfEach, unfinishedConnections } from './sds-settings.ts';

export class GrpcEdge {
  readonly #parts: EdgeParts;
  readonly #maxConnections: number;
  readonly #net: Server;
  readonly #connections = new Set<GrpcConnection>();
  /** set while a stop waits for the last connection */
  #emptied: (() => void) | undefined;

  constructor(parts: Omit<EdgeParts, 'kept'> & { readonly maxConnections?: number }) {
    const inAll = unfinishedConnections * maxUnfinishedBytes(parts.settings);
    const kept = new SharedKeptBytes(inAll, unfinishedBytesOfEach);
    this.#parts = { ...parts, kept };
    this.#maxConnections = parts.maxConnections ?? maxConnections;
    this.#net = createServer((socket) => this.serve(socket));
    this.#net.maxConnections = this.#maxConnections;
    this.#net.on('drop', () => parts.events.connectionRefused());
  }

  listen(path: string): Promise<void> {
    return listenPrivately(this.#net, path);
  }

  /** Speaks gRPC on a socket that was accepted, TLS or not; it counts and closes like those of `listen`. */
  serve(socket: Socket): void {
    if (this.#connections.size >= this.#maxConnections) {
      this.#parts.events.connectionRefused();
      socket.on('error', () => undefined).destroy();
      return;
    }
    const connection = new GrpcConnection(socket, this.#parts, () => {
      this.#connections.delete(connection);
      this.#parts.events.connectionClosed();
      if (this.#connections.size === 0) this.#emptied?.();
    });
    this.#connections.add(connection);
    this.#parts.events.connectionOpened();
  }

  /** GOAWAY and an end to every stream, then the connections that are still there after the grace are cut. */
  async close(graceMs: DurationMs): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#net.close(() => resolve()));
    const empty = new Promise<void>((resolve) => {
      this.#emptied = resolve;
      if (this.#connections.size === 0) resolve();
    });
    for (const connection of this.#connections) connection.stop();
    const cut = this.#parts.clock.after(graceMs, () => {
      for (const connection of this.#connections) connection.cut();
    });
    await Promise.all([closed, empty]);
    cut.cancel();
  }
}

// The gRPC server behind the socket (design decision 11): our own net server accepts, counts and closes connections and
// hands each to grpc-js, so that limits, file mode and shutdown are ours. Must not know names or certificates.
import { createServer, type Server as NetServer, type Socket } from 'node:net';
import {
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ConnectionInjector,
  type ServerInterceptor,
  type ServerOptions,
} from '@grpc/grpc-js';
import type { Clock, DurationMs } from '../clock.ts';
import { GrpcCall } from './grpc-call.ts';
import { deltaMethods, refusingImplementation, sdsService } from './grpc-methods.ts';
import type { SdsCore } from './sds-core.ts';
import type { SdsEvents } from './sds-events.ts';
import {
  keepaliveTimeMs,
  keepaliveTimeoutMs,
  maxConnections,
  maxSessionMemoryMb,
  maxStreamsPerConnection,
  type SdsSettings,
} from './sds-settings.ts';
import { listenPrivately } from '../private-socket.ts';

export type EdgeParts = {
  readonly core: SdsCore;
  readonly clock: Clock;
  readonly settings: SdsSettings;
  readonly events: SdsEvents;
};

type Connection = { readonly socket: Socket; readonly injector: ConnectionInjector; readonly calls: Set<GrpcCall> };

/** Every default of grpc-js that is unlimited or unfit is set (reliability 2.3). */
function serverOptions(settings: SdsSettings, interceptor: ServerInterceptor): ServerOptions {
  return {
    interceptors: [interceptor],
    'grpc.max_concurrent_streams': maxStreamsPerConnection,
    // one limit a server: the lower one of per-name streams is held in SdsStream
    'grpc.max_receive_message_length': settings.maxAdsMessageBytes,
    'grpc.max_send_message_length': maxSentMessageBytes,
    'grpc.keepalive_time_ms': keepaliveTimeMs,
    'grpc.keepalive_timeout_ms': keepaliveTimeoutMs,
    'grpc-node.max_session_memory': maxSessionMemoryMb,
    'grpc.enable_channelz': 0,
  };
}

/** a leaf with 32 intermediates is far below this */
const maxSentMessageBytes = 1024 * 1024;

export class GrpcEdge {
  readonly #parts: EdgeParts;
  readonly #net: NetServer;
  readonly #connections = new Set<Connection>();

  constructor(parts: EdgeParts) {
    this.#parts = parts;
    this.#net = createServer((socket) => this.#accept(socket));
    this.#net.maxConnections = maxConnections;
    this.#net.on('drop', () => parts.events.connectionRefused());
  }

  listen(path: string): Promise<void> {
    return listenPrivately(this.#net, path);
  }

  /** GOAWAY and an end to every stream, then the connections that are still there after the grace are cut. */
  async close(graceMs: DurationMs): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#net.close(() => resolve()));
    for (const { injector, calls } of this.#connections) {
      injector.destroy();
      for (const call of calls) call.stop();
    }
    const cut = this.#parts.clock.after(graceMs, () => {
      for (const { socket } of this.#connections) socket.destroy();
    });
    await closed;
    cut.cancel();
  }

  #accept(socket: Socket): void {
    const calls = new Set<GrpcCall>();
    // a grpc-js server a connection: its interceptor knows whose call it is, and shutting it down says GOAWAY to one
    const grpc = new Server(serverOptions(this.#parts.settings, this.#interceptor(socket, calls)));
    grpc.addService(sdsService, refusingImplementation);
    const injector = grpc.createConnectionInjector(ServerCredentials.createInsecure());
    const connection: Connection = { socket, injector, calls };
    this.#connections.add(connection);
    this.#parts.events.connectionOpened();
    // a reset is a close like any other; without a listener it would end the process
    socket.on('error', () => undefined);
    socket.once('close', () => {
      this.#connections.delete(connection);
      injector.destroy();
      this.#parts.events.connectionClosed();
    });
    injector.injectConnection(socket);
  }

  #interceptor(socket: Socket, calls: Set<GrpcCall>): ServerInterceptor {
    const parts = {
      ...this.#parts,
      dropPeer: () => void socket.destroy(),
      ended: (call: GrpcCall) => void calls.delete(call),
    };
    return (method, call) => {
      const kind = deltaMethods.get(method.path);
      if (kind === undefined) return new ServerInterceptingCall(call);
      return new ServerInterceptingCall(call, { start: () => void calls.add(new GrpcCall(kind, call, parts)) });
    };
  }
}

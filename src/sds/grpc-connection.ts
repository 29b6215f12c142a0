// One connection of a peer: an HTTP/2 server session on a socket that somebody accepted, be it a unix socket or TLS.
// Everything that a peer may make it hold or do has a bound here; nghttp2 keeps them. Must not know names or messages.
import { performServerHandshake } from 'node:http2';
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream, ServerOptions } from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock, Timer } from '../clock.ts';
import { GrpcCall, type CallParts } from './grpc-call.ts';
import { KeptBytes, type SharedKeptBytes } from './grpc-messages.ts';
import { routeRequest } from './grpc-methods.ts';
import { parseGrpcTimeout } from './grpc-timeout.ts';
import type { SdsCore } from './sds-core.ts';
import type { SdsEvents, StreamKind } from './sds-events.ts';
import {
  keepaliveTimeMs,
  keepaliveTimeoutMs,
  maxHeaderBytes,
  maxHeaderPairs,
  maxSessionMemoryMb,
  maxStreamsPerConnection,
  maxUnfinishedSpareBytes,
  streamResetBurst,
  streamResetsPerSecond,
  type SdsSettings,
} from './sds-settings.ts';

export type EdgeParts = {
  readonly core: SdsCore;
  readonly clock: Clock;
  readonly settings: SdsSettings;
  readonly events: SdsEvents;
  /** what unfinished messages of all connections hold */
  readonly kept: SharedKeptBytes;
};

/** what unfinished messages of one connection may hold */
export function maxUnfinishedBytes({ maxAdsMessageBytes }: SdsSettings): number {
  return 2 * (maxAdsMessageBytes + maxUnfinishedSpareBytes);
}

const sessionOptions: ServerOptions = {
  maxSessionMemory: maxSessionMemoryMb,
  maxHeaderListPairs: maxHeaderPairs,
  streamResetBurst,
  streamResetRate: streamResetsPerSecond,
  settings: { maxConcurrentStreams: maxStreamsPerConnection, maxHeaderListSize: maxHeaderBytes },
};

export class GrpcConnection {
  readonly #socket: Socket;
  readonly #session: ServerHttp2Session;
  readonly #clock: Clock;
  readonly #calls = new Set<GrpcCall>();
  readonly #callParts: CallParts;
  #keepalive: Timer | undefined;

  /** `closed` is called once, when nothing of the connection is left. */
  constructor(socket: Socket, parts: EdgeParts, closed: () => void) {
    this.#socket = socket;
    this.#clock = parts.clock;
    const { maxAdsMessageBytes, maxPerNameMessageBytes } = parts.settings;
    this.#callParts = {
      ...parts,
      maxMessageBytes: { ads: maxAdsMessageBytes, 'per-name': maxPerNameMessageBytes },
      kept: new KeptBytes(maxUnfinishedBytes(parts.settings), parts.kept),
      dropPeer: () => this.cut(),
      ended: (call) => void this.#calls.delete(call),
    };
    // a reset is a close like any other; without a listener it would end the process
    socket.on('error', ignored);
    socket.once('close', () => {
      this.#keepalive?.cancel();
      closed();
    });
    this.#session = performServerHandshake(socket, sessionOptions);
    this.#session.on('error', ignored);
    this.#session.on('stream', (stream, headers) => this.#opened(stream, headers));
    this.#pingLater();
  }

  /** GOAWAY, and an end to every call; the connection closes when the peer has taken that. */
  stop(): void {
    // who stops it cuts it after a grace of its own
    this.#keepalive?.cancel();
    this.#session.close();
    for (const call of this.#calls) call.stop();
  }

  cut(): void {
    this.#socket.destroy();
  }

  #opened(http: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    http.on('error', ignored);
    if (http.destroyed || http.closed) return;
    const routed = routeRequest(headers);
    if (typeof routed === 'string') {
      this.#serve(routed, http, headers['grpc-timeout']);
    } else {
      http.respond(routed, { endStream: true });
      // what comes with it is thrown away, so that the end of the stream is seen
      http.resume();
    }
  }

  #serve(kind: StreamKind, http: ServerHttp2Stream, timeout: string | string[] | undefined): void {
    const call = new GrpcCall(kind, http, this.#callParts);
    this.#calls.add(call);
    const deadlineMs = parseGrpcTimeout(timeout);
    if (deadlineMs !== undefined) call.endAfter(deadlineMs);
  }

  /** A peer that is gone without a word is noticed by its missing answer; so is one that never spoke HTTP/2. */
  #pingLater(): void {
    this.#keepalive = this.#clock.after(keepaliveTimeMs, () => {
      if (this.#session.destroyed) return;
      const unanswered = this.#clock.after(keepaliveTimeoutMs, () => this.cut());
      this.#keepalive = unanswered;
      this.#session.ping((error) => {
        unanswered.cancel();
        if (error === null && !this.#session.closed) this.#pingLater();
      });
    });
  }
}

function ignored(): void {
  // streams and sessions say by their 'close' event all that is needed here
}

// One gRPC call as an SDS stream: an HTTP/2 stream in, messages to the protocol, answers and one status out. Reads
// nothing and answers nothing while the peer does not take what it was sent. Must not know sockets.
import type { ServerHttp2Stream } from 'node:http2';
import type { Clock, DurationMs, Timer } from '../clock.ts';
import { LeafgateError } from '../errors.ts';
import { framed, MessageReader, type KeptBytes } from './grpc-messages.ts';
import { grpcStatus, responseHeaders, trailers, trailersOnly, type GrpcStatus } from './grpc-status.ts';
import type { SdsCore } from './sds-core.ts';
import { sdsErrors } from './sds-errors.ts';
import type { SdsEvents, StreamEnd, StreamKind } from './sds-events.ts';
import { maxUnsentBytes, slowReaderMs, unfinishedMs } from './sds-settings.ts';
import type { SdsStream } from './sds-stream.ts';

/** what the calls of one connection share */
export type CallParts = {
  readonly core: SdsCore;
  readonly clock: Clock;
  readonly events: SdsEvents;
  /** one message, by kind of stream */
  readonly maxMessageBytes: { readonly [kind in StreamKind]: number };
  readonly kept: KeptBytes;
  /** closes the connection of a peer that does not read: its stream can only be reset with it */
  readonly dropPeer: () => void;
  readonly ended: (call: GrpcCall) => void;
};

const respondOptions = { waitForTrailers: true, sendDate: false };

export class GrpcCall {
  readonly #http: ServerHttp2Stream;
  readonly #parts: CallParts;
  readonly #reader: MessageReader;
  readonly #stream: SdsStream;
  #hasResponded = false;
  #isStalled = false;
  /** a message is being taken in, in turns with other streams */
  #isTaking = false;
  #isPeerDone = false;
  #isEnded = false;
  #slowReader: Timer | undefined;
  /** while part of a message has come, and the peer has the rest */
  #unfinished: Timer | undefined;

  constructor(kind: StreamKind, http: ServerHttp2Stream, parts: CallParts) {
    this.#http = http;
    this.#parts = parts;
    this.#reader = new MessageReader(parts.maxMessageBytes[kind], parts.kept);
    this.#stream = parts.core.openStream(kind, this);
    http.on('data', (chunk: Buffer) => this.#readOn(chunk));
    http.on('end', () => this.#peerIsDone());
    http.on('close', () => {
      this.#slowReader?.cancel();
      this.#forget('peer-left');
    });
  }

  /** The peer's own deadline, whatever it is worth on a stream that never ends. */
  endAfter(deadlineMs: DurationMs): void {
    const timer = this.#parts.clock.after(deadlineMs, () => this.#end('peer-left', grpcStatus.late));
    this.#http.on('close', () => timer.cancel());
  }

  /** The server stops: the peer is told to come back. */
  stop(): void {
    this.#end('server-stopped', grpcStatus.stopping);
  }

  /** The protocol's answers, as its sink. */
  send(message: Buffer): void {
    const http = this.#http;
    if (this.#isEnded || http.destroyed || http.closed) return;
    if (!this.#hasResponded) {
      this.#hasResponded = true;
      http.respond(responseHeaders, respondOptions);
    }
    http.write(framed(message));
    if (!this.#isStalled && http.writableLength > maxUnsentBytes[this.#stream.kind]) this.#stall();
  }

  /** The protocol has answered everything and the peer is done. */
  end(): void {
    this.#end('peer-done', grpcStatus.done);
  }

  #readOn(chunk?: Buffer): void {
    if (this.#isEnded) return;
    // what a chunk asks for is answered in one write
    this.#http.cork();
    try {
      if (chunk !== undefined) this.#reader.push(chunk);
      this.#readMessages();
    } catch (thrown) {
      this.#failed(LeafgateError.from(thrown));
    }
    this.#http.uncork();
  }

  #readMessages(): void {
    while (!this.#isWaiting && !this.#isEnded) {
      const message = this.#reader.next();
      if (message === undefined) {
        this.#watchUnfinished();
        return;
      }
      this.#stopWatchingUnfinished();
      const taken = this.#stream.receive(message);
      if (taken !== undefined) this.#readOnAfter(taken);
    }
  }

  #watchUnfinished(): void {
    if (this.#reader.isEmpty || this.#unfinished !== undefined) return;
    this.#unfinished = this.#parts.clock.after(unfinishedMs, () => {
      this.#unfinished = undefined;
      // it is not read on just now: that is not the peer's doing
      if (this.#isWaiting) this.#watchUnfinished();
      else this.#failed(sdsErrors.error('sds-request-malformed', { reason: 'not whole in time' }));
    });
  }

  #stopWatchingUnfinished(): void {
    this.#unfinished?.cancel();
    this.#unfinished = undefined;
  }

  /** Nothing is read for now. */
  get #isWaiting(): boolean {
    return this.#isStalled || this.#isTaking;
  }

  #readOnAfter(taken: Promise<void>): void {
    this.#isTaking = true;
    this.#http.pause();
    taken
      .then(() => {
        this.#isTaking = false;
        this.#goOn();
      })
      .catch((thrown: unknown) => this.#failed(LeafgateError.from(thrown)));
  }

  #goOn(): void {
    if (this.#isWaiting || this.#isEnded) return;
    this.#http.resume();
    this.#readOn();
    if (this.#isPeerDone) this.#peerIsDone();
  }

  /** Node says so even while the stream is paused: what is unread is read first. */
  #peerIsDone(): void {
    this.#isPeerDone = true;
    if (this.#isWaiting || this.#isEnded) return;
    if (this.#reader.isEmpty) this.#stream.peerIsDone();
    else this.#failed(sdsErrors.error('sds-request-malformed', { reason: 'cut off' }));
  }

  #failed(error: LeafgateError): void {
    this.#parts.events.badRequest(error);
    switch (error.code) {
      case 'sds-room-taken':
        this.#end('too-large', grpcStatus.roomTaken);
        break;
      case 'sds-request-too-large':
        this.#end('too-large', grpcStatus.tooLarge);
        break;
      case 'sds-request-malformed':
        this.#end('malformed', grpcStatus.malformed);
        break;
      case 'sds-request-compressed':
        this.#end('malformed', grpcStatus.compressed);
        break;
      default:
        this.#end('malformed', grpcStatus.failed);
    }
  }

  #stall(): void {
    this.#isStalled = true;
    this.#stream.block();
    this.#http.pause();
    this.#http.once('drain', () => this.#resume());
    this.#watchSlowReader(this.#http.writableLength);
  }

  #resume(): void {
    if (this.#isEnded) return;
    this.#slowReader?.cancel();
    this.#isStalled = false;
    this.#stream.unblock();
    this.#goOn();
  }

  /** A peer that has taken nothing of `unsent` bytes in time is not there, whether its stream has ended or not. */
  #watchSlowReader(unsent: number): void {
    this.#slowReader = this.#parts.clock.after(slowReaderMs, () => {
      const left = this.#http.writableLength;
      if (left === 0) return;
      if (left < unsent) {
        this.#watchSlowReader(left);
        return;
      }
      this.#forget('slow-reader');
      this.#parts.dropPeer();
    });
  }

  #end(end: StreamEnd, status: GrpcStatus): void {
    if (this.#isEnded) return;
    this.#forget(end);
    const http = this.#http;
    if (http.destroyed || http.closed) return;
    if (this.#hasResponded) {
      http.once('wantTrailers', () => http.sendTrailers(trailers(status)));
      http.end();
    } else {
      http.respond(trailersOnly(status), { endStream: true });
    }
    // what still comes is thrown away, so that the end of the stream is seen
    http.resume();
  }

  #forget(end: StreamEnd): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#stopWatchingUnfinished();
    this.#reader.drop();
    this.#parts.core.closeStream(this.#stream, end);
    this.#parts.ended(this);
  }
}

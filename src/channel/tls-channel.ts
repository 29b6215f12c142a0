// The channel with mutual TLS: a port whose connections are handed on only when their certificate was verified and is allowed.
// There is no resumption, which would skip that. Certificates, CAs and allowed clients may be replaced under open connections:
// each is judged anew at once, and ended where the answer is no longer yes. It must not know what is spoken on them.
import { constants } from 'node:crypto';
import type { Socket } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { minutes, repeat, seconds, type Clock, type DurationMs, type EpochMs, type Timer } from '../clock.ts';
import { printable } from '../errors.ts';
import type { ListenAddress } from '../settings/gateway-spec.ts';
import { contextOptions, type ChannelMaterial } from './channel-material.ts';
import type { ChannelEvents, EndReason } from './channel-events.ts';
import { HandshakeGate } from './handshake-gate.ts';
import type { AllowedClients } from '../settings/sds-server-settings.ts';
import { judgePeer } from './judge-peer.ts';
import { networkOf } from './network-of.ts';
import { examineSecured, shownBytes } from './examine-secured.ts';
import { refusalOfHandshake } from './refusal-of.ts';
import { peerOf, TcpDoor, type Peer } from './tcp-door.ts';
import { hasEnded, isVerifiedBy, type LetInChain } from './verify-again.ts';

export type TlsChannelParts = {
  readonly material: ChannelMaterial;
  readonly clients: AllowedClients;
  readonly clock: Clock;
  readonly events: ChannelEvents;
  /** speaks on a socket that was let in */
  readonly serve: (socket: Socket) => void;
  /** that are served, of everybody */
  readonly maxConnections: number;
  /** from the first byte of TCP to the last of the handshake; default 5 s */
  readonly handshakeMs?: DurationMs;
};

/** Envoy itself gives a connection one second */
const handshakeMsByDefault = seconds(5);

/**
 * Connections that one name of a certificate may hold whatever others do; beyond it, as many as are then left for others. An Envoy
 * opens one, or one for each 900 names that it holds on streams of their own; the pods of a gateway share a certificate.
 */
const connectionsOfName = 64;

/** how often certificates of open connections are compared with the time: none serves on for longer than that */
const datesEvery = minutes(1);

type Knock = { readonly socket: Socket; readonly network: string; readonly generation: number };
type Knocking = { readonly socket: TLSSocket; readonly peer: string; readonly knock: Knock };
type Allowed = Extract<ReturnType<typeof examineSecured>, { readonly kind: 'allowed' }>;
type Refusal = Parameters<ChannelEvents['refused']>[0];
type OpenPeer = LetInChain & { readonly peer: string; readonly name: string };

export class TlsChannel {
  readonly #parts: TlsChannelParts;
  readonly #tls: Server;
  readonly #door: TcpDoor;
  readonly #gate = new HandshakeGate();
  /** in a handshake, by the text of the peer */
  readonly #knocking = new Map<string, Knock>();
  readonly #open = new Map<TLSSocket, OpenPeer>();
  #material: ChannelMaterial;
  #clients: AllowedClients;
  /** counts replaced sets: a handshake that began with an earlier one is judged by this one */
  #generation = 0;
  readonly #dates: Timer;

  constructor(parts: TlsChannelParts) {
    this.#parts = parts;
    this.#material = parts.material;
    this.#clients = parts.clients;
    this.#tls = createServer(
      {
        ...contextOptions(parts.material),
        ...serverOptions,
        handshakeTimeout: parts.handshakeMs ?? handshakeMsByDefault,
      },
      (socket) => this.#secured(socket),
    );
    this.#tls.on('tlsClientError', (error: unknown, socket: TLSSocket) => this.#failed(error, socket));
    this.#door = new TcpDoor((socket, peer) => this.#knock(socket, peer));
    this.#dates = repeat(parts.clock, datesEvery, () => this.#judgeDates());
  }

  get port(): number {
    return this.#door.port;
  }

  listen(address: ListenAddress): Promise<void> {
    return this.#door.listen(address);
  }

  /** New handshakes see these; open connections stay where their certificate is verified by the CAs of now. */
  useMaterial(material: ChannelMaterial): void {
    const hasNewRoots = digestsOf(material) !== digestsOf(this.#material);
    this.#material = material;
    this.#tls.setSecureContext({ ...contextOptions(material), ...contextTerms });
    if (!hasNewRoots) return;
    this.#generation += 1;
    this.#judgeAgain((open, now) => (isVerifiedBy(material.roots, open, now) ? undefined : 'wrong-ca'));
  }

  useClients(clients: AllowedClients): void {
    this.#clients = clients;
    this.#judgeAgain(({ leaf }) => {
      const verdict = judgePeer(leaf, clients);
      return verdict.kind === 'refused' ? verdict.reason : undefined;
    });
  }

  /** Accepts nothing more and ends what is in a handshake; open connections stay for whoever speaks on them to end. */
  close(): void {
    this.#dates.cancel();
    this.#door.close();
    for (const { socket } of this.#knocking.values()) socket.destroy();
  }

  #knock(socket: Socket, peer: Peer): void {
    // a reset is a close like any other; without a listener it would end the process
    socket.on('error', () => undefined);
    const network = networkOf(peer.address);
    if (!this.#gate.enter(network, this.#parts.clock.monotonic())) {
      this.#turnAway(socket, peer.text);
      return;
    }
    const knock = { socket, network, generation: this.#generation };
    this.#knocking.set(peer.text, knock);
    socket.once('close', () => {
      if (this.#knocking.get(peer.text) !== knock) return;
      this.#parts.events.refused({ peer: peer.text, reason: 'left', detail: '' });
      this.#hasFailed(peer.text, knock, socket.bytesRead);
    });
    this.#tls.emit('connection', socket);
  }

  #turnAway(socket: Socket, peer: string): void {
    this.#parts.events.refused({ peer, reason: 'too-many-handshakes', detail: '' });
    socket.destroy();
  }

  /**
   * Once for each knock that is not let in, and at once: a single handshake may have cost a third of a second, and then those
   * that wait behind it from the same network are not begun.
   */
  #hasFailed(peer: string, knock: Knock, receivedBytes: number): void {
    const now = this.#parts.clock.monotonic();
    this.#knocking.delete(peer);
    this.#gate.failed(knock.network, receivedBytes, now);
    for (const [text, other] of this.#knocking) {
      if (!this.#gate.isOverdrawn(other.network, now)) continue;
      this.#knocking.delete(text);
      this.#gate.failed(other.network, other.socket.bytesRead, now);
      this.#turnAway(other.socket, text);
    }
  }

  /** undefined: its TCP connection is gone, which is told when that has closed, or it was turned away */
  #knockOf(socket: TLSSocket): Knocking | undefined {
    const peer = peerOf(socket)?.text ?? '';
    const knock = this.#knocking.get(peer);
    return knock && { socket, peer, knock };
  }

  #failed(error: unknown, socket: TLSSocket): void {
    socket.on('error', () => undefined);
    const knocking = this.#knockOf(socket);
    const { reason, code } = refusalOfHandshake(error);
    if (knocking === undefined) socket.destroy();
    else this.#refuse(knocking, { reason, detail: code }, knocking.knock.socket.bytesRead);
  }

  #secured(socket: TLSSocket): void {
    socket.on('error', () => undefined);
    const knocking = this.#knockOf(socket);
    if (knocking === undefined) {
      socket.destroy();
      return;
    }
    const now = this.#parts.clock.now();
    const terms = { clients: this.#clients, now };
    const found = examineSecured(
      socket,
      knocking.knock.generation === this.#generation ? terms : { ...terms, roots: this.#material.roots },
    );
    // not what has come by TCP: a peer speaks as soon as its own part is done, and Envoy asks with 60 KiB
    if (found.kind === 'refused') {
      this.#refuse(knocking, found, shownBytes(socket));
    } else if (!this.#hasRoomFor(found.name)) {
      const refusal = { reason: 'too-many-connections', detail: printable(found.name) } as const;
      this.#refuse(knocking, refusal, shownBytes(socket));
    } else {
      this.#letIn(knocking, found);
    }
  }

  #letIn({ socket, peer, knock }: Knocking, { name, by, chain }: Allowed): void {
    this.#knocking.delete(peer);
    this.#gate.letIn(knock.network, this.#parts.clock.monotonic());
    this.#open.set(socket, { ...chain, peer, name, since: this.#parts.clock.now() });
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#gate.gone(knock.network, this.#parts.clock.monotonic());
    });
    this.#parts.events.admitted({ peer, by, name });
    this.#parts.serve(socket);
  }

  #refuse({ socket, peer, knock }: Knocking, { reason, detail }: Omit<Refusal, 'peer'>, receivedBytes: number): void {
    this.#parts.events.refused({ peer, reason, detail });
    this.#hasFailed(peer, knock, receivedBytes);
    socket.destroy();
  }

  #hasRoomFor(name: string): boolean {
    let count = 0;
    for (const open of this.#open.values()) if (open.name === name) count += 1;
    return count < Math.max(connectionsOfName, this.#parts.maxConnections - this.#open.size);
  }

  #judgeAgain(judge: (open: OpenPeer, now: EpochMs) => EndReason | undefined): void {
    const now = this.#parts.clock.now();
    for (const [socket, open] of this.#open) {
      const reason = judge(open, now);
      if (reason === undefined) continue;
      this.#open.delete(socket);
      this.#parts.events.ended({ peer: open.peer, reason, name: open.name });
      socket.destroy();
    }
  }

  #judgeDates(): void {
    this.#judgeAgain((open, now) => (hasEnded(this.#material.roots, open, now) ? 'expired' : undefined));
  }
}

/** a ticket would let a client in again without showing a certificate */
const contextTerms = { minVersion: 'TLSv1.3', secureOptions: constants.SSL_OP_NO_TICKET } as const;

const serverOptions = {
  ...contextTerms,
  requestCert: true,
  // who is refused is told apart by us, and its connection closed; nothing is served before `authorized` was looked at
  rejectUnauthorized: false,
  ALPNProtocols: ['h2'],
};

function digestsOf({ roots }: ChannelMaterial): string {
  return roots.map(({ sha256 }) => sha256).join(' ');
}

// The channel with mutual TLS: a port whose connections are handed on only when their certificate was verified and is allowed.
// There is no resumption, which would skip that. Certificates, CAs and allowed clients may be replaced under open connections:
// each is judged anew at once, and ended where the answer is no longer yes. It must not know what is spoken on them.
import { constants } from 'node:crypto';
import type { Socket } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { minutes, seconds, type Clock, type DurationMs, type EpochMs, type Timer } from '../clock.ts';
import type { ListenAddress } from '../settings/gateway-spec.ts';
import { contextOptions, type ChannelMaterial } from './channel-material.ts';
import type { ChannelEvents, EndReason } from './channel-events.ts';
import { HandshakeGate } from './handshake-gate.ts';
import type { AllowedClients } from '../settings/sds-server-settings.ts';
import { judgePeer } from './judge-peer.ts';
import { networkOf } from './network-of.ts';
import { examineSecured } from './examine-secured.ts';
import { refusalOfHandshake } from './refusal-of.ts';
import { peerOf, TcpDoor, type Peer } from './tcp-door.ts';
import { isVerifiedBy, type PeerChain } from './verify-again.ts';

export type TlsChannelParts = {
  readonly material: ChannelMaterial;
  readonly clients: AllowedClients;
  readonly clock: Clock;
  readonly events: ChannelEvents;
  /** speaks on a socket that was let in */
  readonly serve: (socket: Socket) => void;
  /** from the first byte of TCP to the last of the handshake; default 5 s */
  readonly handshakeMs?: DurationMs;
};

/** Envoy itself gives a connection one second */
const handshakeMsByDefault = seconds(5);

/** connections with one name of a certificate; an Envoy opens one for each 900 names it holds on streams of their own */
const maxConnectionsOfPeer = 64;

/** how often certificates of open connections are compared with the time: none serves on for longer than that */
const datesEvery = minutes(1);

type Knock = { readonly socket: Socket; readonly generation: number };
type OpenPeer = PeerChain & { readonly peer: string; readonly name: string };

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
  #dates: Timer;

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
    this.#dates = this.#datesLater();
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
      this.#parts.events.refused({ peer: peer.text, reason: 'too-many-handshakes', detail: '' });
      socket.destroy();
      return;
    }
    this.#knocking.set(peer.text, { socket, generation: this.#generation });
    socket.once('close', () => this.#settled(peer, false));
    this.#tls.emit('connection', socket);
  }

  /** once for each knock: when it is let in, or when its socket closes */
  #settled(peer: Peer, hasSucceeded: boolean): void {
    if (!this.#knocking.delete(peer.text)) return;
    this.#gate.leave(networkOf(peer.address), hasSucceeded);
  }

  #failed(error: unknown, socket: TLSSocket): void {
    const { reason, code } = refusalOfHandshake(error);
    this.#parts.events.refused({ peer: peerOf(socket)?.text ?? '', reason, detail: code });
    socket.on('error', () => undefined).destroy();
  }

  #secured(socket: TLSSocket): void {
    socket.on('error', () => undefined);
    const peer = peerOf(socket);
    const knock = this.#knocking.get(peer?.text ?? '');
    if (peer === undefined || knock === undefined) {
      socket.destroy();
      return;
    }
    const now = this.#parts.clock.now();
    const terms = { clients: this.#clients, now };
    const found = examineSecured(
      socket,
      knock.generation === this.#generation ? terms : { ...terms, roots: this.#material.roots },
    );
    if (found.kind === 'refused') {
      this.#refuse(socket, peer, found);
    } else if (this.#connectionsOf(found.name) >= maxConnectionsOfPeer) {
      this.#refuse(socket, peer, { reason: 'too-many-connections', detail: found.name });
    } else {
      this.#settled(peer, true);
      this.#open.set(socket, { ...found.chain, peer: peer.text, name: found.name });
      socket.once('close', () => this.#open.delete(socket));
      this.#parts.events.admitted({ peer: peer.text, by: found.by, name: found.name });
      this.#parts.serve(socket);
    }
  }

  #refuse(
    socket: TLSSocket,
    { text }: Peer,
    refusal: Pick<Parameters<ChannelEvents['refused']>[0], 'reason' | 'detail'>,
  ): void {
    this.#parts.events.refused({ peer: text, reason: refusal.reason, detail: refusal.detail });
    socket.destroy();
  }

  #connectionsOf(name: string): number {
    let count = 0;
    for (const open of this.#open.values()) if (open.name === name) count += 1;
    return count;
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

  #datesLater(): Timer {
    return this.#parts.clock.after(datesEvery, () => {
      this.#judgeAgain((open, now) => (hasEnded(open, this.#material.roots, now) ? 'expired' : undefined));
      this.#dates = this.#datesLater();
    });
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

/** A CA that has ended harms nobody who is verified without it: OpenSSL let him in past it, and would again. */
function hasEnded({ leaf, sent }: PeerChain, roots: ChannelMaterial['roots'], now: EpochMs): boolean {
  if (leaf.notAfter < now) return true;
  return sent.some(({ notAfter }) => notAfter < now) && !isVerifiedBy(roots, { leaf, sent }, now);
}

function digestsOf({ roots }: ChannelMaterial): string {
  return roots.map(({ sha256 }) => sha256).join(' ');
}

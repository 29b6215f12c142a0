// The server under test on a real unix socket, with a scripted minter, a clock that the test moves and a list of what
// it told; peers of any kind connect to its path. `stopAll` belongs into an afterEach.
import type { LeafgateError } from '../../src/errors.ts';
import { silentSdsEvents } from '../../src/sds/sds-events.ts';
import { createSdsServer } from '../../src/sds/sds-server.ts';
import type { SdsServer } from '../../src/sds/sds-server.ts';
import { defaultSdsSettings } from '../../src/sds/sds-settings.ts';
import type { SdsSettings } from '../../src/sds/sds-settings.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import type { FakeClock } from '../support/fake-clock.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { connectGrpc } from './grpc-peer.ts';
import type { GrpcPeer } from './grpc-peer.ts';
import { ScriptedMinter } from './scripted-minter.ts';

export type SocketServer = {
  readonly path: string;
  readonly clock: FakeClock;
  readonly minter: ScriptedMinter;
  /** ends of streams, codes of bad requests, connections */
  readonly told: readonly string[];
  readonly server: SdsServer;
  readonly connect: () => GrpcPeer;
};

export type SocketServers = {
  readonly start: (settings?: Partial<SdsSettings>) => Promise<SocketServer>;
  readonly stopAll: () => Promise<void>;
};

export function createSocketServers(): SocketServers {
  const folder = createTempFolder();
  const servers: SdsServer[] = [];
  const peers: GrpcPeer[] = [];
  let count = 0;
  return {
    async start(settings = {}) {
      count += 1;
      const path = folder.file(`${count}.sock`);
      const clock = createFakeClock();
      const minter = new ScriptedMinter(clock);
      const told: string[] = [];
      const server = createSdsServer({
        minter,
        clock,
        settings: { ...defaultSdsSettings, ...settings },
        events: {
          ...silentSdsEvents,
          streamClosed: (kind, end) => told.push(`${kind} ${end}`),
          badRequest: (error: LeafgateError) => told.push(error.code),
          connectionOpened: () => told.push('connected'),
          connectionClosed: () => told.push('disconnected'),
          connectionRefused: () => told.push('turned away'),
        },
      });
      await server.listenOnSocket(path);
      servers.push(server);
      const connect = (): GrpcPeer => {
        const peer = connectGrpc(path);
        peers.push(peer);
        return peer;
      };
      return { path, clock, minter, told, server, connect };
    },
    async stopAll() {
      for (const peer of peers.splice(0)) peer.close();
      await Promise.all(servers.splice(0).map((server) => server.close(0)));
    },
  };
}

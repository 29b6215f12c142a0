// Connections that somebody else has accepted, as TLS will be: they are served, counted and closed like the server's own.
import { once } from 'node:events';
import { createConnection, createServer, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { millis, systemClock } from '../../../src/clock.ts';
import { GrpcEdge } from '../../../src/sds/grpc-edge.ts';
import { SdsCore } from '../../../src/sds/sds-core.ts';
import { silentSdsEvents } from '../../../src/sds/sds-events.ts';
import { defaultSdsSettings, maxConnections } from '../../../src/sds/sds-settings.ts';
import { connectGrpc, type GrpcPeer } from '../../harness/grpc-peer.ts';
import { ScriptedMinter } from '../../harness/scripted-minter.ts';
import { createTempFolder } from '../../support/temp-folder.ts';
import { waitFor, withDeadline } from '../../support/wait-for.ts';

const temp = createTempFolder();
const peers: GrpcPeer[] = [];
const sockets: Socket[] = [];
afterEach(() => {
  for (const peer of peers.splice(0)) peer.close();
  for (const socket of sockets.splice(0)) socket.destroy();
});

it('are served, and a stop waits until they have ended', async () => {
  let open = 0;
  let refused = 0;
  const events = {
    ...silentSdsEvents,
    connectionOpened: () => (open += 1),
    connectionClosed: () => (open -= 1),
    connectionRefused: () => (refused += 1),
  };
  const clock = systemClock;
  const parts = { clock, events, settings: defaultSdsSettings, minter: new ScriptedMinter(clock) };
  const edge = new GrpcEdge({ ...parts, core: new SdsCore(parts) });
  await edge.listen(temp.file('own.sock'));
  const acceptor = createServer((socket) => edge.serve(socket)).listen(temp.file('other.sock'));
  await once(acceptor, 'listening');
  const peer = connectGrpc(temp.file('other.sock'));
  peers.push(peer);
  const stream = peer.open();
  stream.send({ subscribe: ['a.test'] });
  expect((await stream.next()).resources[0]?.name).toBe('a.test');
  for (let more = open; more <= maxConnections; more += 1) {
    sockets.push(createConnection(temp.file('other.sock')).on('error', () => undefined));
  }
  await waitFor('the one too many', () => refused > 0);
  expect(open).toBe(maxConnections);
  acceptor.close();
  await withDeadline('the close', edge.close(millis(500)));
  expect(open).toBe(0);
});

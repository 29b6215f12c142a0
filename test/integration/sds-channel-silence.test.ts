// A peer that is gone without a word, on a real connection in real time: the relay between goes dark, as a network does that
// drops everything.
import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { connectGrpcTls } from '../harness/grpc-peer.ts';
import { clientOf, serverName } from '../support/channel-workshop.ts';
import { makeCurrentCa } from '../support/credential-workshop.ts';
import { listedClients, serverMaterial } from '../support/remote-sds.ts';
import { createTestPool, startSdsUnderTest } from '../support/sds-under-test.ts';
import { waitFor } from '../support/wait-for.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

type Relay = { readonly port: number; readonly goDark: () => void };

async function startRelay(target: number): Promise<Relay> {
  const sockets: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true });
    for (const socket of [near, far]) sockets.push(socket.on('error', () => undefined));
    near.pipe(far);
    far.pipe(near);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    goDark: () => {
      // nothing is passed on any more, and no end is told to either side
      for (const socket of sockets) socket.unpipe().pause();
    },
  };
}

test('it holds its place for 40 seconds, and no longer', async () => {
  const ca = makeCurrentCa('channel');
  const channel = { port: 0, material: serverMaterial(ca), clients: listedClients };
  const sds = await startSdsUnderTest({ socket: '', pool: createTestPool(), channel });
  closers.push(() => sds.stop());
  const relay = await startRelay(sds.channel?.port ?? 0);
  const { credential, ca: roots } = clientOf(ca);
  if (credential === undefined) throw new Error('no credential');
  const peer = connectGrpcTls({ port: relay.port, serverName, ca: roots, ...credential });
  closers.push(() => peer.close());
  const stream = peer.open();
  stream.send({ subscribe: ['a.test'] });
  await stream.next();
  const began = performance.now();
  relay.goDark();
  expect(sds.server.status()).toMatchObject({ streams: 1, liveNames: 1 });
  await waitFor('the end', () => sds.server.status().streams === 0, 50_000);
  const tookMs = performance.now() - began;
  // a ping every 30 s, and 10 s for its answer
  expect(tookMs).toBeGreaterThan(9000);
  expect(tookMs).toBeLessThan(45_000);
  expect(sds.server.status()).toEqual({ streams: 0, liveNames: 0, waiting: 0 });
}, 60_000);

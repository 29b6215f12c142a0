// A peer that was let in and then says nothing, or is not there any more, holds its place for 40 seconds and no longer.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { examineChannelMaterial } from '../../../src/channel/channel-material.ts';
import { TlsChannel } from '../../../src/channel/tls-channel.ts';
import { seconds, systemClock } from '../../../src/clock.ts';
import { createSdsServer, type SdsServer } from '../../../src/sds/sds-server.ts';
import { silentSdsEvents } from '../../../src/sds/sds-events.ts';
import { defaultSdsSettings } from '../../../src/sds/sds-settings.ts';
import { parseListenAddress } from '../../../src/settings/parse-listen.ts';
import { connectGrpcTls, type GrpcPeer } from '../../harness/grpc-peer.ts';
import { ScriptedMinter } from '../../harness/scripted-minter.ts';
import { channelFilesOf, clientOf, openClient, serverName } from '../../support/channel-workshop.ts';
import { makeCurrentCa } from '../../support/credential-workshop.ts';
import { createFakeClock, type FakeClock } from '../../support/fake-clock.ts';
import { waitFor } from '../../support/wait-for.ts';

let clock: FakeClock;
let server: SdsServer;
let channel: TlsChannel;
let open = 0;
const ca = makeCurrentCa('channel');
const client = clientOf(ca);

beforeEach(async () => {
  clock = createFakeClock(Date.now());
  open = 0;
  const files = channelFilesOf(ca);
  const named = (name: keyof typeof files) => ({ text: Buffer.from(files[name]), source: name });
  const texts = { certificate: named('tls.crt'), key: named('tls.key'), roots: named('ca.crt') };
  server = createSdsServer({
    ...{ clock, minter: new ScriptedMinter(clock), settings: defaultSdsSettings },
    events: { ...silentSdsEvents, connectionOpened: () => (open += 1), connectionClosed: () => (open -= 1) },
  });
  channel = new TlsChannel({
    material: examineChannelMaterial(texts, { serverName, now: systemClock.now() }),
    ...{ clock, clients: { kind: 'any' } },
    events: { admitted: () => undefined, refused: () => undefined, ended: () => undefined },
    serve: (socket) => server.serve(socket),
    maxConnections: 100,
  });
  await channel.listen(parseListenAddress('127.0.0.1:0'));
});
afterEach(async () => {
  channel.close();
  await server.close(0);
});

test('one that never speaks HTTP/2 is closed after 40 seconds', async () => {
  const socket = openClient(channel.port, client);
  await waitFor('the connection', () => open === 1);
  clock.advance(seconds(30));
  clock.advance(seconds(9));
  expect(open).toBe(1);
  clock.advance(seconds(1));
  await waitFor('the close', () => open === 0);
  socket.destroy();
});

test('one that answers pings stays for as long as it does', async () => {
  const { credential } = client;
  if (credential === undefined) throw new Error('no credential');
  const peer: GrpcPeer = connectGrpcTls({ port: channel.port, serverName, ca: client.ca, ...credential });
  const stream = peer.open();
  const isServed = async (name: string): Promise<boolean> => {
    let answered: string | undefined;
    stream.send({ subscribe: [name] });
    void stream.next().then(({ resources }) => (answered = resources[0]?.name));
    // the server's turns are on its clock
    await waitFor('an answer', () => {
      clock.advance(1);
      return answered;
    });
    return answered === name;
  };
  for (let round = 0; round < 5; round += 1) {
    // the pong of this ping comes before the answer; without it, the next round would find the connection cut
    expect(await isServed(`n${round}.test`)).toBe(true);
    clock.advance(seconds(30));
  }
  expect(open).toBe(1);
  peer.close();
});

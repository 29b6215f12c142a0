// Strangers that are slow on purpose, from many addresses, at the port of `leafgate sds` as people run it: who gets in beside them.
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { channelFilesOf, clientName, clientOf, openClient, writeChannelFiles } from '../support/channel-workshop.ts';
import type { ClientSide } from '../support/channel-workshop.ts';
import { makeCurrentCa } from '../support/credential-workshop.ts';
import { startSdsCommand, writePool, type SdsCommandUnderTest } from '../support/sds-command-under-test.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { waitFor, withDeadline } from '../support/wait-for.ts';

const [knownAddress, freshAddress] = ['127.0.0.2', '127.0.0.3'];
const admitted = 'leafgate_sds_peers_admitted_total{by="dns"}';
const refused = (reason: string): string => `leafgate_sds_peers_refused_total{reason="${reason}"}`;

const ca = makeCurrentCa('channel');
const client: ClientSide = clientOf(ca);
const sockets: Socket[] = [];
let temp: TempFolder;
let sds: SdsCommandUnderTest;

beforeEach(async () => {
  temp = createTempFolder();
  writeChannelFiles(temp.file('tls'), channelFilesOf(ca));
  const { file: poolFile } = writePool(temp.file('pool.json'));
  sds = await startSdsCommand({
    folder: temp,
    poolFile,
    tcp: ['--tls-dir', temp.file('tls'), '--allowed-san', clientName],
  });
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await sds.stop();
  temp.remove();
});

function connectFrom(localAddress: string): Socket {
  const socket = connect({ port: sds.port, host: '127.0.0.1', localAddress }).on('error', () => undefined);
  sockets.push(socket);
  return socket;
}

/** each begins a ClientHello, and never ends it */
async function beSlow(addresses: number, each: number): Promise<void> {
  for (let index = 0; index < addresses * each; index += 1) {
    connectFrom(`127.0.1.${1 + (index % addresses)}`).write(Buffer.from('1603010200', 'hex'));
  }
  await waitFor('all to be taken or turned away', async () => {
    return (await sds.metric(refused('too-many-handshakes'))) > 0 && (await taken()) === addresses * each;
  });
}

/** connections that are in a handshake, or were turned away */
async function taken(): Promise<number> {
  const open = sockets.filter((socket) => socket.readyState === 'open' && !socket.destroyed).length;
  return open + (await sds.metric(refused('too-many-handshakes')));
}

/** true: it is served; false: it was closed before that */
function isLetIn(address: string): Promise<boolean> {
  const socket = openClient(sds.port, client, { socket: connectFrom(address) });
  sockets.push(socket);
  const outcome = new Promise<boolean>((resolve) => {
    // the server's first frame: SETTINGS of HTTP/2
    socket.once('data', () => resolve(true)).once('close', () => resolve(false));
  });
  return withDeadline(`an answer to ${address}`, outcome);
}

test('four addresses with 16 slow handshakes each keep nobody out', async () => {
  await beSlow(4, 16);
  expect(await isLetIn(freshAddress)).toBe(true);
});

test('sixty addresses keep out whoever is new, for as long as they go on, and nobody who was let in before', async () => {
  expect(await isLetIn(knownAddress)).toBe(true);
  for (const socket of sockets.splice(0)) socket.destroy();
  await beSlow(60, 2);
  expect(await isLetIn(freshAddress)).toBe(false);
  expect(await isLetIn(knownAddress)).toBe(true);
  expect(await isLetIn(freshAddress)).toBe(false);
  expect(await sds.metric(refused('handshake-timeout'))).toBe(0);
  expect(await sds.metric(admitted)).toBe(2);
  for (const socket of sockets.splice(0)) socket.destroy();
  await waitFor('the new one to get in', () => isLetIn(freshAddress));
});

// The SDS server over TCP as Envoy meets it: whose name and CA it verifies, what a rotation at either end costs, and two servers
// of which one is killed while clients come.
import { mkdirSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { atOnce } from '../support/at-once.ts';
import { clientFilesOf, createRemoteSds, listedClients, materialOf, serverMaterial } from '../support/remote-sds.ts';

import { makeCurrentCa } from '../support/credential-workshop.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { clientOf } from '../support/envoy-matrix.ts';
import { startEnvoyUnderTest, type EnvoyUnderTest } from '../support/envoy-under-test.ts';
import { freePort } from '../support/free-port.ts';
import { createTestPool, startSdsUnderTest, type SdsOptions, type SdsUnderTest } from '../support/sds-under-test.ts';
import { startSdsCommand, writePool, type SdsCommandUnderTest } from '../support/sds-command-under-test.ts';
import {
  channelFilesOf,
  clientName,
  replaceChannelFiles,
  serialIn,
  serverName,
  writeChannelFiles,
} from '../support/channel-workshop.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { tlsHandshake } from '../support/tls-client.ts';
import { waitFor } from '../support/wait-for.ts';

describeWithTools('Envoy and an SDS server on another machine', ['envoy-1.40.0'], ({ 'envoy-1.40.0': binary }) => {
  const folders: TempFolder[] = [];
  const running: { stop(): Promise<unknown> }[] = [];
  const ca = makeCurrentCa('channel');
  const otherCa = makeCurrentCa('other');

  afterEach(async () => {
    for (const one of running.splice(0).reverse()) await one.stop();
    for (const folder of folders.splice(0)) folder.remove();
  });

  const newFolder = (): TempFolder => {
    const folder = createTempFolder();
    folders.push(folder);
    return folder;
  };
  const startSds = async (
    channel: NonNullable<SdsOptions['channel']>,
    pool = createTestPool(),
  ): Promise<SdsUnderTest> => {
    const sds = await startSdsUnderTest({ socket: '', pool, channel });
    running.push(sds);
    return sds;
  };
  const startEnvoy = async (cluster: object): Promise<EnvoyUnderTest> => {
    const options = { binary, folder: newFolder(), sdsSocket: '', sdsCluster: cluster, transport: 'ads' } as const;
    const envoy = await startEnvoyUnderTest(options);
    running.push(envoy);
    return envoy;
  };

  test.each([
    ['for another name', () => materialOf(channelFilesOf(ca, { dnsNames: ['other.test'] })), 'fail_verify_san'],
    ['of another CA', () => materialOf(channelFilesOf(otherCa, {}, [ca])), 'fail_verify_error'],
  ])('Envoy asks nothing of a server with a certificate %s', async (_, material, counter) => {
    const port = await freePort();
    const sds = await startSds({ port, material: material(), clients: listedClients });
    const envoy = await startEnvoy(createRemoteSds({ folder: newFolder().path, ports: [port], ca }).cluster);
    expect(await tlsHandshake({ port: envoy.port, name: 'a.test' })).toMatchObject({ kind: 'failed' });
    await waitFor('the refusal', async () => (await envoy.stat(`cluster.sds.ssl.${counter}`)) > 0);
    expect(sds.minted()).toBe(0);
  });

  test('a server lets in nobody that it does not list, and mints nothing for them', async () => {
    const port = await freePort();
    const clients = { kind: 'listed', names: new Set(['somebody-else.test']) } as const;
    const sds = await startSds({ port, material: serverMaterial(ca), clients });
    const envoy = await startEnvoy(createRemoteSds({ folder: newFolder().path, ports: [port], ca }).cluster);
    expect(await tlsHandshake({ port: envoy.port, name: 'a.test' })).toMatchObject({ kind: 'failed' });
    expect([sds.minted(), sds.server.status().streams]).toEqual([0, 0]);
    sds.channel?.useClients(listedClients);
    await waitFor('a leaf', async () => (await tlsHandshake({ port: envoy.port, name: 'a.test' })).kind === 'done');
  });

  test('both ends go to another CA without a restart: nobody is refused meanwhile, and no leaf is minted anew', async () => {
    const port = await freePort();
    const pool = createTestPool();
    const sds = await startSds({ port, material: serverMaterial(ca), clients: listedClients }, pool);
    const { cluster, clientDir } = createRemoteSds({ folder: newFolder().path, ports: [port], ca });
    const envoy = await startEnvoy(cluster);
    const client = clientOf(envoy, pool);
    const { serialHex } = await client.visit('held.test');
    // the new CA is added at both ends, then the certificates are replaced, then the old CA is taken out
    sds.channel?.useMaterial(materialOf(channelFilesOf(ca, {}, [ca, otherCa])));
    replaceChannelFiles(clientDir, clientFilesOf(ca, [ca, otherCa]));
    replaceChannelFiles(clientDir, clientFilesOf(otherCa, [ca, otherCa]));
    const expected = serialIn(clientDir);
    await waitFor('Envoy to have it', async () => (await envoy.admin.get('/certs')).body.includes(expected));
    sds.channel?.useMaterial(materialOf(channelFilesOf(otherCa, {}, [ca, otherCa])));
    await client.visit('during.test');
    sds.channel?.useMaterial(materialOf(channelFilesOf(otherCa, {}, [otherCa])));
    await waitFor('Envoy to be back', () => sds.server.status().liveNames === 2);
    expect((await client.visit('held.test')).serialHex).toBe(serialHex);
    await client.visit('after.test');
    expect(sds.minted()).toBe(3);
  });

  test('of two servers one is killed under load: every client is served, and the names that are held stay', async () => {
    const [folder, client] = [newFolder(), newFolder()];
    const { file: poolFile, ca: leafCa } = writePool(folder.file('pool.json'));
    writeChannelFiles(folder.file('tls'), channelFilesOf(ca));
    const options = ['--tls-dir', folder.file('tls'), '--server-name', serverName, '--allowed-san', clientName];
    const start = async (): Promise<SdsCommandUnderTest> => {
      const own = newFolder();
      mkdirSync(own.path, { recursive: true });
      const sds = await startSdsCommand({ folder: own, poolFile, tcp: options });
      running.push(sds);
      return sds;
    };
    const servers = [await start(), await start()];
    const ports = servers.map(({ port }) => port);
    const { cluster } = createRemoteSds({ folder: client.path, ports, ca });
    const { port } = await startEnvoy(cluster);
    const visit = async (name: string): Promise<string> => {
      const seen = await tlsHandshake({ port, name, ca: leafCa, timeoutMs: 10_000 });
      return seen.kind === 'done' && seen.authorized ? seen.serialHex : `failed: ${JSON.stringify(seen)}`;
    };
    const count = 400;
    const held = await atOnce(50, 5, (index) => visit(`held-${index}.test`));
    let asked = 0;
    const load = atOnce(count, 4, async (index) => {
      asked += 1;
      return visit(`load-${index}.test`);
    });
    await waitFor('some of the load', () => asked > count / 4);
    const streams = await Promise.all(servers.map((one) => one.metric('leafgate_sds_streams{kind="ads"}')));
    const used = streams.indexOf(1);
    await servers[used]?.kill();
    expect((await load).filter((serial) => serial.startsWith('failed'))).toEqual([]);
    expect(await atOnce(50, 5, (index) => visit(`held-${index}.test`))).toEqual(held);
    const minted = await servers[1 - used]?.metric('leafgate_leaves_minted_total');
    expect(minted).toBeLessThan(count);
  });
});

// `leafgate sds` as people run it, a process of its own in front of a real Envoy: killed, restarted, stopped, with a pool file
// that changes under it.
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { startEnvoyUnderTest } from '../support/envoy-under-test.ts';
import type { EnvoyUnderTest } from '../support/envoy-under-test.ts';
import { startSdsCommand, writePool } from '../support/sds-command-under-test.ts';
import type { SdsCommandUnderTest } from '../support/sds-command-under-test.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import type { TempFolder } from '../support/temp-folder.ts';
import { succeedingHandshake, tlsHandshake } from '../support/tls-client.ts';
import { waitFor } from '../support/wait-for.ts';

describeWithTools('leafgate sds', ['envoy-1.40.0'], ({ 'envoy-1.40.0': binary }) => {
  const folders: TempFolder[] = [];
  const running: { stop(): Promise<unknown> }[] = [];

  afterEach(async () => {
    for (const one of running.splice(0).reverse()) await one.stop();
    for (const folder of folders.splice(0)) folder.remove();
  });

  const newFolder = (): TempFolder => {
    const folder = createTempFolder();
    folders.push(folder);
    return folder;
  };
  const startSds = async (folder: TempFolder, poolFile: string): Promise<SdsCommandUnderTest> => {
    const sds = await startSdsCommand({ folder, poolFile });
    running.push(sds);
    return sds;
  };
  const startEnvoy = async (sds: SdsCommandUnderTest): Promise<EnvoyUnderTest> => {
    const envoy = await startEnvoyUnderTest({ binary, folder: newFolder(), sdsSocket: sds.socket, transport: 'ads' });
    running.push(envoy);
    return envoy;
  };

  test('killed and started again, it mints nothing anew and serves new names at once', async () => {
    const folder = newFolder();
    const { file: poolFile, ca } = writePool(folder.file('pool.json'));
    const first = await startSds(folder, poolFile);
    const { port } = await startEnvoy(first);
    const held = await succeedingHandshake({ port, name: 'held.test', ca });
    await first.kill();
    // the dead server's socket file is still there
    const second = await startSds(folder, poolFile);
    await waitFor('a new name', async () => (await tlsHandshake({ port, name: 'new.test', ca })).kind === 'done');
    expect(await succeedingHandshake({ port, name: 'held.test', ca })).toMatchObject({ serialHex: held.serialHex });
    expect(await second.metric('leafgate_leaves_minted_total')).toBe(1);
  });

  test('takes a pool that is swapped in by a symbolic link within a second, and keeps it over a broken one', async () => {
    const folder = newFolder();
    for (const name of ['..one', '..two', '..bad']) mkdirSync(folder.file(name));
    const one = writePool(folder.file('..one/pool'));
    const two = writePool(folder.file('..two/pool'));
    writeFileSync(folder.file('..bad/pool'), '{"CAs": [');
    const show = (target: string): void => {
      symlinkSync(target, folder.file('..new'));
      renameSync(folder.file('..new'), folder.file('..data'));
    };
    show('..one');
    symlinkSync('..data/pool', folder.file('pool'));
    const sds = await startSds(folder, folder.file('pool'));
    const { port } = await startEnvoy(sds);
    const isSignedBy = async (ca: string): Promise<boolean> => {
      const seen = await tlsHandshake({ port, name: 'swapped.test', ca });
      return seen.kind === 'done' && seen.authorized;
    };
    expect(await isSignedBy(one.ca)).toBe(true);
    show('..two');
    const swapped = performance.now();
    await waitFor('a leaf of the second CA', () => isSignedBy(two.ca), 5000);
    // one second for the file, and what a busy machine adds
    expect(performance.now() - swapped).toBeLessThan(2500);
    show('..bad');
    await sds.process.waitForOutput(/pool refused/);
    expect(await isSignedBy(two.ca)).toBe(true);
    expect(await sds.metric('leafgate_pool_reloads_total{taken="no"}')).toBe(1);
  });

  test('follows a policy file: takes back what no rule may intercept, and mints what one may', async () => {
    const folder = newFolder();
    const { file: poolFile, ca } = writePool(folder.file('pool.json'));
    const policyFile = folder.file('policy.yaml');
    const write = (host: string): void => {
      writeFileSync(
        policyFile,
        `default: deny\nrules: [{name: a, hosts: [${host}], ports: [443], verdict: intercept}]`,
      );
    };
    write('one.test');
    const sds = await startSdsCommand({ folder, poolFile, choice: ['--policy', policyFile] });
    running.push(sds);
    const { port } = await startEnvoy(sds);
    const kindFor = async (name: string): Promise<string> => (await tlsHandshake({ port, name, ca })).kind;
    expect([await kindFor('one.test'), await kindFor('two.test')]).toEqual(['done', 'failed']);
    write('two.test');
    await waitFor('the refusal', async () => (await kindFor('one.test')) === 'failed');
    await waitFor('the leaf', async () => (await kindFor('two.test')) === 'done');
    // what a client without a name gets
    expect(await kindFor('no-sni.leafgate.invalid')).toBe('done');
    writeFileSync(policyFile, 'default: intercept\nrules: {}');
    await sds.process.waitForOutput(/policy refused/);
    expect(await kindFor('one.test')).toBe('failed');
    expect(await sds.metric('leafgate_policy_is_current')).toBe(0);
  });

  test('ends with exit code 0 and removes its socket when it is told to, streams open or not', async () => {
    const folder = newFolder();
    const { file: poolFile, ca } = writePool(folder.file('pool.json'));
    const sds = await startSds(folder, poolFile);
    const envoy = await startEnvoy(sds);
    await succeedingHandshake({ port: envoy.port, name: 'open.test', ca });
    expect(await sds.stop()).toEqual({ status: 0, signal: null });
    expect(await succeedingHandshake({ port: envoy.port, name: 'open.test', ca })).toMatchObject({ kind: 'done' });
  });
});

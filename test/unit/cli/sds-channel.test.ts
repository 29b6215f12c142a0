// `leafgate sds --listen tcp:…` from its start on: each row of the table, what is said, and files that change under it.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { askHealth } from '../../../src/cli/ask-health.ts';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { minutes, systemClock, type Clock } from '../../../src/clock.ts';
import { connectGrpc, connectGrpcTls, type GrpcPeer } from '../../harness/grpc-peer.ts';
import type { MadeCa } from '../../support/ca-workshop.ts';
import {
  channelFilesOf,
  clientName,
  clientOf,
  serialIn,
  serverName,
  swapChannelFiles,
  writeChannelFiles,
  type ChannelFiles,
} from '../../support/channel-workshop.ts';
import { hoursAgo, makeCurrentCa } from '../../support/credential-workshop.ts';
import { createFakeIo, type FakeIo } from '../../support/fake-io.ts';
import { writePool } from '../../support/sds-command-under-test.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';
import { waitFor } from '../../support/wait-for.ts';

let ca: MadeCa;
let otherCa: MadeCa;
let temp: TempFolder;
let dir: string;
const running: { readonly terminal: FakeIo; readonly ended: Promise<number> }[] = [];
const peers: GrpcPeer[] = [];

beforeAll(() => {
  ca = makeCurrentCa('channel');
  otherCa = makeCurrentCa('other');
});
beforeEach(() => {
  temp = createTempFolder();
  dir = temp.file('tls');
});
afterEach(async () => {
  for (const peer of peers.splice(0)) peer.close();
  for (const { terminal, ended } of running.splice(0)) {
    terminal.signal('SIGTERM');
    await ended;
  }
  temp.remove();
});

type Started = { readonly terminal: FakeIo; readonly port: number };

function run(args: readonly string[], env: Readonly<Record<string, string>>, clock: Clock): FakeIo {
  const terminal = createFakeIo(env, clock);
  const pool = ['--pool', writePool(temp.file('pool.json')).file, '--allow-any', '--tls-dir', dir];
  const ended = runCommandLine(['sds', ...pool, ...args], terminal.io);
  running.push({ terminal, ended });
  return terminal;
}

const tcp = ['--listen', 'tcp:127.0.0.1:0'];
const named = [...tcp, '--server-name', serverName, '--allowed-san', clientName];

async function start(args: readonly string[] = named, env = {}, clock: Clock = systemClock): Promise<Started> {
  const terminal = run(args, env, clock);
  await waitFor(
    'the server',
    () => /SDS server is ready/.test(terminal.stderr()) || terminal.stderr().includes('leafgate:'),
  );
  const [, port] = /tcp:127\.0\.0\.1:(\d+)/.exec(terminal.stderr().replace(/[^]*SDS server is ready/, '')) ?? [];
  if (port === undefined) throw new Error(terminal.stderr());
  return { terminal, port: Number(port) };
}

/** what is said to somebody whose start is refused */
async function refusal(args: readonly string[] = named, env = {}, exitCode = 2): Promise<string> {
  const terminal = run(args, env, systemClock);
  const status = await running.pop()?.ended;
  expect(status).toBe(exitCode);
  return terminal.stderr();
}

function connect(port: number, issuer = ca): GrpcPeer {
  const { credential } = clientOf(issuer);
  if (credential === undefined) throw new Error('no credential');
  const peer = connectGrpcTls({ port, serverName, ca: clientOf(ca).ca, ...credential });
  peers.push(peer);
  return peer;
}

function lastTaken(terminal: FakeIo): string | undefined {
  return [...terminal.stderr().matchAll(/certificates of the SDS port taken.*serial=([0-9a-f]+)/g)].at(-1)?.[1];
}

async function nameServedBy(peer: GrpcPeer, name: string): Promise<string | undefined> {
  const stream = peer.open();
  stream.send({ subscribe: [name] });
  return (await stream.next()).resources[0]?.name;
}

describe('with all three files', () => {
  test('mutual TLS is spoken, and a client that is listed gets leaves', async () => {
    writeChannelFiles(dir, channelFilesOf(ca));
    const { port, terminal } = await start();
    expect(await nameServedBy(connect(port), 'a.test')).toBe('a.test');
    expect(terminal.stderr()).toMatch(/an SDS peer was let in/);
    expect(terminal.stderr()).not.toMatch(/plaintext|no name was compared/);
  });

  test('it is spoken also where plaintext was asked for, which is said', async () => {
    writeChannelFiles(dir, channelFilesOf(ca));
    const { port, terminal } = await start(named, { LEAFGATE_SDS_INSECURE: 'true' });
    expect(terminal.stderr()).toMatch(/plaintext was asked for and is not spoken/);
    expect(await nameServedBy(connect(port), 'a.test')).toBe('a.test');
  });

  test('without --server-name the name is not compared, which is said with the names that it has', async () => {
    writeChannelFiles(dir, channelFilesOf(ca, { dnsNames: ['other.test'] }));
    const { terminal } = await start([...tcp, '--allowed-san', clientName]);
    expect(terminal.stderr()).toMatch(/no name was compared .*other\.test/);
  });

  test('settings come from the environment too', async () => {
    writeChannelFiles(dir, channelFilesOf(ca));
    const env = { LEAFGATE_ALLOWED_SAN: `first.test, ${clientName}`, LEAFGATE_SERVER_NAME: serverName };
    const { port } = await start(tcp, env);
    expect(await nameServedBy(connect(port), 'a.test')).toBe('a.test');
  });

  test.each<[string, () => ChannelFiles, RegExp]>([
    [
      'a key of another certificate',
      () => ({ ...channelFilesOf(ca), 'tls.key': channelFilesOf(ca)['tls.key'] }),
      /tls\.key is not the key of the first certificate/,
    ],
    [
      'an expired certificate',
      () => channelFilesOf(ca, { notBefore: hoursAgo(5), notAfter: hoursAgo(1) }),
      /expired at/,
    ],
    [
      'a certificate for another name',
      () => channelFilesOf(ca, { dnsNames: ['other.test'] }),
      /for other\.test, and not for sds\.channel\.test/,
    ],
  ])('the start is refused for %s', async (_, files, words) => {
    writeChannelFiles(dir, files());
    expect(await refusal()).toMatch(words);
  });

  test('the start is refused where nobody may connect, together with all else that is wrong', async () => {
    writeChannelFiles(dir, channelFilesOf(ca, { dnsNames: ['other.test'] }));
    const said = await refusal([...tcp, '--server-name', serverName]);
    expect(said).toMatch(/nobody may connect to tcp:127\.0\.0\.1:0: no client is named/);
    expect(said).toMatch(/for other\.test/);
  });
});

describe('without files', () => {
  test('the start is refused, naming folder, files and the one way to plaintext', async () => {
    const said = await refusal();
    for (const words of [dir, 'tls.crt, tls.key, ca.crt', 'LEAFGATE_SDS_INSECURE=true']) expect(said).toContain(words);
  });

  test('another value than true chooses nothing', async () => {
    expect(await refusal(named, { LEAFGATE_SDS_INSECURE: '1' })).toContain('is "1", not "true"');
  });

  test('some of them are no choice: what is missing is listed', async () => {
    writeChannelFiles(dir, { 'tls.crt': channelFilesOf(ca)['tls.crt'] });
    expect(await refusal(named, { LEAFGATE_SDS_INSECURE: 'true' })).toContain('lacks tls.key, ca.crt');
  });

  test('plaintext that was chosen is spoken, with a loud warning at the start and every ten minutes', async () => {
    const ticks: (() => void)[] = [];
    const clock: Clock = {
      ...systemClock,
      after: (delay, again) => {
        if (delay === minutes(10)) ticks.push(again);
        return systemClock.after(delay, again);
      },
    };
    const { port, terminal } = await start(tcp, { LEAFGATE_SDS_INSECURE: 'True' }, clock);
    const warnings = (): number => terminal.stderr().match(/warn.*speaks plaintext/g)?.length ?? 0;
    expect(warnings()).toBe(1);
    ticks.shift()?.();
    ticks.shift()?.();
    expect(warnings()).toBe(3);
    const peer = connectGrpc(`//127.0.0.1:${port}`);
    peers.push(peer);
  });
});

test('a port that is taken is named, with exit code 3', async () => {
  writeChannelFiles(dir, channelFilesOf(ca));
  const { port } = await start();
  const listen = ['--listen', `tcp:127.0.0.1:${port}`, '--allowed-san', clientName];
  expect(await refusal(listen, {}, 3)).toMatch(/cannot listen on 127\.0\.0\.1:\d+: another process already listens/);
});

test('a file that is there and cannot be read is not missing', async () => {
  writeChannelFiles(dir, channelFilesOf(ca));
  rmSync(join(dir, 'tls.key'));
  mkdirSync(join(dir, 'tls.key'));
  expect(await refusal(named, { LEAFGATE_SDS_INSECURE: 'true' })).toMatch(/tls\.key cannot be read: it is a folder/);
});

describe('options that contradict each other are refused', () => {
  test.each<[readonly string[], RegExp]>([
    [[...named, '--allow-any-client'], /lists clients, and --allow-any-client lets every one in/],
    [['--listen', '127.0.0.1:0', '--allow-any-client'], /neither unix:PATH nor tcp:ADDRESS:PORT/],
    [[...tcp, '--allowed-san', ''], /--allowed-san is ""/],
    [[...tcp, '--allowed-san', 'a', '--server-name', '*.x.test'], /--server-name is "\*\.x\.test"/],
    [['--listen', 'tcp:localhost:1', '--allowed-san', 'a'], /--listen is "localhost:1"/],
  ])('%j', async (args, words) => {
    writeChannelFiles(dir, channelFilesOf(ca));
    expect(await refusal(args)).toMatch(words);
  });

  test('those of TCP beside a unix socket', async () => {
    const listen = ['--listen', `unix:${temp.file('s.sock')}`, '--allowed-san', 'a', '--allow-any-client'];
    expect(await refusal(listen)).toMatch(/--tls-dir, --allowed-san, --allow-any-client given beside a unix socket/);
  });
});

describe('files that change under it', () => {
  test('are taken by a swap, ended streams are those of the removed CA alone, and a bad set is said and not taken', async () => {
    swapChannelFiles(dir, channelFilesOf(ca, {}, [ca, otherCa]), 'one');
    const health = temp.file('health.sock');
    const { port, terminal } = await start([...named, '--metrics', `unix:${health}`]);
    const [stays, goes] = [connect(port), connect(port, otherCa)];
    const kept = stays.open();
    kept.send({ subscribe: ['a.test'] });
    expect((await kept.next()).resources[0]?.name).toBe('a.test');
    const ending = goes.open();
    ending.send({ subscribe: ['b.test'] });
    await ending.next();
    swapChannelFiles(dir, channelFilesOf(ca), 'two');
    expect((await ending.status).code).not.toBe(0);
    await waitFor('the words', () => /the connection of an SDS peer was ended.*wrong-ca/.test(terminal.stderr()));
    swapChannelFiles(dir, { ...channelFilesOf(ca), 'ca.crt': 'nothing' }, 'three');
    await waitFor('the refusal', () => /certificates of the SDS port refused/.test(terminal.stderr()));
    expect(await askHealth(`unix:${health}`, '/readyz')).toMatchObject({
      status: 200,
      body: expect.stringContaining('the last good certificates of the SDS port are served') as string,
    });
    kept.send({ subscribe: ['c.test'] });
    expect((await kept.next()).resources[0]?.name).toBe('c.test');
    expect(await nameServedBy(connect(port), 'd.test')).toBe('d.test');
  });

  test('may be swapped a thousand times under open streams, and the last set is served', async () => {
    const sets = Array.from({ length: 19 }, (_, index) =>
      channelFilesOf(ca, {}, index % 2 === 0 ? [ca, otherCa] : [ca]),
    );
    const [first] = sets;
    if (first === undefined) throw new Error('no files');
    swapChannelFiles(dir, first, 'first');
    const { port, terminal } = await start();
    const kept = connect(port).open();
    let answers = 0;
    for (let swap = 1; swap <= 1000; swap += 1) {
      const files = sets[swap % sets.length] ?? first;
      swapChannelFiles(dir, files, `swap${swap}`);
      if (swap % 50 !== 0) continue;
      kept.send({ subscribe: [`n${swap}.test`] });
      answers += (await kept.next()).resources.length;
      // a look of the server's at what stands there now
      await waitFor('a look', () => lastTaken(terminal) === serialIn(dir));
    }
    expect(answers).toBe(20);
    const last = channelFilesOf(ca, { dnsNames: [serverName, 'last.test'] });
    swapChannelFiles(dir, last, 'last');
    await waitFor('the last set', () => lastTaken(terminal) === serialIn(dir));
    kept.send({ subscribe: ['last.test'] });
    expect((await kept.next()).resources[0]?.name).toBe('last.test');
    expect(terminal.stderr()).not.toMatch(/refused|was ended/);
  });

  test('that are taken away leave the last good ones in force', async () => {
    writeChannelFiles(dir, channelFilesOf(ca));
    const { port, terminal } = await start();
    rmSync(dir, { recursive: true });
    await waitFor('the words', () => /certificates of the SDS port refused.*no such file/.test(terminal.stderr()));
    expect(await nameServedBy(connect(port), 'a.test')).toBe('a.test');
  });
});

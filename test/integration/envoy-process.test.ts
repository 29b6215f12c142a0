// A real Envoy under `startEnvoy`: starting, the ways in which starting fails, draining, and an end in every case.
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { startEnvoy, type EnvoyProcess, type StartEnvoyOptions } from '../../src/envoy/envoy-process.ts';
import { parseIpAddress } from '../../src/names/ip-address.ts';
import type { Log } from '../../src/observe/log.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { childrenOf, commandLine } from '../support/gateway-under-test.ts';
import { freePort } from '../support/free-port.ts';
import { startProcess, type StartedProcess } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { waitFor, withDeadline } from '../support/wait-for.ts';

/** one TCP listener that forwards to `target`, and the admin socket */
function tcpBootstrap(ports: { readonly listen: number; readonly target: number }, adminSocket: string): string {
  const at = (port: number): object => ({ socket_address: { address: '127.0.0.1', port_value: port } });
  const proxy = {
    '@type': 'type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy',
    stat_prefix: 'forward',
    cluster: 'target',
  };
  const filters = [{ name: 'envoy.filters.network.tcp_proxy', typed_config: proxy }];
  const endpoints = [{ lb_endpoints: [{ endpoint: { address: at(ports.target) } }] }];
  return JSON.stringify({
    admin: { address: { pipe: { path: adminSocket, mode: 0o600 } } },
    static_resources: {
      listeners: [{ name: 'clients', stat_prefix: 'clients', address: at(ports.listen), filter_chains: [{ filters }] }],
      clusters: [{ name: 'target', load_assignment: { cluster_name: 'target', endpoints } }],
    },
  });
}

describeWithTools('a running Envoy', ['envoy-1.40.0'], (tools) => {
  let folder: TempFolder;
  let port: number;
  let origin: Server;
  let said: string[];
  let running: EnvoyProcess | undefined;

  beforeEach(async () => {
    folder = createTempFolder();
    port = await freePort();
    said = [];
    origin = createServer((socket) => socket.on('error', () => undefined).pipe(socket));
    await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    await running?.kill();
    running = undefined;
    origin.close();
    folder.remove();
  });

  const say = (sentence: string, fields?: object): void => void said.push(`${sentence} ${JSON.stringify(fields)}`);
  const log: Log = { debug: say, info: say, warn: say, error: say, with: () => log };
  const bootstrap = (change: (text: string) => string = (text) => text): string => {
    const path = folder.file('bootstrap.json');
    const target = (origin.address() as AddressInfo).port;
    writeFileSync(path, change(tcpBootstrap({ listen: port, target }, folder.file('admin.sock'))));
    return path;
  };
  const start = async (options: Partial<StartEnvoyOptions> = {}): Promise<EnvoyProcess> => {
    const address = parseIpAddress('127.0.0.1');
    if (address === undefined) throw new Error('no address');
    running = await startEnvoy({
      binary: tools['envoy-1.40.0'],
      bootstrapPath: options.bootstrapPath ?? bootstrap(),
      adminSocket: folder.file('admin.sock'),
      listen: [{ address, port }],
      log,
      clock: systemClock,
      readyTimeoutMs: 20_000,
      drainMs: 5_000,
      concurrency: 1,
      ...options,
    });
    return running;
  };
  /** a process that has started an Envoy and stays, to be killed */
  const parentOfEnvoy = async (): Promise<{ readonly process: StartedProcess; readonly envoy: number }> => {
    writeFileSync(folder.file('parent.ts'), startingParent);
    const variables = { BINARY: tools['envoy-1.40.0'], BOOTSTRAP: bootstrap(), ADMIN: folder.file('admin.sock') };
    const env = scrubbedEnvironment(folder.path, variables);
    const parent = startProcess(process.execPath, [folder.file('parent.ts')], { env });
    const [, pid = ''] = await parent.waitForOutput(/Envoy runs as (\d+)/, 20_000);
    return { process: parent, envoy: Number(pid) };
  };
  const client = async (): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    socket.write('hello');
    const echo = new Promise<string>((resolve) => socket.once('data', (bytes) => resolve(bytes.toString())));
    expect(await withDeadline('an echo through Envoy', echo)).toBe('hello');
    return socket;
  };

  test('is ready, forwards, and answers its admin questions', async () => {
    const envoy = await start();
    const socket = await client();
    expect((await envoy.admin.get('/ready')).body).toBe('LIVE\n');
    const stats = await envoy.admin.readStats('^listener\\.clients\\.downstream_cx_total$');
    expect(stats.get('listener.clients.downstream_cx_total')).toBe(1);
    socket.destroy();
  });

  test('is in a session of its own, so that the Ctrl-C of our terminal does not reach it', async () => {
    const envoy = await start();
    const [, , group, session] = statOf(envoy.pid);
    expect([group, session]).toEqual([envoy.pid, envoy.pid]);
  });

  test('stops at once when nobody is connected', async () => {
    const envoy = await start();
    const started = performance.now();
    const exit = await envoy.drainAndStop(5_000);
    expect(exit).toMatchObject({ code: 0, signal: null, wasAsked: true });
    expect(performance.now() - started).toBeLessThan(3_000);
    expect(isRunning(envoy.pid)).toBe(false);
  });

  test('waits for a connection that ends, and for one that does not only as long as it is told', async () => {
    const envoy = await start();
    const socket = await client();
    const stopped = envoy.drainAndStop(60_000);
    // a second call waits for the same end
    expect(envoy.drainAndStop(1)).toBe(stopped);
    const looks = 'http.admin.downstream_rq_2xx';
    await waitFor('two looks at the connections', async () => {
      return ((await envoy.admin.readStats(`^${looks}$`)).get(looks) ?? 0) >= 4;
    });
    expect(isRunning(envoy.pid)).toBe(true);
    socket.destroy();
    expect(await withDeadline('the end', stopped, 20_000)).toMatchObject({ code: 0 });
  });

  test('cuts a tunnel that stays when the time for draining is over', async () => {
    const envoy = await start();
    const socket = await client();
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    expect(await withDeadline('the end', envoy.drainAndStop(1_500), 10_000)).toMatchObject({ code: 0 });
    await withDeadline('the tunnel to be cut', closed);
  });

  test('that is frozen is killed after two seconds', async () => {
    const envoy = await start();
    process.kill(envoy.pid, 'SIGSTOP');
    expect(await withDeadline('the end', envoy.kill(), 10_000)).toMatchObject({ signal: 'SIGKILL' });
  });

  test('that dies by itself is told with what it said last', async () => {
    const envoy = await start();
    process.kill(envoy.pid, 'SIGKILL');
    expect(await withDeadline('the end', envoy.exited)).toMatchObject({ signal: 'SIGKILL', wasAsked: false });
  });

  test('an address in use is told before Envoy is started, since Envoy would share the port', async () => {
    const other = await start();
    running = undefined;
    const error = start({ adminSocket: folder.file('second.sock') });
    await expect(error).rejects.toMatchObject({
      code: 'envoy-listen-in-use',
      fields: { address: `127.0.0.1:${port}` },
    });
    await other.kill();
  });

  test('an address that only Envoy knows of is told from its log', async () => {
    const foreign = bootstrap((text) => text.replace('"127.0.0.1","port_value"', '"192.0.2.1","port_value"'));
    await expect(start({ bootstrapPath: foreign })).rejects.toMatchObject({ code: 'envoy-listen-refused' });
  });

  test.each([
    ['a field that Envoy does not know', (text: string) => text.replace('"stat_prefix"', '"stat_prefx"'), 'stat_prefx'],
    ['text that is no JSON', () => '{', 'Unable to parse'],
  ])('%s is a refused configuration, in its words', async (_, change, words) => {
    const error = await start({ bootstrapPath: bootstrap(change) }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'envoy-config-refused' });
    expect((error as Error).message).toContain(words);
  });

  test('a file that is no program is told', async () => {
    const binary = folder.file('not-envoy');
    writeFileSync(binary, 'x', { mode: 0o755 });
    await expect(start({ binary })).rejects.toMatchObject({ code: 'envoy-died-at-start' });
  });

  test('one that is not ready in time is ended, and said to be so', async () => {
    // answers nobody: its admin socket is another one than we ask
    const error = start({ adminSocket: folder.file('other.sock'), readyTimeoutMs: 500 });
    await expect(error).rejects.toMatchObject({ code: 'envoy-not-ready' });
    await waitFor('the port to be free', async () => (await portState(port)) === 'free');
  });

  test('a leafgate that is killed leaves no Envoy and no watcher behind', async () => {
    const { process: parent, envoy: pid } = await parentOfEnvoy();
    const group = () => readGroup(pid);
    expect(group()).toHaveLength(2);
    parent.signal('SIGKILL');
    await parent.exited;
    await waitFor('the end of Envoy and its watcher', () => group().length === 0);
  });

  test('an Envoy whose watcher was killed still ends with the leafgate that is killed', async () => {
    const envoy = await start();
    const [watcher] = readGroup(envoy.pid).filter((pid) => pid !== envoy.pid);
    process.kill(watcher ?? expect.fail('no watcher'), 'SIGKILL');
    await waitFor('the loss to be told', () => said.some((line) => /was killed; another one is started/.test(line)));
    const replacement = await waitFor('another watcher', () =>
      childrenOf(process.pid).find((pid) => commandLine(pid).includes('leafgate-lifeline')),
    );
    expect(commandLine(replacement)).toContain(`await_end ${envoy.pid} `);
    await envoy.kill();
    running = undefined;
    await waitFor('the watcher to end', () => commandLine(replacement) === '');
  });

  test.skipIf(!hasSetpriv)('an Envoy ends also when its watcher and leafgate are killed at once', async () => {
    const parent = await parentOfEnvoy();
    const [watcher] = readGroup(parent.envoy).filter((pid) => pid !== parent.envoy);
    process.kill(watcher ?? expect.fail('no watcher'), 'SIGKILL');
    parent.process.signal('SIGKILL');
    await waitFor('the end of Envoy', () => readGroup(parent.envoy).length === 0);
  });

  test('the watcher ends with Envoy and kills nobody else', async () => {
    const envoy = await start();
    expect(readGroup(envoy.pid)).toHaveLength(2);
    await envoy.kill();
    running = undefined;
    await waitFor('the watcher to end', () => readGroup(envoy.pid).length === 0);
  });
});

/** util-linux; busybox has one without this option */
const hasSetpriv = spawnSync('setpriv', ['--pdeathsig', 'TERM', 'true']).status === 0;

const source = new URL('../../src/', import.meta.url).href;
/** starts an Envoy and stays, to be killed */
const startingParent = `
import { systemClock } from '${source}clock.ts';
import { startEnvoy } from '${source}envoy/envoy-process.ts';
const silent = () => undefined;
const log = { debug: silent, info: silent, warn: silent, error: silent, with: () => log };
const { BINARY: binary, BOOTSTRAP: bootstrapPath, ADMIN: adminSocket } = process.env;
const options = { binary, bootstrapPath, adminSocket, listen: [], log, clock: systemClock };
const envoy = await startEnvoy({ ...options, readyTimeoutMs: 20_000, concurrency: 1 });
console.log('Envoy runs as ' + envoy.pid);
await envoy.exited;
`;

/** pid, state, process group and session of a process: proc(5), with the parent left out */
function statOf(pid: number): readonly [number, string, number, number] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [state = '', , group, session] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return [pid, state, Number(group), Number(session)];
}

/** processes of a group that run; one that waits only to be counted as ended (a zombie) does not */
function readGroup(group: number): readonly number[] {
  const pids = readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0);
  return pids.filter((pid) => {
    try {
      const [, state, itsGroup] = statOf(pid);
      return itsGroup === group && state !== 'Z';
    } catch {
      return false;
    }
  });
}

function isRunning(pid: number): boolean {
  return readGroup(pid).includes(pid);
}

async function portState(port: number): Promise<'free' | 'taken'> {
  const socket = connect(port, '127.0.0.1');
  return new Promise((resolve) => {
    socket.once('error', () => resolve('free'));
    socket.once('connect', () => {
      socket.destroy();
      resolve('taken');
    });
  });
}

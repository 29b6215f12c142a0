// Where the socket may be, who may connect, and what happens to a socket that is already there.
import { chmodSync, existsSync, mkdirSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import type { Server } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { listenPrivately } from '../../../src/private-socket.ts';
import { createTempFolder } from '../../support/temp-folder.ts';

const folder = createTempFolder();
const servers: Server[] = [];
let count = 0;

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

function newPath(): string {
  count += 1;
  return folder.file(`${count}.sock`);
}

async function listen(path: string): Promise<Server> {
  const server = createServer((socket) => socket.on('error', () => undefined).end('hello'));
  await listenPrivately(server, path);
  servers.push(server);
  return server;
}

/** a socket file whose server is gone, as after kill -9 */
async function leaveStaleSocket(path: string): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(`${path}.old`, resolve));
  renameSync(`${path}.old`, path);
  await new Promise((resolve) => server.close(resolve));
}

function greetingAt(path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once('data', (data) => resolve(data.toString()));
    socket.once('error', reject);
  });
}

describe('the socket', () => {
  it('may be used by its owner only, from its first moment on, and the umask is as it was', async () => {
    const path = newPath();
    const before = process.umask(0o027);
    await listen(path);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(process.umask(before)).toBe(0o027);
    expect(await greetingAt(path)).toBe('hello');
  });

  it('takes the place of one whose server is dead', async () => {
    const path = newPath();
    await leaveStaleSocket(path);
    await expect(greetingAt(path)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await listen(path);
    expect(await greetingAt(path)).toBe('hello');
  });

  it('never takes the place of a live one', async () => {
    const path = newPath();
    await listen(path);
    await expect(listenPrivately(createServer(), path)).rejects.toMatchObject({
      code: 'socket-in-use',
      fields: { path },
    });
    expect(await greetingAt(path)).toBe('hello');
  });

  it('never takes the place of a file or of a link', async () => {
    const path = newPath();
    writeFileSync(path, 'precious');
    await expect(listenPrivately(createServer(), path)).rejects.toMatchObject({ code: 'socket-path-taken' });
    const link = newPath();
    symlinkSync(newPath(), link);
    await expect(listenPrivately(createServer(), link)).rejects.toMatchObject({ code: 'socket-path-taken' });
    expect(existsSync(path)).toBe(true);
  });

  const modes = [
    [0o700, undefined],
    [0o755, undefined],
    [0o1777, undefined],
    [0o775, 'socket-folder-unsafe'],
    [0o757, 'socket-folder-unsafe'],
  ] as const;

  it.each(modes)('in a folder of mode %o: %s', async (mode, code) => {
    const inner = folder.file(`mode-${mode.toString(8)}`);
    mkdirSync(inner);
    chmodSync(inner, mode);
    const path = `${inner}/s.sock`;
    if (code === undefined) await listen(path);
    else await expect(listenPrivately(createServer(), path)).rejects.toMatchObject({ code });
  });

  it('needs a folder that is there', async () => {
    await expect(listenPrivately(createServer(), folder.file('no/s.sock'))).rejects.toMatchObject({
      code: 'socket-failed',
    });
  });

  it('has a path of 107 bytes at most, and says so at 108', async () => {
    const fill = (length: number) => `${folder.path}/${'x'.repeat(length - folder.path.length - 1)}`;
    await listen(fill(107));
    await expect(listenPrivately(createServer(), fill(108))).rejects.toMatchObject({
      code: 'socket-path-too-long',
      fields: { length: 108, max: 107 },
    });
  });
});

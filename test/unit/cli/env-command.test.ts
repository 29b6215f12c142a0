// `leafgate env` for another place than this shell, and what it may not take from this one.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { createFakeIo } from '../../support/fake-io.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';

let temp: TempFolder;
beforeEach(() => (temp = createTempFolder()));
afterEach(() => temp.remove());

async function call(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const terminal = createFakeIo({ XDG_STATE_HOME: temp.path, ...env });
  const exitCode = await runCommandLine(['env', ...args], terminal.io);
  return { exitCode, stdout: terminal.stdout(), stderr: terminal.stderr() };
}

const pod = ['--dir', '/run/leafgate/trust', '--proxy', 'http://gateway.egress.svc:3128/'];

test('prints a container’s list for the folder and the gateway that are named', async () => {
  const { exitCode, stdout, stderr } = await call([...pod, '--format', 'k8s', '--around', '.cluster.local']);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  const list: unknown = parse(stdout);
  for (const [name, value] of [
    ['HTTPS_PROXY', 'http://gateway.egress.svc:3128'],
    ['NODE_EXTRA_CA_CERTS', '/run/leafgate/trust/ca.pem'],
    ['SSL_CERT_FILE', '/run/leafgate/trust/ca-and-system.pem'],
    ['NO_PROXY', '.cluster.local,localhost,127.0.0.1,::1'],
    ['JAVA_TOOL_OPTIONS', expect.stringContaining('-Dhttp.nonProxyHosts=*.cluster.local|localhost|127.*|[::1]')],
  ]) {
    expect(list).toContainEqual({ name, value });
  }
});

test('for another place takes nothing from this shell', async () => {
  const own = { NO_PROXY: 'corp', HTTPS_PROXY: 'http://corp', JAVA_TOOL_OPTIONS: '-ea', PHP_INI_SCAN_DIR: '/corp' };
  expect(await call(pod, own)).toEqual(await call(pod));
});

test('leaves runtimes out that are named once or more, with commas or without', async () => {
  const names = async (...args: readonly string[]): Promise<readonly string[]> =>
    Object.keys(JSON.parse((await call([...args, '--format', 'json'])).stdout) as object);
  const without = await names(...pod, '--without', 'java,node', '--without', 'deno');
  for (const name of ['JAVA_TOOL_OPTIONS', 'NODE_EXTRA_CA_CERTS', 'DENO_CERT']) expect(without).not.toContain(name);
  expect(without).toContain('SSL_CERT_FILE');
  const trustAlone = await names('--dir', '/t', '--without', 'proxy');
  expect(trustAlone).not.toContain('HTTPS_PROXY');
  expect(trustAlone).toContain('NODE_EXTRA_CA_CERTS');
});

test('trusts no note in a state folder that others may look into, and none of another leafgate', async () => {
  const state = temp.file('leafgate');
  mkdirSync(state);
  chmodSync(state, 0o755);
  writeFileSync(join(state, 'state.json'), '{"schema":99}');
  expect(await call([])).toMatchObject({
    exitCode: 3,
    stderr: expect.stringContaining('[state-folder-open]') as string,
  });
  chmodSync(state, 0o700);
  expect((await call([])).stderr).toContain('[state-schema-unknown]');
  writeFileSync(join(state, 'state.json'), '{"schema":1}');
  expect((await call([])).stderr).toContain('[env-no-gateway]');
});

test('refuses what is no URL of a proxy, without saying the password in it', async () => {
  const wrong = await call(['--dir', '/t', '--proxy', 'http://me:secret-word@gateway:3128/path']);
  expect(wrong).toMatchObject({
    exitCode: 2,
    stdout: '',
    stderr: expect.stringContaining('//…@gateway:3128/path') as string,
  });
  expect(wrong.stderr).not.toContain('secret-word');
});

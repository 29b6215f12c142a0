// A CA that a user brings himself is trusted by his command beside the gateway's, and by no other command.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWithTools } from '../support/describe-with-tools.ts';
import {
  environment,
  mainScript,
  runLeafgate,
  startGatewayUnderTest,
  type GatewayUnderTest,
} from '../support/gateway-under-test.ts';
import { runCommand, type CommandResult } from '../support/run-command.ts';
import type { ChildEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { createTestAuthority, issueServerCertificate } from '../support/test-certificates.ts';
import { startTlsOrigin, type TlsOrigin } from '../support/tls-origin.ts';

/** above what Linux gives out (proc(5), pid_max) */
const neverAProcess = 4_999_999;
const mayMount = spawnSync('unshare', ['-Urm', 'sh', '-c', 'mount -t tmpfs tmpfs /mnt']).status === 0;

describeWithTools('a command whose user has a CA of his own', ['envoy-1.40.0', 'curl'], ({ 'envoy-1.40.0': envoy }) => {
  let temp: TempFolder;
  let origin: TlsOrigin;
  let gateway: GatewayUnderTest;
  let ownCa: string;
  beforeAll(async () => {
    temp = createTempFolder();
    const authority = createTestAuthority();
    ownCa = temp.file('own-ca.pem');
    writeFileSync(ownCa, authority.pem);
    origin = await startTlsOrigin({ certificate: issueServerCertificate(authority, { names: ['localhost'] }) });
    gateway = await startGatewayUnderTest({ envoy, temp });
  });
  afterAll(async () => {
    await gateway.stop();
    await origin.close();
    temp.remove();
  });

  const both = () =>
    `curl -sS https://self-check.leafgate.invalid/ && curl -sS -o /dev/null -w '%{http_code}' https://localhost:${origin.port}/`;
  const ownFolders = (state: string): readonly string[] => {
    const root = join(temp.file(state), 'gateway/trust-with');
    return existsSync(root) ? readdirSync(root) : [];
  };
  const run = (state: string, env: ChildEnvironment = {}) =>
    runLeafgate(['run', '--state', temp.file(state), '--', 'sh', '-c', both()], { envoy, temp, env });

  test.each(['state', 'nobody-runs-here'])(
    'reaches his origin and the gateway, with the state folder %s',
    async (state) => {
      const { status, stdout, stderr } = await run(state, { CURL_CA_BUNDLE: ownCa });
      expect({ status, stdout, stderr }).toMatchObject({ status: 0, stdout: 'leafgate self-check\n200' });
      expect(ownFolders(state)).toEqual([]);
    },
  );

  test('has files of its own while it runs; a shell that asked for the same ones keeps them', async () => {
    const options = { envoy, temp, env: { CURL_CA_BUNDLE: ownCa } };
    const list = ['run', '--state', gateway.state, '--', 'sh', '-c', 'ls $(dirname $(dirname $CURL_CA_BUNDLE))'];
    const during = await runLeafgate(list, options);
    expect(during.stdout).toMatch(/^[0-9a-f]{16}\n$/);
    await runLeafgate(['env', '--state', gateway.state], options);
    expect((await runLeafgate(list, options)).stdout).toBe(during.stdout);
    expect(ownFolders('state')).toEqual([during.stdout.trim()]);
  });

  /** with the state folder as one of somebody else's, mounted so that nobody writes to it */
  const runReadOnly = (env: ChildEnvironment = {}): Promise<CommandResult> => {
    const script = `mount --bind "${gateway.state}" "${gateway.state}" && mount -o remount,bind,ro "${gateway.state}" && exec "$@"`;
    const words = ['run', '--state', gateway.state, '--', 'sh', '-c', both()];
    const leafgate = [process.execPath, mainScript, ...words];
    return runCommand('unshare', ['-Urm', 'sh', '-c', script, 'sh', ...leafgate], {
      env: environment({ envoy, temp, env }),
    });
  };

  test.skipIf(!mayMount)(
    'beside a gateway whose folder is read-only reaches both all the same, says what is lost, and sweeps what a killed one left',
    async () => {
      mkdirSync(temp.file(`leafgate-run-${neverAProcess}-abc`));
      const { status, stdout, stderr } = await runReadOnly({ CURL_CA_BUNDLE: ownCa, TMPDIR: temp.path });
      expect({ status, stdout }).toEqual({ status: 0, stdout: 'leafgate self-check\n200' });
      expect(stderr).toBe(
        'leafgate: the state folder cannot be written to, so that the files with your own certificates do not follow a new CA of the gateway\n',
      );
      expect(readdirSync(temp.path).filter((name) => name.startsWith('leafgate-run-'))).toEqual([]);
    },
  );

  test.skipIf(!mayMount)('and without a CA of his own says nothing there', async () => {
    const { stdout, stderr } = await runReadOnly();
    expect(stdout).toBe('leafgate self-check\n000');
    expect(stderr).not.toContain('leafgate:');
  });

  test('no other command does', async () => {
    const { status, stdout } = await run('state');
    expect(status).toBe(60);
    expect(stdout).toBe('leafgate self-check\n000');
  });

  test('is told when his file cannot be used, and keeps what he has', async () => {
    const env = { CURL_CA_BUNDLE: temp.file('none.pem') };
    const args = ['run', '--state', gateway.state, '--', 'sh', '-c', 'echo $CURL_CA_BUNDLE'];
    const { stdout, stderr } = await runLeafgate(args, { envoy, temp, env });
    expect(stdout).toBe(`${temp.file('none.pem')}\n`);
    expect(stderr).toMatch(/CURL_CA_BUNDLE stays as it is/);
  });
});

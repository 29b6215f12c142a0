import { appendFileSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import type { AccessRecord } from '../../../src/observe/access-record.ts';
import { createFakeIo } from '../../support/fake-io.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';
import { waitFor } from '../../support/wait-for.ts';
import { broken, closed, intercepted, opened, relayed } from '../observe/access-lines.ts';

const alert = 'TLS_error:|268436504:SSL_routines:OPENSSL_internal:TLSV1_ALERT_UNKNOWN_CA:TLS_error_end';
const refusal = {
  ...{ id: 'refused', host: 'ads.test', connect: 'ads.test:443', status: 403, rule: null, flags: 'UAEX' },
  details: 'rbac_access_denied_matched_policy[deny:ads]',
};
const failure = {
  ...{ id: 'failed', host: 'late.test', status: 502, flags: 'UF', upstream_tls: null, actor: 'spiffe://a/b' },
  upstream_failure: 'TLS_error:|1:SSL_routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED:_certificate_has_expired',
  details: 'upstream_reset_before_response_started{remote_connection_failure|TLS_error:|certificate_has_expired}',
};

let temp: TempFolder;
let path: string;
beforeEach(() => {
  temp = createTempFolder();
  path = join(temp.path, 'leafgate', 'gateway', 'access.json');
  mkdirSync(join(temp.path, 'leafgate', 'gateway'), { recursive: true });
});
afterEach(() => temp.remove());

const write = (file: string, lines: readonly string[]): void =>
  appendFileSync(file, lines.map((line) => `${line}\n`).join(''));

async function log(...args: readonly string[]) {
  const terminal = createFakeIo({ XDG_STATE_HOME: temp.path });
  const exitCode = await runCommandLine(['log', ...args], terminal.io);
  return { exitCode, stdout: terminal.stdout(), stderr: terminal.stderr() };
}

async function records(...args: readonly string[]): Promise<readonly AccessRecord[]> {
  const { stdout } = await log('--json', ...args);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as AccessRecord);
}

const marker = '{"leg":"gateway","start":"2026-11-30T10:00:00.000Z"}';
const everything = [
  ...[marker, opened(), intercepted(), closed(), closed(refusal), intercepted(failure)],
  ...[opened({ id: 'distrust' }), broken(alert, { id: 'distrust' }), closed({ id: 'distrust' })],
  ...[opened({ id: 'silent' }), closed({ id: 'silent' }), relayed({ id: 'relayed' })],
];

describe('leafgate log', () => {
  test('shows what all segments keep, in order, each once, also what came to nothing', async () => {
    write(`${path}.1`, everything.slice(0, 5));
    write(`${path}.2`, everything.slice(5, 8));
    write(path, everything.slice(8));
    expect((await records()).map(({ kind, outcome, host }) => `${kind} ${outcome} ${host}`)).toEqual([
      'request ok good.test',
      'connect refused ads.test',
      'request failed late.test',
      'handshake failed good.test',
      'tunnel ok good.test',
      'tunnel failed good.test',
    ]);
  });

  test.each<[readonly string[], readonly string[]]>([
    [['--outcome', 'refused'], ['ads.test']],
    [['--rule', 'ads'], ['ads.test']],
    [['--rule', 'deny:ads'], ['ads.test']],
    [['--host', 'late.test'], ['late.test']],
    [
      ['--host', 'late.test', '--host', 'ads.test'],
      ['ads.test', 'late.test'],
    ],
    [['--host', '*.elsewhere.test'], []],
    [['--actor', 'spiffe://a/b'], ['late.test']],
    [['--since', '1h'], []],
    [['--since', '36500d', '--outcome', 'failed', '--actor', 'spiffe://a/b'], ['late.test']],
  ])('with %j shows only those', async (args, hosts) => {
    write(path, everything);
    expect((await records(...args)).map(({ host }) => host)).toEqual(hosts);
  });

  test('tells people the day, and why with what to do', async () => {
    write(path, everything);
    const { stdout, exitCode } = await log('--why');
    expect(exitCode).toBe(0);
    expect(stdout.split('\n')[0]).toMatch(/^2026-\d\d-\d\d$/);
    expect(stdout).toMatch(/why {5}refused by rule ads \[policy\]\n +do {6}change the rule/);
    expect(stdout).toMatch(/\[origin-distrusted, expired\]\n/);
    expect(stdout).toMatch(/origin {2}TLS error:.*certificate has expired/);
    expect(stdout).toMatch(/by {6}intercept:default, for spiffe:\/\/a\/b, id failed/);
    expect(stdout).toMatch(/do {6}it looks like OpenSSL.*CURL_CA_BUNDLE/);
    expect(stdout).toMatch(/CA {6}\S+\/gateway\/trust\/ca\.pem \(alone\)\n +\S+ca-and-system\.pem/);
  });

  test('says when nothing fits, and when lines could not be read', async () => {
    write(path, [...everything, 'no JSON']);
    expect((await log('--host', 'nowhere.test')).stderr).toBe(
      'none of the 6 records that are kept fits\n1 line of the access log could not be read\n',
    );
    writeFileSync(path, `${marker}\n`);
    expect((await log()).stderr).toBe('no records are kept yet\n');
  });

  test('shows nothing of the self-check', async () => {
    write(path, [intercepted({ host: 'self-check.leafgate.invalid', authority: 'self-check.leafgate.invalid' })]);
    expect(await records()).toEqual([]);
  });

  test('blames nobody whose tunnel began in what is not kept any more', async () => {
    write(`${path}.7`, [broken(alert, { id: 'unknown' }), closed({ id: 'unknown' })]);
    write(path, [intercepted()]);
    expect((await records()).map(({ kind }) => kind)).toEqual(['request']);
  });

  test.each<[readonly string[], RegExp, number]>([
    [[], /keeps no access records; start `leafgate up`/, 2],
    [['--host', 'a b'], /--host is "a b", which is not a host/, 2],
    [
      ['--host', '*', '--since', 'soon'],
      /--since is "soon".*[^]*--host is "\*"|--host is "\*"[^]*--since is "soon"/,
      2,
    ],
    [['--outcome', 'bad'], /Allowed choices are ok, refused, failed/, 2],
    [['--state', ''], /--state is empty/, 2],
  ])('answers the call %j with one line that helps', async (args, expected, code) => {
    const { stderr, exitCode } = await log(...args);
    expect(stderr).toMatch(expected);
    expect(exitCode).toBe(code);
  });

  test('that cannot read the log says so', async () => {
    mkdirSync(path);
    const { stderr, exitCode } = await log();
    expect(stderr).toMatch(/cannot be read: it is a folder; .*\[log-unreadable\]/);
    expect(exitCode).toBe(3);
  });
});

describe('leafgate log --follow', () => {
  test('shows what is kept and what comes, over a rotation, until it is told to stop', async () => {
    write(path, [marker, intercepted({ path: '/1' })]);
    const terminal = createFakeIo({ XDG_STATE_HOME: temp.path });
    const running = runCommandLine(['log', '--follow', '--json'], terminal.io);
    const paths = (): string[] => [...terminal.stdout().matchAll(/"path":"([^"]+)"/g)].map(([, found]) => found ?? '');
    await waitFor('what is kept', () => paths().length === 1);
    write(path, [intercepted({ path: '/2' })]);
    await waitFor('what comes', () => paths().length === 2);
    // Envoy goes on with the old file until it is told
    renameSync(path, `${path}.1`);
    write(`${path}.1`, [intercepted({ path: '/3' })]);
    writeFileSync(path, '');
    write(path, [intercepted({ path: '/4' })]);
    await waitFor('what comes after the rotation', () => paths().length === 4);
    expect(paths()).toEqual(['/1', '/2', '/3', '/4']);
    terminal.signal('SIGINT');
    expect(await running).toBe(0);
  });

  test('waits for a gateway that has not started yet', async () => {
    const terminal = createFakeIo({ XDG_STATE_HOME: temp.path });
    const running = runCommandLine(['log', '-f', '--json'], terminal.io);
    write(path, [marker, intercepted()]);
    await waitFor('the record', () => terminal.stdout().includes('"kind":"request"'));
    terminal.signal('SIGTERM');
    expect(await running).toBe(0);
  });

  test('shows a tunnel that came to nothing when no more lines of it can come', async () => {
    const terminal = createFakeIo({ XDG_STATE_HOME: temp.path });
    const running = runCommandLine(['log', '-f', '--json'], terminal.io);
    write(path, [marker, opened(), closed()]);
    await waitFor('the record', () => terminal.stdout().includes('"code":"client-left"'));
    terminal.signal('SIGINT');
    await running;
  });
});

import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { createFakeIo } from '../../support/fake-io.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';

let temp: TempFolder;
beforeEach(() => {
  temp = createTempFolder();
});
afterEach(() => temp.remove());

async function call(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const terminal = createFakeIo({ XDG_STATE_HOME: temp.path, ...env });
  const exitCode = await runCommandLine(args, terminal.io);
  return { exitCode, stdout: terminal.stdout(), stderr: terminal.stderr() };
}

const nobody = ['--listen', 'unix:/nowhere/s.sock'];

describe('a wrong call gets one line that says what is wrong and what to do', () => {
  test.each<[readonly string[], Record<string, string>, RegExp]>([
    [[], {}, /no command was given; see `leafgate --help`/],
    [['upp'], {}, /unknown command 'upp'/],
    [['up', '--colour'], {}, /unknown option '--colour'; see `leafgate up --help`/],
    [['up', '--leaf-ttl', '1s'], {}, /--leaf-ttl is 1s, outside the range 2m to 1d/],
    [['up'], { LEAFGATE_LEAF_TTL: 'soon' }, /LEAFGATE_LEAF_TTL is "soon"/],
    [['up'], { LEAFGATE_LISTEM: '127.0.0.1:1' }, /LEAFGATE_LISTEM is no setting/],
    [['up', '--listen', '0.0.0.0:3128'], {}, /nothing says which may; add --allow-from/],
    [['run'], {}, /missing required argument 'COMMAND'; see `leafgate run --help`/],
    [['sds', '--listen', 'unix:/x.sock', '--allow-any'], {}, /--pool/],
    [['sds', '--pool', 'p', ...nobody], {}, /nothing says which names may be minted/],
    [['sds', '--pool', 'p', ...nobody, '--allow-any', '--allow', 'a.test'], {}, /exclude each other/],
    [['sds', '--pool', 'p', '--listen', '127.0.0.1:1', '--allow-any'], {}, /neither unix:PATH nor tcp:ADDRESS:PORT/],
    [
      ['sds', '--pool', 'p', ...nobody, '--allow-any', '--metrics', '0.0.0.0:9'],
      {},
      /can be reached from other machines/,
    ],
    [['up', '--metrics', 'nonsense'], {}, /--metrics is "nonsense".*unix:\//],
    [['up', 'x'], {}, /but got 1; see/],
    [['up', '--policy', ''], {}, /--policy is "", which is not the path of a file/],
    [['policy', 'explain', 'a.test', '--policy', ''], {}, /the name of the policy file is empty/],
    [['sds', '--pool', 'p', ...nobody, '--allow', '*'], {}, /--allow-any for every name/],
    [['pool', 'create'], {}, /--out <FILE>.*--secret.*see `leafgate pool create --help`/],
    [['pool', 'create', '--out', 'x', '--secret', 'a/b'], {}, /exclude each other/],
    [['pool', 'create', '--secret', 'nonsense'], {}, /the namespace and the name of a Secret/],
    [['pool', 'inspect'], {}, /missing FILE, or --secret/],
    [['pool', 'inspect', 'x', '--kubeconfig', 'k'], {}, /--kubeconfig is for --secret/],
    [['pool', 'verify', 'x', '--secret', 'a/b'], {}, /exclude each other/],
    [['pool', 'create', '--out', 'x', '--key-kind', 'DSA'], {}, /Allowed choices are P-256/],
    [['probe', 'check', 'http://a.test/', '--no-proxy'], {}, /https/],
    [['probe', 'check', 'https://a.test/'], {}, /no gateway runs on the state folder/],
    [
      ['probe', 'serve', '--no-proxy', '--listen', '0.0.0.0:0', '--ca', '/etc/ssl/certs/ca-certificates.crt'],
      {},
      /--allow-host/,
    ],
    [['up', '--policy', '/nowhere/p.yaml'], {}, /the policy file \/nowhere\/p\.yaml cannot be read: no such file/],
    [['up', '--policy', 'p.yaml', '--deny', 'a.test'], {}, /--policy and --deny exclude each other/],
    [['up', '--allow', '*'], {}, /--allow is "\*", which is not a host name/],
    [['run', '--tcp', 'a.test:0', '--', 'true'], {}, /--tcp is "a\.test:0"/],
    [['up', '--state', ''], {}, /--state is empty/],
    [['pool'], {}, /no command was given; see `leafgate pool --help`/],
    [['env'], {}, /no gateway runs on the state folder .*--dir and --proxy/],
    [['env', '--format', 'fish'], {}, /Allowed choices are shell, dotenv, json, k8s/],
    [['env', '--dir', 'trust', '--proxy', 'http://g:1'], {}, /--dir is "trust", which is no absolute path/],
    [['env', '--dir', '/t'], {}, /how the actor reaches the gateway.*--without proxy/],
    [['env', '--dir', '/t', '--proxy', 'g:3128'], {}, /--proxy is "g:3128", which is no URL/],
    [['env', '--dir', '/t', '--proxy', 'http://g/x'], {}, /--proxy is "http:\/\/g\/x"/],
    [['env', '--dir', '/t', '--without', 'jav'], {}, /--without is "jav".*proxy, openssl, curl/],
    [['run', '--', 'true'], { LEAFGATE_WITHOUT: 'java,nod' }, /LEAFGATE_WITHOUT is "nod"/],
  ])('leafgate %j', async (args, env, expected) => {
    const { exitCode, stdout, stderr } = await call(args, env);
    expect(stderr).toMatch(expected);
    expect(exitCode).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  // a supervisor that reads `up --json` reads nothing else: what it cannot parse is lost
  test.each<[readonly string[], Record<string, string>, string]>([
    [['up', '--json', '--bogus'], {}, 'usage'],
    [['up', '--json', '--drain', 'x'], {}, 'setting-malformed'],
    [['up', '--listen', 'bogus'], { LEAFGATE_JSON: '1' }, 'setting-malformed'],
    [['up', '--json', '--client-ca', 'f'], {}, 'front-needs-certificate'],
    [['up', '--json'], { LEAFGATE_LISTEM: 'x' }, 'setting-unknown'],
  ])('for programs it is JSON, and a stopped event says it: %j', async (args, env, code) => {
    const { exitCode, stdout, stderr } = await call(args, env);
    expect(exitCode).toBe(2);
    const line: unknown = JSON.parse(stderr);
    expect(line).toMatchObject({ level: 'error', code });
    expect(line).toHaveProperty('remedy');
    expect(JSON.parse(stdout)).toMatchObject({ event: 'stopped', cause: 'error', code });
  });

  test('for programs several problems are a line each, and all of them in the event', async () => {
    const { stdout, stderr } = await call(['up', '--json', '--leaf-ttl', 'x', '--mint-rate', '0']);
    expect(stderr.trim().split('\n')).toHaveLength(2);
    const { code, problems } = JSON.parse(stdout) as { code: string; problems: readonly { code: string }[] };
    expect(code).toBe('several-problems');
    expect(problems.map((problem) => problem.code)).toEqual(['setting-malformed', 'setting-out-of-range']);
  });

  test('the SDS server has no events, and its errors are JSON lines too', async () => {
    const { stdout, stderr } = await call(['sds', '--json', '--pool', 'p', ...nobody]);
    expect(stdout).toBe('');
    expect(JSON.parse(stderr)).toMatchObject({ level: 'error' });
  });

  test('several problems are told at once, a line each', async () => {
    const { stderr } = await call(['up', '--leaf-ttl', 'x', '--mint-rate', '0', '--resolve', 'a', '--allow-from', 'b']);
    expect(stderr.trim().split('\n')).toHaveLength(4);
  });

  test('all malformed patterns of --allow are told at once', async () => {
    const { stderr } = await call([
      'sds',
      '--pool',
      'p',
      ...nobody,
      '--allow',
      '*',
      '--allow',
      'a b',
      '--allow',
      'ok.test',
    ]);
    expect(stderr.trim().split('\n')).toHaveLength(2);
  });

  test('all faults of an sds call are told before anything is started', async () => {
    const args = [
      'sds',
      '--pool',
      'p',
      '--listen',
      '1.2.3.4:1',
      '--allow',
      'a..b',
      '--leaf-ttl',
      '1s',
      '--metrics',
      'x',
    ];
    const { stderr } = await call(args);
    expect(stderr.trim().split('\n')).toHaveLength(4);
  });

  test('a stack trace is shown with --verbose only', async () => {
    const { stderr } = await call(['pool', 'inspect', '/nonexistent', '--verbose']);
    expect(stderr).toMatch(/\n\s+at /);
  });
});

describe('help', () => {
  test('starts with examples and ends with exit codes', async () => {
    const { exitCode, stdout } = await call(['--help']);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^Examples:/);
    expect(stdout).toMatch(/Exit codes:[^]*said no/);
  });

  test.each(['up', 'run', 'sds', 'probe check', 'probe serve', 'pool create'])(
    'of %s shows its options',
    async (command) => {
      const { exitCode, stdout } = await call([...command.split(' '), '--help']);
      expect(exitCode).toBe(0);
      expect(stdout).toContain(`Usage: leafgate ${command}`);
    },
  );

  test('of up shows every setting with its default and environment name', async () => {
    const { stdout } = await call(['up', '--help']);
    expect(stdout.replace(/\s+/g, ' ')).toContain('(default 1h, LEAFGATE_LEAF_TTL)');
  });
});

describe('leafgate pool', () => {
  test('create writes a private file, shows the CA, and never overwrites', async () => {
    const out = temp.file('pool.json');
    const made = await call(['pool', 'create', '--out', out]);
    expect(made.exitCode).toBe(0);
    expect(made.stdout).toMatch(/wrote .*pool\.json\nca-[0-9a-f]{8} \(signs\)\n {2}subject/);
    // one number in the ID and in the subject: whoever meets the one finds the other
    expect(made.stdout).toMatch(/^ca-(\w{8}) \(signs\)\n.*leafgate CA \1$/m);
    expect(statSync(out).mode & 0o777).toBe(0o600);
    const { cas } = JSON.parse((await call(['pool', 'inspect', '--json', out])).stdout) as { cas: unknown };
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as unknown;
    expect(cas).toMatchObject([{ notBefore: time, notAfter: time, addedAt: time, activatedAt: time }]);
    const before = readFileSync(out, 'utf8');
    const again = await call(['pool', 'create', '--out', out]);
    expect(again.stderr).toMatch(/pool-file-exists/);
    expect(readFileSync(out, 'utf8')).toBe(before);
  });

  test.each(['P-384', 'RSA-2048'])('create makes a %s CA that verify accepts', async (kind) => {
    const out = temp.file('pool.json');
    await call(['pool', 'create', '--out', out, '--key-kind', kind]);
    expect((await call(['pool', 'verify', out])).exitCode).toBe(0);
  });

  test('neither create nor inspect shows a key', async () => {
    const out = temp.file('pool.json');
    const made = await call(['pool', 'create', '--out', out]);
    const seen = await call(['pool', 'inspect', out, '--json']);
    const key: unknown = JSON.parse(readFileSync(out, 'utf8')).CAs[0].SigningKeyPKCS8;
    expect(typeof key === 'string' && key.length > 100).toBe(true);
    expect(made.stdout + seen.stdout).not.toContain(key);
    expect(JSON.parse(seen.stdout)).toMatchObject({ cas: [{ isActive: true, key: 'P-256' }], faults: [] });
  });

  test('anchors prints what clients shall trust, and no key', async () => {
    const out = temp.file('pool.json');
    await call(['pool', 'create', '--out', out]);
    const { stdout, exitCode } = await call(['pool', 'anchors', out]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^-----BEGIN CERTIFICATE-----\n[^-]+-----END CERTIFICATE-----\n$/);
  });

  test('verify answers for each of several files, also for one that cannot be read, as JSON where asked', async () => {
    const [good, bad, none] = [temp.file('good.json'), temp.file('bad.json'), temp.file('none.json')];
    await call(['pool', 'create', '--out', good]);
    writeFileSync(bad, '{"CAs":[]}');
    const { exitCode, stdout, stderr } = await call(['pool', 'verify', '--json', good, bad, none]);
    const answers = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
    expect(answers).toEqual([
      { file: good, ok: true, faults: [] },
      { file: bad, ok: false, faults: [expect.objectContaining({ code: 'pool-empty' })] },
      { file: none, ok: false, faults: [expect.objectContaining({ code: 'pool-file-unreadable' })] },
    ]);
    expect(stderr).toBe('');
    expect(exitCode).toBe(2);
    expect((await call(['pool', 'verify', good, bad])).exitCode).toBe(4);
    expect((await call(['pool', 'verify', none])).stderr).toMatch(/no such file or folder.*\[pool-file-unreadable\]/);
  });

  test('verify names every fault at once and exits with 4', async () => {
    const out = temp.file('pool.json');
    await call(['pool', 'create', '--out', out]);
    const pool = JSON.parse(readFileSync(out, 'utf8')) as { CAs: Record<string, string>[] };
    pool.CAs.push({
      ID: 'broken-key',
      SigningKeyPKCS8: 'AAAA',
      RootCertificateDER: pool.CAs[0]?.['RootCertificateDER'] ?? '',
    });
    pool.CAs.push({
      ID: 'broken-root',
      SigningKeyPKCS8: pool.CAs[0]?.['SigningKeyPKCS8'] ?? '',
      RootCertificateDER: 'AAAA',
    });
    writeFileSync(out, JSON.stringify(pool));
    const { exitCode, stderr } = await call(['pool', 'verify', out]);
    expect(exitCode).toBe(4);
    expect(stderr).toMatch(/broken-key/);
    expect(stderr).toMatch(/broken-root/);
  });
});

describe('a file that cannot be used is told in words, not with a code of the system', () => {
  test.each<[readonly string[], string]>([
    [['pool', 'inspect', '/nowhere/pool.json'], 'no such file or folder'],
    [['pool', 'create', '--out', '/dev/null/pool.json'], 'a part of the path is no folder'],
    [['pool', 'create', '--out', '/nowhere/pool.json'], 'there is no folder /nowhere; make it'],
    [['probe', 'check', '--no-proxy', '--ca', '/nowhere/ca.pem', 'https://a.test/'], 'no such file or folder'],
    [['probe', 'check', '--no-proxy', '--ca', '/tmp', 'https://a.test/'], 'it is a folder'],
    [['up', '--state', '/dev/null/state'], 'a file has that name'],
    [
      ['sds', '--pool', '/nowhere', '--listen', 'unix:/tmp/leafgate-none.sock', '--allow-any'],
      'no such file or folder',
    ],
  ])('leafgate %j', async (args, expected) => {
    const { stderr } = await call(args);
    expect(stderr).toContain(expected);
    expect(stderr).not.toMatch(/\bE[A-Z]{3,}\b/);
  });
});

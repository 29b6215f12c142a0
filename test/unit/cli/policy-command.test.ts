// `leafgate policy check | explain | hits` as a person calls them.
import { mkdirSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { hitsTable, hitsText } from '../../../src/cli/hits-text.ts';
import type { RuleHits } from '../../../src/envoy/rule-hits.ts';
import { createFakeIo } from '../../support/fake-io.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';
import { policy, rule } from '../policy/policy-fixtures.ts';

let temp: TempFolder;
let file: string;
let typed = '';
beforeEach(() => {
  temp = createTempFolder();
  file = temp.file('p.yaml');
  mkdirSync(temp.file('state'));
});
afterEach(() => temp.remove());

async function call(...args: readonly string[]) {
  const terminal = createFakeIo({ XDG_STATE_HOME: temp.path });
  terminal.type(typed);
  const exitCode = await runCommandLine(['policy', ...args], terminal.io);
  return { exitCode, stdout: terminal.stdout(), stderr: terminal.stderr() };
}

const good = `default: deny
rules:
  - name: api
    hosts: [api.x.test]
    ports: [443]
    verdict: intercept
  - name: wide
    hosts: ["*.x.test", 192.168.0.0/16]
    verdict: relay
  - name: who
    hosts: [api.x.test]
    ports: [443]
    actors: ["spiffe://a/b"]
    verdict: deny
`;

describe('policy check', () => {
  test('says what is in a good file, and what is odd about it, with the lines', async () => {
    writeFileSync(file, good);
    const { exitCode, stdout, stderr } = await call('check', file);
    expect(stdout.replaceAll(file, 'F')).toBe(
      [
        'F:10: warning: rule who never decides about api.x.test: rule api (line 3) comes first, and says otherwise',
        'F:3: warning: where no rule for api.x.test fits, the default (deny) decides, not the rules for *.x.test',
        'F: 3 rules for 4 hosts (1 intercept, 1 relay, 1 deny), default deny',
        '',
      ].join('\n'),
    );
    expect([exitCode, stderr]).toEqual([0, '']);
  });

  test('names everything that is wrong, one line each in the order of the file, and ends with 4', async () => {
    writeFileSync(file, 'default: no\nrulez: []');
    const { exitCode, stdout, stderr } = await call('check', file);
    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^leafgate: .*p\.yaml:1:10: default is no.*\[policy-value-wrong\]$/),
      expect.stringMatching(/^leafgate: .*p\.yaml:2:1: rulez is no key.*\[policy-key-unknown\]$/),
    ]);
    expect([exitCode, stdout]).toEqual([4, '']);
  });

  test('says the same as JSON', async () => {
    writeFileSync(file, `${good}dryRun: {default: tcp}\norigins: [{name: o, hosts: [o.test], certificate: c, key: k}]`);
    const { stdout } = await call('check', file, '--json', '--without-files');
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ file, ok: true, problems: [], default: 'deny', rules: 3, hosts: 4, origins: 1 },
      ...{ verdicts: { intercept: 1, relay: 1, deny: 1 }, dryRun: { default: 'tcp', rules: 0 } },
      warnings: [
        { kind: 'contradicted', rule: 'who', line: 10 },
        { kind: 'no-fallback', rule: 'api', line: 3 },
        { kind: 'unread-by-default', text: 'dry run: the default is tcp: what no rule names leaves unread' },
      ],
    });
    writeFileSync(file, 'rules: []');
    const refused = await call('check', file, '--json');
    expect(JSON.parse(refused.stdout)).toMatchObject({
      ...{ ok: false, problems: [{ code: 'policy-key-missing', line: 1, column: 1 }] },
    });
    expect(refused.exitCode).toBe(4);
  });

  test('says no to files of origins that are not there, as up does, unless they are elsewhere', async () => {
    writeFileSync(file, 'default: deny\norigins: [{name: o, hosts: [o.test], certificate: c, key: k}]');
    const { exitCode, stderr } = await call('check', file);
    expect(stderr.match(/\/[ck] of origin o cannot be used: no such file or folder/g)).toHaveLength(2);
    expect(exitCode).toBe(4);
    expect((await call('check', file, '--without-files')).exitCode).toBe(0);
  });

  test('reads stdin where - is given', async () => {
    typed = 'default: deny\n';
    expect(await call('check', '-')).toEqual({ exitCode: 0, stdout: 'stdin: no rule, default deny\n', stderr: '' });
    typed = 'default: no\n';
    expect((await call('check', '-')).stderr).toMatch(/stdin:1:10: default is no/);
  });
});

describe('policy explain', () => {
  const explained = async (...args: readonly string[]): Promise<string> => {
    writeFileSync(file, good);
    const { stdout, stderr } = await call('explain', ...args, '--policy', file);
    expect(stderr).toBe('');
    return stdout.replaceAll(file, 'F');
  };

  test('says which rule decides, what became of the others, and what a client sees', async () => {
    expect(await explained('api.x.test')).toBe(
      [
        'api.x.test:443, a client without a verified certificate: intercept, by rule api (F:3)',
        '  rules for api.x.test, the most specific name that holds the host:',
        '    api (line 3): decides: the first that fits (intercept, port 443, any actor)',
        '    who (line 10): is for other actors (deny, port 443, actor spiffe://a/b)',
        '  not looked at: *.x.test (wide)',
        '  what a client sees:',
        '    TLS: a certificate for api.x.test that the gateway mints; each request is read, decided again and shown',
        '    plain HTTP: forwarded, read and shown',
        '',
      ].join('\n'),
    );
  });

  test('says why the default decides', async () => {
    const other = await explained('https://API.x.test.:8443/path');
    expect(other).toMatch(/^api\.x\.test:8443, .*: deny, by the default of F\n/);
    expect(other).toContain('none of them fits, so that the default decides');
    expect(other).toMatch(/403 with x-leafgate-rule: deny:default/);
    expect(other).toContain('redirected by the system: a reset');
    const itself = await explained('x.test');
    expect(itself).toContain('no rule names the host');
    expect(itself).toContain('*.x.test holds every name below x.test, not x.test itself: list both');
  });

  test('refuses an actor that is no URI', async () => {
    const { exitCode, stderr } = await call('explain', 'api.x.test', '--actor', 'foo', '--policy', file);
    expect(stderr).toMatch(/--actor is "foo", which is not the URI of a client's certificate/);
    expect(exitCode).toBe(2);
  });

  test('takes the actor into account', async () => {
    const text = await explained('api.x.test', '--actor', 'spiffe://a/b');
    expect(text).toContain('actor spiffe://a/b: intercept, by rule api');
    expect(text).toContain('who (line 10): would fit, but comes later');
  });

  test('says of an address what TLS and the guard make of it', async () => {
    const text = await explained('192.168.1.1:443');
    expect(text).toContain('relay, by rule wide (F:7)');
    expect(text).toContain('rules for 192.168.0.0/16');
    expect(text).toContain('the destination guard closes this address unless --allow-destination opens it');
    expect(await explained('[2001:DB8::1]:443')).toMatch(/^\[2001:db8::1\]:443, .*deny, by the default/);
  });

  test('says the same as JSON', async () => {
    const answer: unknown = JSON.parse(await explained('api.x.test:443', '--json'));
    expect(answer).toMatchObject({
      ...{ host: 'api.x.test', port: 443, actor: null, policy: 'F', verdict: 'intercept', rule: 'api', line: 3 },
      ...{ outcome: 'intercept:api', target: 'api.x.test', mayBeMinted: true },
      candidates: [
        { rule: 'api', fate: 'decides' },
        { rule: 'who', fate: 'other-actor' },
      ],
      passedOver: [{ target: '*.x.test', rules: ['wide'] }],
    });
  });

  test.each([['*.x.test'], ['a b'], ['x.test:0'], ['x.test:99999'], ['']])(
    'refuses “%s”, which is no host',
    async (host) => {
      writeFileSync(file, good);
      const { exitCode, stderr } = await call('explain', host, '--policy', file);
      expect(stderr).toMatch(/HOST is ".*", which is not a host with or without a port, or a URL/);
      expect(exitCode).toBe(2);
    },
  );

  test('needs a gateway or a file', async () => {
    const { exitCode, stderr } = await call('explain', 'x.test');
    expect(stderr).toMatch(
      /no gateway runs on the state folder .*, or a policy file with --policy \[policy-no-gateway\]/,
    );
    expect(exitCode).toBe(2);
    expect((await call('hits')).stderr).toMatch(/no gateway runs/);
  });
});

describe('policy hits', () => {
  const hit = (outcome: string, hits: number, more: Partial<RuleHits> = {}): RuleHits => {
    return { outcome, hits, mode: 'enforced', leg: 'proxy', ...more };
  };
  const inForce = {
    policy: policy('deny', rule('a.test', 'intercept', { name: 'a' }), rule('b.test', 'relay', { name: 'b' })),
    dryRun: policy('intercept', rule('a.test', 'deny', { name: 'tried' })),
  };

  test('are shown rule by rule, with those that never decided and those of an earlier policy', () => {
    const table = hitsTable(inForce, [
      hit('intercept:a', 12),
      hit('intercept:a', 340, { leg: 'tunnel' }),
      hit('deny:old', 2),
      hit('intercept:self-check', 2),
      hit('deny:tried', 12, { mode: 'dry-run' }),
    ]);
    expect(hitsText(table)).toBe(
      [
        'decisions since Envoy started:',
        '                at proxy  in tunnel',
        '  intercept:a         12        340',
        '  deny:old             2          0  (of an earlier policy)',
        '  never: relay:b, deny:default',
        'dry run, which decides nothing:',
        '               at proxy  in tunnel',
        '  deny:tried         12          0',
        '  never: intercept:default',
        '',
      ].join('\n'),
    );
  });

  test('are none at first', () => {
    expect(hitsText(hitsTable({ policy: policy('deny'), dryRun: undefined }, []))).toBe(
      'decisions since Envoy started:\n  never: deny:default\n',
    );
  });
});

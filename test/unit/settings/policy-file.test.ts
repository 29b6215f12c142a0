// A policy file is read whole or refused with everything that is wrong in it, each with its line and column.
import { describe, expect, it, test } from 'vitest';
import { parsePolicyFile, type PolicyReading } from '../../../src/settings/policy-file.ts';
import { policy, rule } from '../policy/policy-fixtures.ts';

const terms = { source: 'p.yaml', baseDir: '/etc/leafgate' };

function parse(text: string | Uint8Array): PolicyReading {
  return parsePolicyFile(typeof text === 'string' ? Buffer.from(text) : text, terms);
}

function problemsOf(text: string | Uint8Array): readonly string[] {
  const reading = parse(text);
  if (reading.kind === 'read') throw new Error(`was read: ${JSON.stringify(reading.file)}`);
  return reading.problems.map(({ message, remedy, code }) => `${message}; ${remedy} [${code}]`);
}

const whole = `
# who may reach what
default: deny
rules:
  - name: model-apis
    hosts: [api.example.com, "*.Example.ORG.", 192.0.2.0/24, 2001:db8::1]
    ports: [443, 8443]
    actors: ["spiffe://cluster.local/ns/a/sa/b"]
    verdict: intercept
  - name: pinned
    hosts:
      - updates.example.net
    verdict: relay
dryRun:
  default: intercept
  rules:
    - {name: pinned, hosts: [a.example.com], verdict: deny}
origins:
  - name: partner
    hosts: [mtls.example.com, "*.mtls.example.com"]
    certificate: partner/tls.crt
    key: /keys/tls.key
    ca: partner/ca.crt
`;

describe('a policy file', () => {
  it('is rules, a default, dry-run rules and credentials for origins', () => {
    const reading = parse(whole);
    const more = { name: 'model-apis', ports: [443, 8443], actors: ['spiffe://cluster.local/ns/a/sa/b'] };
    expect(reading).toEqual({
      kind: 'read',
      file: {
        policy: policy(
          'deny',
          ...['api.example.com', '*.example.org', '192.0.2.0/24', '2001:db8::1'].map((host) =>
            rule(host, 'intercept', more),
          ),
          rule('updates.example.net', 'relay', { name: 'pinned' }),
        ),
        dryRun: policy('intercept', rule('a.example.com', 'deny', { name: 'pinned' })),
        origins: [
          {
            name: 'partner',
            hosts: [
              { kind: 'exact', host: 'mtls.example.com' },
              { kind: 'suffix', suffix: 'mtls.example.com' },
            ],
            certificateFile: '/etc/leafgate/partner/tls.crt',
            keyFile: '/keys/tls.key',
            caFile: '/etc/leafgate/partner/ca.crt',
          },
        ],
        lines: new Map([
          ['model-apis', 5],
          ['pinned', 10],
        ]),
        dryRunLines: new Map([['pinned', 17]]),
      },
    });
  });

  it('may be JSON, may have Windows line ends, and needs no more than a default', () => {
    expect(parse('{"default":"deny","rules":[]}')).toMatchObject({
      file: { policy: policy('deny'), dryRun: undefined },
    });
    expect(parse('default: relay\r\nrules: []\r\n')).toMatchObject({ file: { policy: policy('relay') } });
    expect(parse('---\ndefault: tcp\n...\n')).toMatchObject({ file: { policy: policy('tcp') } });
  });

  it('reports everything that is wrong at once, each with its place, in the order of the file', () => {
    const text = [
      'rules:',
      '  - name: Big',
      '    hots: [a.example.com]',
      '    verdict: passthrough',
      '  - hosts: [https://a.example.com/x, "*", 10.1.2.3/8]',
      '    verdict: deny',
      '    ports: ["443", 70000]',
      'dry-run: {}',
    ].join('\n');
    expect(problemsOf(text)).toEqual([
      'p.yaml:1:1: the policy file has no default; state what becomes of hosts that no rule names, as `default: deny` [policy-key-missing]',
      'p.yaml:2:5: rule 1 has no hosts; list its hosts, as `hosts: [api.example.com]` [policy-key-missing]',
      'p.yaml:2:11: name is Big, which is not a name of small letters, digits, dots, hyphens and underscores; write it like model-apis [policy-value-wrong]',
      'p.yaml:3:5: hots is no key of rule 1; write hosts if that was meant; known are name, hosts, ports, actors, verdict [policy-key-unknown]',
      'p.yaml:4:14: verdict is passthrough, which is not one of intercept, relay, tcp, deny; write it like verdict: relay [policy-value-wrong]',
      'p.yaml:5:5: rule 2 has no name; give it one, as `name: model-apis`: records and refusals show it [policy-key-missing]',
      'p.yaml:5:13: host is https://a.example.com/x, which is not a host name, *.suffix, an address or a range; write it like a.example.com [policy-value-wrong]',
      'p.yaml:5:38: host is "*", which is not a host name, *.suffix, an address or a range; write it like `default: …` for all that no rule names [policy-value-wrong]',
      'p.yaml:5:43: host is 10.1.2.3/8, which is not a host name, *.suffix, an address or a range; write it like 10.0.0.0/8 [policy-value-wrong]',
      'p.yaml:7:13: port is "443", which is not a number from 1 to 65535; write it like ports: [443, 8443] [policy-value-wrong]',
      'p.yaml:7:20: port is 70000, which is not a number from 1 to 65535; write it like ports: [443, 8443] [policy-value-wrong]',
      'p.yaml:8:1: dry-run is no key of the policy file; write dryRun if that was meant; known are default, rules, dryRun, origins [policy-key-unknown]',
    ]);
  });

  it('shows the first hundred problems and counts the rest', () => {
    const rules = Array.from({ length: 250 }, (_, index) => `  - {name: r${index}, hosts: [a.test], verdict: no}`);
    const problems = problemsOf(`default: deny\nrules:\n${rules.join('\n')}`);
    expect(problems).toHaveLength(101);
    expect(problems[100]).toBe(
      'p.yaml: 150 more problems are not shown; mend those shown first [policy-more-problems]',
    );
  });

  test.each([
    ['a.example.com:8443', 'a.example.com with `ports: [8443]`'],
    ['[2001:db8::1]:443', '"2001:db8::1"'],
    ['http://[2001:db8::1]/', '"2001:db8::1"'],
    ['*example.com', '"*.example.com"'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['*.bücher.example', '"*.xn--bcher-kva.example"'],
    ['a..b', 'api.example.com or "*.example.com"'],
    ['127.1', '127.0.0.1'],
    ['10.0.0.0/33', 'api.example.com or "*.example.com"'],
  ])('says how the host %s was probably meant', (given, meant) => {
    const [problem] = problemsOf(`{default: deny, rules: [{name: a, verdict: deny, hosts: ['${given}']}]}`);
    expect(problem).toContain(`write it like ${meant} [`);
  });

  test.each([
    ['a name that another rule has', 'name: b, hosts: [x.test], verdict: deny', /rule b is taken by an earlier one/],
    ['a reserved name', 'name: self-check, hosts: [x.test], verdict: deny', /rule self-check is reserved/],
    ['no hosts in its list', 'name: a, hosts: [], verdict: deny', /hosts is an empty list/],
    ['one host without a list', 'name: a, hosts: x.test, verdict: deny', /write it like hosts: \[api/],
    ['an empty list of ports', 'name: a, hosts: [x.test], ports: [], verdict: deny', /leave it out for any port/],
    [
      'no value for actors',
      'name: a, hosts: [x.test], actors: , verdict: deny',
      /actors is empty, which is not a list/,
    ],
    ['an actor that is no URI', 'name: a, hosts: [x.test], actors: ["-"], verdict: deny', /actor is "-"/],
    ['two actors in one text', 'name: a, hosts: [x.test], actors: ["u:a,u:b"], verdict: deny', /actor is "u:a,u:b"/],
    ['a port with a leading zero', 'name: a, hosts: [x.test], ports: [0443], verdict: deny', /port is 0443/],
    ['a port in hexadecimal', 'name: a, hosts: [x.test], ports: [0x1bb], verdict: deny', /port is 0x1bb/],
    ['a number for a host', 'name: a, hosts: [10], verdict: deny', /host is 10/],
    ['the name of the self-check', 'name: a, hosts: [self-check.leafgate.invalid], verdict: deny', /gateway itself/],
    ['the name for clients without one', 'name: a, hosts: [NO-SNI.leafgate.invalid.], verdict: deny', /gateway itself/],
    ['a list for a verdict', 'name: a, hosts: [x.test], verdict: [deny]', /verdict is a list/],
  ])('refuses a rule with %s', (_, second, reason) => {
    const problems = problemsOf(`default: deny\nrules:\n- {name: b, hosts: [b.test], verdict: deny}\n- {${second}}`);
    expect(problems).toEqual([expect.stringMatching(reason)]);
  });

  test.each([
    ['without a key', 'name: a, hosts: [x.test], certificate: c', /origin 1 has no key; name the PEM/],
    ['with a range of addresses', 'name: a, hosts: [10.0.0.0/8], certificate: c, key: k', /host is 10.0.0.0\/8/],
    ['with an empty path', 'name: a, hosts: [x.test], certificate: "", key: k', /certificate is ""/],
  ])('refuses an origin %s', (_, origin, reason) => {
    expect(problemsOf(`{default: deny, origins: [{${origin}}]}`)).toEqual([expect.stringMatching(reason)]);
  });

  it('gives a host to one origin only', () => {
    const origin = (name: string, host: string): string =>
      `{name: ${name}, hosts: ["${host}"], certificate: c, key: k}`;
    const origins = [origin('a', '*.x.test'), origin('b', 'x.test'), origin('c', '*.X.test.')];
    expect(problemsOf(`{default: deny, origins: [${origins.join(', ')}]}`)).toEqual([
      expect.stringMatching(/\*\.X\.test\. belongs to origin a already/),
    ]);
  });

  it('has a dry run that states its own default', () => {
    expect(problemsOf('default: deny\ndryRun: {rules: []}')).toEqual([
      expect.stringMatching(/^p\.yaml:2:9: dryRun has no def/),
    ]);
  });
});

describe('a policy file that shows something else than it means', () => {
  const aliases = [
    'a: &a [x, x]',
    ...'bcdefghi'.split('').map((letter, i) => `${letter}: &${letter} [*${'abcdefgh'[i]}, *${'abcdefgh'[i]}]`),
  ];
  test.each([
    ['begins with a byte order mark', '\ufeffdefault: deny', 'p.yaml:1:1: the character U+FEFF'],
    ['has a NUL', 'default: deny\n# \0', 'p.yaml:2:3: the character U+0000'],
    ['has a carriage return within a line', 'default: deny # \rrules: []', 'p.yaml:1:17: the character U+000D'],
    ['has another line separator', 'default: deny # \u2028rules: []', 'p.yaml:1:17: the character U+2028'],
    ['is no UTF-8', Buffer.from([0x64, 0xff]), 'p.yaml: it is not UTF-8'],
    ['is UTF-16', Buffer.from('default: deny', 'utf16le'), 'p.yaml:1:2: the character U+0000'],
    ['is empty', '', 'p.yaml:1:1: the file is empty'],
    ['is only a comment', '# nothing\n', 'p.yaml:1:1: the file is empty'],
    ['is a text', 'deny', 'p.yaml:1:1: the policy file is deny, which is not a map'],
    [
      'has a key twice',
      'default: deny\ndefault: intercept',
      'p.yaml:2:1: the key default stands here for the second time',
    ],
    ['is indented with tabs', 'default: deny\nrules:\n\t- name: a', 'p.yaml:3:1: this is no valid YAML'],
    ['has a second document', 'default: deny\n---\ndefault: intercept', 'p.yaml:2:1: a second document begins here'],
    ['has a directive', '%YAML 1.1\n---\ndefault: deny', 'p.yaml:1:1: a directive is not read'],
    ['has a tag', 'default: !!str deny', 'p.yaml:1:16: a tag is not read'],
    ['has a tag on nothing', 'default: deny\nrules: !!set {}', 'p.yaml:2:14: a tag is not read'],
    ['has an anchor', 'default: &d deny', 'p.yaml:1:13: an anchor is not read'],
    ['has a merge key', 'default: deny\n<<: {rules: []}', 'p.yaml:2:1: << is no key of the policy file'],
    ['has a list as a key', 'default: deny\n? [a]\n: b', 'p.yaml:2:3: this is no valid YAML'],
    ['is cut off', 'default: deny\nrules: [{name: a', 'p.yaml:2:'],
    ['laughs a billion times', `${aliases.join('\n')}\ndefault: deny`, 'p.yaml:1:'],
    ['is nested deeply in brackets', `default: ${'['.repeat(2_000_000)}`, 'p.yaml:1:'],
    ['is nested deeply in lists', '- '.repeat(1_000_000), 'p.yaml:1:'],
    ['is too large', Buffer.alloc(4 * 1024 * 1024 + 1, 0x23), 'the policy file p.yaml has more than 4194304 bytes'],
  ])('is refused when it %s', (_, text, problem) => {
    const [first = ''] = problemsOf(text);
    expect(first.slice(0, problem.length)).toBe(problem);
  });

  it('is refused with the star’s own hint when a suffix stands without quotes', () => {
    expect(problemsOf('default: deny\nrules:\n- {name: a, hosts: [*.example.com], verdict: deny}')).toEqual([
      expect.stringMatching(
        /^p\.yaml:3:21: an alias is not read; a text that begins with a star needs quotes: "\*\.example\.com" \[/,
      ),
    ]);
  });
});

describe('a large policy file', () => {
  const hosts = (count: number): string => Array.from({ length: count }, (_, i) => `h${i}.example.com`).join(', ');

  it('may name ten thousand rules and as many hosts as a tree of Envoy’s holds flat', () => {
    const rules = Array.from({ length: 10_000 }, (_, i) => `- {name: r${i}, hosts: [h${i}.test], verdict: deny}`);
    const reading = parse(`default: deny\nrules:\n${rules.join('\n')}`);
    expect(reading).toMatchObject({ kind: 'read', file: { policy: { rules: { length: 10_000 } } } });
    const many = parse(`{default: deny, rules: [{name: a, verdict: deny, hosts: [${hosts(50_000)}]}]}`);
    expect(many).toMatchObject({ kind: 'read', file: { policy: { rules: { length: 50_000 } } } });
  });

  it('is refused when one host has so many rules that each request would try hundreds', () => {
    const rules = (count: number): string =>
      Array.from(
        { length: count },
        (_, i) => `- {name: r${i}, hosts: [a.test], ports: [${i + 1}], verdict: deny}`,
      ).join('\n');
    expect(parse(`default: deny\nrules:\n${rules(256)}`)).toMatchObject({ kind: 'read' });
    expect(problemsOf(`default: deny\nrules:\n${rules(257)}`)).toEqual([
      expect.stringMatching(/^p\.yaml:1:1: there are more than 256 rules for a\.test; list the ports/),
    ]);
  });

  it('is refused with one rule or one host more', () => {
    const rules = Array.from({ length: 10_001 }, (_, i) => `- {name: r${i}, hosts: [h${i}.test], verdict: deny}`);
    expect(problemsOf(`default: deny\nrules:\n${rules.join('\n')}`)).toEqual([
      expect.stringMatching(/more than 10000 rules/),
    ]);
    const half = `verdict: deny, hosts: [${hosts(25_001)}]`;
    expect(problemsOf(`{default: deny, rules: [{name: a, ${half}}, {name: b, ${half}}]}`)).toEqual([
      expect.stringMatching(/more than 50000 hosts/),
    ]);
  });
});

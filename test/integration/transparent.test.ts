// Transparent mode with `leafgate up`, the printed rules and three network namespaces: what the system redirects is
// intercepted, relayed or refused as what a client sends to the proxy, over IPv4 and IPv6.
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runLeafgate, startGatewayUnderTest, type GatewayUnderTest } from '../support/gateway-under-test.ts';
import { caPem, issueCredential, makeCurrentCa } from '../support/credential-workshop.ts';
import { describeWithMachine } from '../support/describe-with-tools.ts';
import {
  addresses,
  clientLink,
  startNetworkWorld,
  whyNoNetworkWorld,
  type NetworkWorld,
} from '../support/network-world.ts';
import type { CommandResult } from '../support/run-command.ts';
import { startProcess, type StartedProcess } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { waitFor } from '../support/wait-for.ts';

const port = 15_001;
const [originV4, originV6] = addresses.origin;
const names = ['a.test', 'b.test', 'pinned.test', 'blocked.test', 'inside.test'];
const policy = {
  default: 'intercept',
  rules: [
    { name: 'never', hosts: ['blocked.test'], verdict: 'deny' },
    { name: 'pinned', hosts: ['pinned.test'], verdict: 'relay' },
    { name: 'by-address', hosts: [`${addresses.otherOrigin}/32`], ports: [443], verdict: 'relay' },
    { name: 'shells', hosts: [`${addresses.otherOrigin}/32`], ports: [22], verdict: 'tcp' },
  ],
};

const needs = {
  tools: ['envoy-1.40.0', 'curl', 'openssl', 'ip', 'nft', 'nsenter'],
  whyNot: whyNoNetworkWorld,
} as const;

describeWithMachine('transparent mode', needs, ({ 'envoy-1.40.0': envoy, curl, openssl, nft }) => {
  const temp = createTempFolder();
  const originCa = makeCurrentCa('origins');
  let world: NetworkWorld;
  let gateway: GatewayUnderTest;
  let origin: StartedProcess;

  beforeAll(async () => {
    world = await startNetworkWorld();
    const { certificatePem, keyPem } = issueCredential(originCa, { dnsNames: names, purposes: ['server'] });
    writeFileSync(temp.file('origin.crt'), certificatePem);
    writeFileSync(temp.file('origin.key'), keyPem);
    writeFileSync(temp.file('origin-ca.pem'), caPem(originCa));
    writeFileSync(temp.file('policy.json'), JSON.stringify(policy));
    const script = new URL('../support/network-origin.ts', import.meta.url).pathname;
    const [program, ...words] = [
      ...world.at('origin'),
      process.execPath,
      script,
      temp.file('origin.crt'),
      temp.file('origin.key'),
    ];
    const listen = [originV4, addresses.otherOrigin, originV6];
    origin = startProcess(program, [...words, ...listen], { env: scrubbedEnvironment(temp.path) });
    await origin.waitForOutput(/ready/);
    gateway = await startGatewayUnderTest({
      ...{ envoy, temp, through: world.at('gateway') },
      args: [
        ...['--transparent', String(port), '--allow-from', '10.77.0.0/24', '--allow-from', 'fd77::/64'],
        ...['--policy', temp.file('policy.json'), '--origin-ca', temp.file('origin-ca.pem')],
        ...['a.test', 'pinned.test'].flatMap((name) =>
          [80, 443].flatMap((to) => ['--resolve', `${name}:${to}:${originV4}`]),
        ),
        ...[80, 443].flatMap((to) => ['--resolve', `b.test:${to}:${originV6}`]),
        ...['--resolve', 'inside.test:443:10.99.0.1'],
      ],
    });
    const rules = await runLeafgate(
      ['transparent', 'rules', '--interface', clientLink, '--port', String(port), '--ports', 'all'],
      { envoy, temp },
    );
    const loaded = await world.run('gateway', [nft, '-f', '-'], { input: rules.stdout });
    expect([rules.status, loaded]).toMatchObject([0, { status: 0, stderr: '' }]);
  });
  afterAll(async () => {
    await gateway.stop();
    await origin.stop();
    await world.stop();
    temp.remove();
  });

  const fromClient = (...command: readonly string[]): Promise<CommandResult> =>
    world.run('client', command, { deadlineMs: 20_000 });
  /** the client resolves by itself, as clients do that know of no proxy */
  const get = (url: string, ...more: readonly string[]): Promise<CommandResult> => {
    const resolve = names.flatMap((name) =>
      [80, 443].flatMap((to) => ['--resolve', `${name}:${to}:${name === 'b.test' ? `[${originV6}]` : originV4}`]),
    );
    return fromClient(curl, '-sS', '-g', '-m', '10', '--cacert', gateway.caFile, ...resolve, ...more, url);
  };
  const certificateAt = async (target: string, ...more: readonly string[]): Promise<string> => {
    const { stdout } = await fromClient(openssl, 's_client', '-connect', target, ...more);
    return /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/.exec(stdout)?.[0] ?? 'none';
  };
  const originsOwn = (): string => readFileSync(temp.file('origin.crt'), 'utf8').trim();

  test('intercepts TLS by its server name, over IPv4 and IPv6', async () => {
    for (const [name, client] of [
      ['a.test', /^10\.77\.0\.2:\d+$/],
      ['b.test', /^\[fd77::2\]:\d+$/],
    ] as const) {
      const answer = await get(`https://${name}/seen-${name}`);
      expect([answer.stdout, answer.stderr]).toEqual([expect.stringContaining(`secure ${name}`), '']);
      const record = await gateway.recordOf(name, ({ path }) => path === `/seen-${name}`);
      expect(record).toMatchObject({
        kind: 'request',
        host: name,
        port: 443,
        sni: name,
        decision: 'intercept',
        rule: 'default',
        status: 200,
        protocol: 'HTTP/2',
      });
      expect(record.client).toMatch(client);
    }
  });

  test('forwards clear HTTP by the host that each request names, over IPv4 and IPv6', async () => {
    expect((await get('http://a.test/clear')).stdout).toBe('clear a.test');
    expect((await get('http://b.test/')).stdout).toBe('clear b.test');
    expect((await get(`http://[${originV6}]/`)).stdout).toBe(`clear [${originV6}]`);
    const record = await gateway.recordOf('the clear request', ({ path }) => path === '/clear');
    expect(record).toMatchObject({ kind: 'request', host: 'a.test', decision: 'intercept', status: 200 });
    expect(record.client).toMatch(/^10\.77\.0\.2:/);
  });

  test('relays by a rule for the name, and by one for the address where there is no name', async () => {
    expect(await certificateAt(`${originV4}:443`, '-servername', 'pinned.test')).toBe(originsOwn());
    const named = await gateway.recordOf('the relayed name', ({ host }) => host === 'pinned.test');
    expect(named).toMatchObject({ kind: 'tunnel', decision: 'relay', rule: 'pinned', upstream: `${originV4}:443` });
    expect(await certificateAt(`${addresses.otherOrigin}:443`, '-noservername')).toBe(originsOwn());
    const unnamed = await gateway.recordOf('the relayed address', ({ host }) => host === addresses.otherOrigin);
    expect(unnamed).toMatchObject({ kind: 'tunnel', decision: 'relay', rule: 'by-address' });
  });

  test('resets a name that a rule refuses, and the record names the rule', async () => {
    const answer = await get('https://blocked.test/');
    expect([answer.status, answer.stderr]).toEqual([35, expect.stringMatching(/reset by peer/)]);
    const record = await gateway.recordOf('the refusal', ({ host }) => host === 'blocked.test');
    expect(record).toMatchObject({
      kind: 'connect',
      decision: 'deny',
      rule: 'never',
      outcome: 'refused',
      port: 443,
      reason: { code: 'policy' },
    });
  });

  test('answers clear HTTP that a rule refuses with the rule, whatever address it was sent to', async () => {
    for (const answer of [
      await get('http://blocked.test/'),
      await get(`http://${originV4}/`, '-H', 'Host: blocked.test'),
    ]) {
      expect(JSON.parse(answer.stdout)).toMatchObject({ error: 'blocked_by_policy', rule: 'deny:never', status: 403 });
    }
  });

  test('opens a server that speaks first by a rule for its address only', async () => {
    const greeting = (address: string): Promise<CommandResult> =>
      fromClient('bash', '-c', `exec 3<>/dev/tcp/${address}/22 && timeout 8 head -c 14 <&3`);
    expect((await greeting(addresses.otherOrigin)).stdout).toBe('SSH-2.0-origin');
    expect((await greeting(originV4)).stdout).toBe('');
    const record = await gateway.recordOf('the closed one', ({ host, port: to }) => host === originV4 && to === 22);
    expect(record).toMatchObject({ outcome: 'refused', reason: { code: 'opaque-closed' } });
  });

  test('never lets a ClientHello out unread that comes late', async () => {
    const late = (address: string, name: string): Promise<CommandResult> =>
      fromClient(process.execPath, '-e', lateHello, address, name);
    for (const [address, name] of [
      [originV4, 'a.test'],
      [originV4, 'blocked.test'],
      [addresses.otherOrigin, 'a.test'],
    ] as const) {
      const { stdout } = await late(address, name);
      expect(stdout).toMatch(/^(?:issuer .*leafgate|none)/);
    }
  });

  test.each([
    ['a private address behind the name', 'https://inside.test/'],
    ['a private address', 'http://10.99.0.1/'],
    ['the address of the gateway', `http://${addresses.gateway[0]}/`],
  ])('guards against %s', async (_, url) => {
    const answer = await get(url, '--connect-to', `::${originV4}:`);
    expect(JSON.parse(answer.stdout)).toMatchObject({ error: 'destination_denied' });
    const host = new URL(url).hostname;
    const record = await gateway.recordOf(
      host,
      (candidate) => candidate.host === host && candidate.outcome === 'refused',
    );
    expect(record.reason?.code).toBe('destination-denied');
  });

  test('closes what nobody has redirected, and what comes from a network that is not allowed', async () => {
    expect((await get(`http://${addresses.gateway[0]}:${port}/`)).status).not.toBe(0);
    expect((await get('http://a.test/', '--interface', addresses.stranger)).status).not.toBe(0);
    const record = await gateway.recordOf('the direct one', ({ reason }) => reason?.code === 'not-redirected');
    expect(record).toMatchObject({ outcome: 'refused', decision: 'deny', port });
  });

  test('closes a server name that is no host name', async () => {
    const { status } = await fromClient(
      openssl,
      's_client',
      '-connect',
      `${originV4}:443`,
      '-servername',
      'a b.test',
      '-alpn',
      'http/1.1',
    );
    expect(status).not.toBe(0);
    await gateway.recordOf('the odd name', ({ reason }) => reason?.code === 'no-leaf');
  });

  test('rejects QUIC at once, over IPv4 and IPv6', async () => {
    for (const address of [originV4, originV6]) {
      const { stdout } = await fromClient(process.execPath, '-e', askQuic, address);
      expect(stdout).toMatch(/^ECONNREFUSED after \d{1,3} ms/);
    }
  });

  test('mixes up none of 60 connections at once', async () => {
    const resolve = `--resolve a.test:443:${originV4} --resolve b.test:443:[${originV6}]`;
    const ask = `${curl} -sS -m 20 --cacert ${gateway.caFile} ${resolve} https://$name.test/many/$name.test/$i`;
    const script = `for i in $(seq 30); do for name in a b; do (echo "$name $(${ask})") & done; [ $((i % 10)) != 0 ] || wait; done; wait`;
    const { stdout, stderr } = await fromClient('bash', '-c', script);
    expect(stderr).toBe('');
    const lines = stdout.trim().split('\n');
    expect(lines).toHaveLength(60);
    for (const line of lines) expect(line).toMatch(/^(?:a secure a\.test |b secure b\.test )/);
    const records = await waitFor('a record of each', () => {
      const seen = gateway.records().filter(({ path }) => path?.startsWith('/many/'));
      return seen.length === 60 && seen;
    });
    for (const { path, host, client } of records) {
      expect(path).toContain(`/many/${host}/`);
      expect(client).toMatch(host === 'a.test' ? /^10\.77\.0\.2:/ : /^\[fd77::2\]:/);
    }
    expect(new Set(records.map(({ id }) => id)).size).toBe(60);
  });

  test('leaves no connection behind inside Envoy when tunnels end', async () => {
    const socket = `${gateway.state}/gateway/admin.sock`;
    await waitFor('the last tunnel to end', async () => {
      const { stdout } = await world.run('gateway', [
        curl,
        '-sS',
        '--unix-socket',
        socket,
        'http://x/stats?filter=cluster.redirected.upstream_cx_active',
      ]);
      return stdout.includes('upstream_cx_active: 0');
    });
  });

  test('needs somebody to say who may come', async () => {
    const result = await runLeafgate(['up', '--state', temp.file('other'), '--transparent', String(port)], {
      envoy,
      temp,
    });
    expect([result.status, result.stderr]).toEqual([2, expect.stringContaining('add --allow-from CIDR')]);
  });
});

const lateHello = `
const [address, name] = process.argv.slice(1);
const socket = require('net').connect(443, address);
socket.on('error', () => undefined);
socket.on('close', () => { console.log('none'); process.exit(); });
setTimeout(() => {
  const tls = require('tls').connect({ socket, servername: name, rejectUnauthorized: false });
  tls.on('error', () => undefined);
  tls.on('secureConnect', () => { console.log('issuer', JSON.stringify(tls.getPeerCertificate().issuer)); process.exit(); });
}, 2400);
`;

/** the answer to the first packet is told with the second */
const askQuic = `
const [address] = process.argv.slice(1);
const socket = require('dgram').createSocket(address.includes(':') ? 'udp6' : 'udp4');
const began = Date.now();
const ask = (error) => {
  if (error) { console.log(error.code + ' after ' + (Date.now() - began) + ' ms'); process.exit(); }
  setTimeout(() => socket.send('hello', ask), 5);
};
socket.on('error', ask);
socket.connect(443, address, ask);
setTimeout(() => { console.log('nothing'); process.exit(); }, 5000);
`;

// `leafgate up --policy FILE`: what the file says decides, a changed file decides within a second, and nothing that is open
// or minted is lost by it.
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { mkdirSync, renameSync, symlinkSync, writeFileSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createAdminClient } from '../../src/envoy/admin-client.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { runLeafgate, startGatewayUnderTest, type GatewayUnderTest } from '../support/gateway-under-test.ts';
import { plainGet } from '../support/raw-proxy-client.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { createTestAuthority, issueServerCertificate } from '../support/test-certificates.ts';
import { startTlsOrigin, type TlsOrigin } from '../support/tls-origin.ts';
import { openTunnel, openTunnelSession, type TunnelSession } from '../support/tunnel-session.ts';
import { waitFor } from '../support/wait-for.ts';

/** what a change may take: a second for the file, and what a busy machine adds */
const inForceMs = 2500;

describeWithTools('a gateway with a policy file', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  const temp: TempFolder = createTempFolder();
  const names = ['a.test', 'b.test', 'late.test'];
  let origin: TlsOrigin;
  let echo: Server;
  let gateway: GatewayUnderTest;

  beforeAll(async () => {
    const authority = createTestAuthority();
    writeFileSync(temp.file('origin-ca.pem'), authority.pem);
    origin = await startTlsOrigin({ certificate: issueServerCertificate(authority, { names: ['a.test'] }) });
    echo = createServer((socket) => void socket.on('error', () => undefined).pipe(socket));
    await new Promise<void>((done) => echo.listen(0, '127.0.0.1', done));
    // as a ConfigMap is mounted: the file is a link through a link
    mkdirSync(temp.file('..0'));
    writeFileSync(temp.file('..0/policy.yaml'), policyText());
    symlinkSync('..0', temp.file('..data'));
    symlinkSync('..data/policy.yaml', temp.file('policy.yaml'));
    const resolve = [...names.map((name) => `${name}:${origin.port}`), `raw.test:${echoPort()}`];
    gateway = await startGatewayUnderTest({
      ...{ envoy, temp },
      args: [
        ...['--policy', temp.file('policy.yaml'), '--origin-ca', temp.file('origin-ca.pem')],
        ...['--allow-destination', '127.0.0.1/32'],
        ...resolve.flatMap((one) => ['--resolve', `${one}:127.0.0.1`]),
      ],
    });
  });
  afterAll(async () => {
    await gateway.stop();
    await origin.close();
    echo.close();
    temp.remove();
  });
  beforeEach(async () => {
    await inForce(policyText());
  });

  const echoPort = (): number => (echo.address() as AddressInfo).port;

  function policyText(...more: readonly string[]): string {
    return [
      'default: deny',
      'rules:',
      '  - {name: opaque, hosts: [raw.test], verdict: tcp}',
      '  - {name: read, hosts: [a.test], verdict: intercept}',
      ...more.map((rule) => `  - {${rule}}`),
    ].join('\n');
  }

  let written = 0;
  /** by a swap of the link, as kubelet does it */
  function write(text: string): void {
    written += 1;
    mkdirSync(temp.file(`..${written}`));
    writeFileSync(temp.file(`..${written}/policy.yaml`), text);
    symlinkSync(`..${written}`, temp.file('..new'));
    renameSync(temp.file('..new'), temp.file('..data'));
  }

  /** writes a policy with a mark of its own, and waits until Envoy answers with the mark */
  async function inForce(text: string): Promise<number> {
    const mark = `mark-${written + 1}`;
    const began = performance.now();
    write(`${text}\n  - {name: ${mark}, hosts: [mark.test], verdict: deny}\n`);
    await waitFor('the new policy', async () => (await ruleOf('mark.test')) === `deny:${mark}`, 10_000);
    return performance.now() - began;
  }

  async function ruleOf(host: string): Promise<unknown> {
    return (await plainGet(gateway.proxyPort, `http://${host}/`)).headers['x-leafgate-rule'];
  }

  function session(host: string): Promise<TunnelSession> {
    const ca = readFileSync(gateway.caFile, 'utf8');
    return openTunnelSession({ proxyPort: gateway.proxyPort, host, port: origin.port, ca });
  }

  async function metric(sample: string): Promise<number> {
    const { body } = await createAdminClient(`${gateway.state}/gateway/health.sock`).get('/metrics');
    const line = body.split('\n').find((one) => one.startsWith(`${sample} `));
    return Number(line?.slice(sample.length + 1) ?? NaN);
  }

  async function readyz(): Promise<string> {
    return (await createAdminClient(`${gateway.state}/gateway/health.sock`).get('/readyz')).body;
  }

  test('lets through what a rule names and refuses the rest, naming the rule', async () => {
    const open = await session('a.test');
    expect(await open.get('/')).toMatchObject({ status: 200, body: 'hello' });
    open.close();
    const refused = await openTunnel(gateway.proxyPort, `b.test:${origin.port}`);
    refused.socket.destroy();
    expect(refused.head).toMatch(/^HTTP\/1\.1 403 [^]*x-leafgate-rule: deny:default/i);
    const record = await gateway.recordOf('the refusal', ({ host }) => host === 'b.test');
    expect(record).toMatchObject({ decision: 'deny', rule: 'default', outcome: 'refused' });
  });

  test('refuses the next request of an open connection once a rule does, and lets it go on when none does', async () => {
    const open = await session('a.test');
    expect(await open.get('/before')).toMatchObject({ status: 200 });
    const tookMs = await inForce(policyText().replace('verdict: intercept', 'verdict: deny'));
    const refused = await open.get('/after');
    expect(refused).toMatchObject({ status: 403, headers: { 'x-leafgate-rule': 'deny:read' } });
    expect(JSON.parse(refused.body)).toMatchObject({ error: 'blocked_by_policy', rule: 'deny:read', host: 'a.test' });
    await inForce(policyText());
    expect(await open.get('/again')).toMatchObject({ status: 200 });
    expect(open.isOpen()).toBe(true);
    open.close();
    expect(tookMs).toBeLessThan(inForceMs);
  });

  test('leaves open tunnels and minted leaves alone', async () => {
    const first = await session('a.test');
    const raw = await openTunnel(gateway.proxyPort, `raw.test:${echoPort()}`);
    let echoed = '';
    raw.socket.on('data', (chunk: Buffer) => (echoed += chunk.toString()));
    raw.socket.write('one ');
    await waitFor('the echo', () => echoed === 'one ');
    await inForce(policyText('name: more, hosts: [more.test], verdict: relay'));
    raw.socket.write('two');
    await waitFor('the echo', () => echoed === 'one two');
    raw.socket.destroy();
    const second = await session('a.test');
    expect(second.leafSerial).toBe(first.leafSerial);
    first.close();
    second.close();
  });

  test('takes the leaf of a name that no rule may intercept any more from Envoy, and mints one when a rule does again', async () => {
    const held = await session('a.test');
    held.close();
    const before = await metric('leafgate_sds_live_names');
    const removed = await metric('leafgate_sds_answers_total{kind="removal"}');
    await inForce(policyText().replace('verdict: intercept', 'verdict: relay'));
    await waitFor('the removal', async () => (await metric('leafgate_sds_answers_total{kind="removal"}')) > removed);
    expect(await metric('leafgate_sds_live_names')).toBe(before - 1);
    // the leaf is there as soon as Envoy lets a client in
    await inForce(policyText());
    const again = await session('a.test');
    expect(await again.get('/')).toMatchObject({ status: 200 });
    again.close();
    await inForce(policyText('name: new, hosts: [late.test], verdict: intercept'));
    // whose handshake ends well only with a leaf of its name
    (await session('late.test')).close();
  });

  test('goes on with the last good policy when the file is broken, and says so everywhere', async () => {
    const refusals = await metric('leafgate_policy_reloads_total{taken="no"}');
    write('default: maybe\nrulez: []\n');
    await gateway.process.waitForOutput(/policy refused, the last good one goes on deciding/);
    await gateway.process.waitForOutput(/policy\.yaml:1:10: default is maybe/);
    await gateway.process.waitForOutput(/policy\.yaml:2:1: rulez is no key/);
    expect(await readyz()).toMatch(/the last good policy decides: .*policy\.yaml:1:10: default is maybe.*and 1 more/);
    expect(await metric('leafgate_policy_is_current')).toBe(0);
    expect(await metric('leafgate_policy_reloads_total{taken="no"}')).toBe(refusals + 1);
    const open = await session('a.test');
    expect(await open.get('/')).toMatchObject({ status: 200 });
    open.close();
    await inForce(policyText());
    expect(await metric('leafgate_policy_is_current')).toBe(1);
    expect(await readyz()).not.toMatch(/last good/);
  });

  test('counts each rule apart for the proxy and for tunnels, those that never decided at 0', async () => {
    await inForce(
      policyText('name: never, hosts: [never.test], verdict: deny', 'name: hit, hosts: [b.test], verdict: intercept'),
    );
    const of = (rule: string, leg: string): Promise<number> =>
      metric(`leafgate_policy_decisions_total{rule="${rule}",leg="${leg}"}`);
    const open = await session('b.test');
    for (const path of ['/1', '/2', '/3']) await open.get(path);
    open.close();
    expect(await of('intercept:hit', 'proxy')).toBe(1);
    expect(await of('intercept:hit', 'tunnel')).toBe(3);
    expect([await of('deny:never', 'proxy'), await of('deny:never', 'tunnel')]).toEqual([0, 0]);
    const command = async (...args: readonly string[]): Promise<string> => {
      const result = await runLeafgate(['policy', ...args, '--state', gateway.state], { envoy, temp });
      return result.stdout;
    };
    const hits = await command('hits');
    expect(hits).toMatch(/^ {2}intercept:hit +1 +3$/m);
    expect(hits).toMatch(/^ {2}never: .*deny:never/m);
    expect(hits).toMatch(/of an earlier policy/);
    expect(await command('explain', 'never.test')).toMatch(
      /^never\.test:443, .*: deny, by rule never of the gateway on http/,
    );
    const json = JSON.parse(await command('hits', '--json')) as { rules: readonly object[] };
    expect(json.rules).toContainEqual({ outcome: 'intercept:hit', proxy: 1, tunnel: 3, inForce: true });
  });
});

describeWithTools('the rules of `run`', ['envoy-1.40.0', 'curl'], ({ 'envoy-1.40.0': envoy, curl }) => {
  const rules = [
    { name: 'closed', hosts: ['a.test'], ports: [81], verdict: 'deny' },
    { name: 'open', hosts: ['a.test'], verdict: 'intercept' },
  ];
  test.each([
    ['flags', () => ['--allow', 'a.test', '--deny', 'a.test:81'], 'a.test:81'],
    ['a file', (file: string) => ['--policy', file], 'closed'],
  ])('decide, from %s: what is allowed is let through, and the rest is refused', async (_, policyArgs, closed) => {
    const temp = createTempFolder();
    const origin = createHttpServer((_request, response) => response.end('hello'));
    await new Promise<void>((done) => origin.listen(0, '127.0.0.1', done));
    const { port } = origin.address() as AddressInfo;
    writeFileSync(temp.file('policy.json'), JSON.stringify({ default: 'deny', rules }));
    try {
      const given = [...policyArgs(temp.file('policy.json')), '--allow-destination', '127.0.0.1/32'];
      const resolve = ['--resolve', `a.test:${port}:127.0.0.1`];
      const urls = [`http://a.test:${port}/`, 'http://a.test:81/', 'http://b.test/'];
      const asked = urls.flatMap((url) => ['-o', '/dev/null', url]);
      const show = ['-sS', '-w', '%{http_code} %header{x-leafgate-rule}\n', ...asked];
      const args = ['run', '--state', temp.file('state'), ...given, ...resolve, '--', curl, ...show];
      const { stdout } = await runLeafgate(args, { envoy, temp });
      const seen = stdout.trimEnd().split('\n');
      expect(seen.map((line) => line.trim())).toEqual(['200', `403 deny:${closed}`, '403 deny:default']);
    } finally {
      origin.close();
      temp.remove();
    }
  });
});

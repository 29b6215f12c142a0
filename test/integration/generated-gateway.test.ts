// The generated configuration in a real Envoy, leg by leg: what is let through, what is refused and in which words, what
// follows a changed file, and whose identity a tunnel carries.
import { createServer, type Server } from 'node:http';
import {
  connect as connectTcp,
  createServer as createTcpServer,
  type AddressInfo,
  type Server as TcpServer,
} from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { policyDocument } from '../../src/bootstrap/policy-filter.ts';
import { policyFile, renderJson, resolveFile } from '../../src/bootstrap/rendered-files.ts';
import { resolveDocument } from '../../src/bootstrap/resolve-filter.ts';
import type { AccessLogLine } from '../../src/observe/access-log-line.ts';
import { explainClientTls } from '../../src/observe/explain-client-tls.ts';
import { parseListenAddress } from '../../src/settings/parse-listen.ts';
import { parseCidrSetting, parseResolveOverride } from '../../src/settings/parse-targets.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { gatewaySpec } from '../support/gateway-spec.ts';
import { replaceRenderedFile, startGeneratedGateway, type GeneratedGateway } from '../support/generated-gateway.ts';
import { connectRequest, plainGet, rawExchange } from '../support/raw-proxy-client.ts';
import { startNxdomainServer, type NxdomainServer } from '../support/nxdomain-server.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { handshakeInTunnel } from '../support/tunnel-tls.ts';
import { waitFor } from '../support/wait-for.ts';
import { policy, rule } from '../unit/policy/policy-fixtures.ts';

const rules = [
  rule('blocked.test', 'deny', { name: 'blocked' }),
  rule('raw.test', 'tcp', { name: 'raw' }),
  rule('pinned.test', 'relay', { name: 'pinned' }),
];
const hosts = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'].map((letter) => `${letter}.test`);

describeWithTools('the generated gateway', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  let folder: TempFolder;
  let gateway: GeneratedGateway;
  let spec = gatewaySpec();
  let dns: NxdomainServer;
  let http: Server;
  let speaker: TcpServer;
  let httpPort = 0;
  let rawPort = 0;

  beforeAll(async () => {
    folder = createTempFolder();
    http = createServer((request, response) => {
      const text = `origin of ${request.headers.host ?? ''}\n`;
      response.writeHead(200, { 'content-length': Buffer.byteLength(text) }).end(text);
    });
    speaker = createTcpServer((socket) => {
      socket.on('error', () => undefined).write('banner\n');
      socket.on('data', (chunk) => socket.write(`echo ${chunk.toString()}`));
    });
    [httpPort, rawPort] = [await listening(http), await listening(speaker)];
    dns = await startNxdomainServer();
    const overrides = [...hosts, 'blocked.test', 'pinned.test'].map((name) => `${name}:${httpPort}:127.0.0.1`);
    const raw = ['raw.test', 'pinned.test', 'a.test'].map((name) => `${name}:${rawPort}:127.0.0.1`);
    spec = gatewaySpec(
      {
        listen: parseListenAddress('127.0.0.1:0'),
        dnsServers: [parseListenAddress(`127.0.0.1:${dns.port}`)],
        policy: policy('intercept', ...rules),
        resolve: [...overrides, ...raw].map((text) => parseResolveOverride(text)),
        allowFrom: [parseCidrSetting('127.0.0.1', '--allow-from')],
        allowDestinations: [parseCidrSetting('127.0.0.1', '--allow-destination')],
      },
      folder.path,
    );
    gateway = await startGeneratedGateway(envoy, spec);
  });
  afterAll(async () => {
    await gateway.stop();
    await dns.close();
    http.closeAllConnections();
    http.close();
    speaker.close();
    folder.remove();
  });

  const inTunnel = (name: string, headers = '', path = '/'): Parameters<typeof rawExchange>[0] => ({
    port: gateway.port,
    send: connectRequest(`${name}:${httpPort}`),
    then: `GET ${path} HTTP/1.1\r\nConnection: close\r\n${headers || `Host: ${name}:${httpPort}\r\n`}\r\n`,
  });

  test('forwards clear requests, absolute-form and inside a CONNECT, whatever the spelling', async () => {
    for (const spelling of ['a.test', 'A.Test', 'a.test.', 'a.test..']) {
      const plain = await plainGet(gateway.port, `http://${spelling}:${httpPort}/`);
      expect([plain.status, plain.body.toLowerCase()]).toEqual([200, expect.stringContaining('origin of a.test')]);
      const inside = await rawExchange(inTunnel(spelling));
      expect([inside.status, inside.body.toLowerCase()]).toEqual([200, expect.stringContaining('origin of a.test')]);
    }
  });

  test('names the rule in header, body and record of a refusal', async () => {
    for (const answer of [
      await plainGet(gateway.port, `http://BLOCKED.test..:${httpPort}/`),
      await rawExchange({ port: gateway.port, send: connectRequest('blocked.test:443') }),
    ]) {
      const body = JSON.parse(answer.body) as { id: string };
      expect(answer).toMatchObject({
        status: 403,
        headers: { 'x-leafgate-error': 'blocked_by_policy', 'x-leafgate-rule': 'deny:blocked' },
      });
      expect(body).toMatchObject({ error: 'blocked_by_policy', rule: 'deny:blocked', host: 'blocked.test' });
      const line = await gateway.lineOf('the refusal', ({ id }) => id === body.id);
      expect(line.text).toMatchObject({ rule: 'deny:blocked', host: 'blocked.test' });
    }
  });

  test.each(['127.0.0.2', '10.0.0.1', '169.254.169.254', '[::ffff:127.0.0.1]', '[::1]', '[fd00::1]'])(
    'refuses to dial %s before any connect',
    async (address) => {
      const answer = await plainGet(gateway.port, `http://${address}/`);
      expect(answer.status).toBe(403);
      expect(JSON.parse(answer.body)).toMatchObject({ error: 'destination_denied' });
    },
  );

  test('refuses a Host that is not the CONNECT’s', async () => {
    const answer = await rawExchange(inTunnel('a.test', `Host: b.test:${httpPort}\r\n`));
    expect([answer.status, JSON.parse(answer.body)]).toEqual([
      403,
      expect.objectContaining({ error: 'name_mismatch' }),
    ]);
  });

  test.each([
    ['a server that speaks first', '', 'banner'],
    ['a client that speaks first', 'hello', 'echo hello'],
    ['something that looks like HTTP', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n', 'echo GET'],
  ])('forwards %s unread where a tcp rule says so', async (_, then, until) => {
    const send = connectRequest(`raw.test:${rawPort}`);
    const answer = await rawExchange({ port: gateway.port, send, ...(then === '' ? {} : { then }), until });
    expect(answer.text).toContain(until);
  });

  test.each([
    ['intercepted', 'a.test', 'SSH-2.0-client\r\n'],
    ['intercepted', 'a.test', undefined],
    ['relayed', 'pinned.test', 'SSH-2.0-client\r\n'],
    ['relayed', 'pinned.test', undefined],
  ])('closes an opaque tunnel to a host that is %s: %s, client sends %j', async (_, name, then) => {
    const send = connectRequest(`${name}:${rawPort}`);
    const answer = await rawExchange({ port: gateway.port, send, ...(then === undefined ? {} : { then }) });
    expect(answer.closed).toBe(true);
    expect(answer.text).not.toContain('banner');
    const line = await gateway.lineOf('the closed tunnel', ({ leg, text }) => {
      return leg === 'listener' && text.connect === `${name}:${rawPort}` && text.flags === 'NR';
    });
    expect(line.text.chain).toBeUndefined();
  });

  test('answers for the self-check on no leg that is in clear', async () => {
    expect((await plainGet(gateway.port, 'http://self-check.leafgate.invalid/')).status).toBe(421);
    const inside = await rawExchange(inTunnel('self-check.leafgate.invalid'));
    expect(inside.status).toBe(421);
  });

  test('says in words and not in Envoy’s text that an origin failed', async () => {
    const closedPort = httpPort === 1 ? 2 : 1;
    replaceRenderedFile(
      spec,
      resolveFile,
      renderJson(resolveDocument([...spec.resolve, parseResolveOverride(`dead.test:${closedPort}:127.0.0.1`)])),
    );
    const answer = await waitFor('the new override', async () => {
      const next = await plainGet(gateway.port, `http://dead.test:${closedPort}/`);
      return next.body.includes('"cause":"dns"') ? undefined : next;
    });
    expect([answer.status, answer.headers['x-leafgate-error']]).toEqual([502, 'origin_failed']);
    expect(JSON.parse(answer.body)).toMatchObject({ cause: 'refused' });
    expect(answer.text).not.toMatch(/connect_error|connection_failure|reset/i);
  });

  test('closes whoever is not in a listed network before reading a byte', async () => {
    const answer = await rawExchange({ port: gateway.port, localAddress: '127.0.0.2', send: 'GET / HTTP/1.1\r\n\r\n' });
    expect(answer).toMatchObject({ text: '', closed: true });
    const stats = await gateway.admin.readStats('no_filter_chain_match');
    expect(
      stats.get('listener.127.0.0.1_0.no_filter_chain_match') ?? stats.get('listener.explicit.no_filter_chain_match'),
    ).toBe(1);
  });

  test('takes a new policy at once, keeps the last good one over a broken file, and lets tunnels live', async () => {
    const tunnel = rawExchange({
      port: gateway.port,
      send: connectRequest(`raw.test:${rawPort}`),
      then: 'late',
      thenAfterMs: 1500,
      until: 'echo late',
    });
    const isBlocked = async (): Promise<boolean> =>
      (await plainGet(gateway.port, `http://b.test:${httpPort}/`)).status === 403;
    const more = policy('intercept', ...rules, rule('b.test', 'deny'));
    replaceRenderedFile(spec, policyFile, renderJson(policyDocument(more)));
    await waitFor('the new rule', isBlocked, 2000);
    replaceRenderedFile(spec, policyFile, '{"resources": [{');
    await waitFor('the broken file to be refused', async () => {
      const stats = await gateway.admin.readStats('extension_config_discovery.*policy.*update_failure');
      return [...stats.values()].some((count) => count > 0);
    });
    expect(await isBlocked()).toBe(true);
    replaceRenderedFile(spec, policyFile, renderJson(policyDocument(spec.policy)));
    await waitFor('the old rules', async () => !(await isBlocked()), 2000);
    expect((await tunnel).text).toContain('echo late');
  });

  test('tells a client that left before it saw a certificate from one that had none in time', async () => {
    const early = connectTcp(gateway.port, '127.0.0.1');
    early.write(connectRequest('a.test:443'));
    await new Promise((done) => early.once('data', done));
    connectTls({ socket: early, servername: 'a.test' }).on('error', () => undefined);
    // nobody mints here: Envoy has the ClientHello and waits
    await waitFor('Envoy to ask for the leaf', async () => {
      const stats = await gateway.admin.readStats('on_demand_secret.cert_requested');
      return [...stats.values()].some((count) => count > 0);
    });
    early.destroy();
    const isInner = ({ leg, text }: AccessLogLine): boolean => leg === 'listener' && text.sni !== undefined;
    const left = await gateway.lineOf('the client that left', (line) => isInner(line) && line.text.sni === 'a.test');
    expect(explainClientTls(left).code).toBe('client-left');
    const patient = { proxyPort: gateway.port, authority: 'b.test:443', serverName: 'b.test' };
    expect((await handshakeInTunnel(patient)).kind).toBe('failed');
    const late = await gateway.lineOf('the client that waited', (line) => isInner(line) && line.text.sni === 'b.test');
    expect(explainClientTls(late).code).toBe('leaf-timeout');
  });

  test('never mixes up two of 200 concurrent tunnels: client, authority and id stay together', async () => {
    const answers = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const name = hosts[index % hosts.length] ?? '';
        const answer = await rawExchange({ ...inTunnel(name, '', '/tunnel'), deadlineMs: 30_000 });
        return answer.body.includes(`origin of ${name}:${httpPort}`);
      }),
    );
    expect(answers.every(Boolean)).toBe(true);
    const inner = await waitFor('a line of every request', () => {
      const lines = gateway.lines().filter(({ leg, text }) => leg === 'clear' && text.path === '/tunnel');
      return lines.length === 200 ? lines : undefined;
    });
    const opened = gateway.lines().filter(({ leg, type }) => leg === 'connect' && type.includes('Established'));
    const byId = new Map(opened.map((line) => [line.id, line]));
    for (const { id, text } of inner) {
      const outer = byId.get(id);
      expect([text.client, text.connect]).toEqual([outer?.text.client, outer?.text.connect]);
    }
  });
});

function listening(server: Server | TcpServer): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

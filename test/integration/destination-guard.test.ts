// Where clients must not get to, on a real Envoy: literals are refused before the DNS cache, names that lead back to the
// gateway on every leg, and nothing that only looks like either is refused with them.
import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { explainRequest } from '../../src/observe/explain-request.ts';
import { parseListenAddress } from '../../src/settings/parse-listen.ts';
import { parseCidrSetting } from '../../src/settings/parse-targets.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { freePort } from '../support/free-port.ts';
import { gatewaySpec } from '../support/gateway-spec.ts';
import { startGeneratedGateway, type GeneratedGateway } from '../support/generated-gateway.ts';
import { connectRequest, plainGet, rawExchange, type RawAnswer } from '../support/raw-proxy-client.ts';
import { startScriptedDns, type ScriptedDns } from '../support/scripted-dns.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { handshakeInTunnel } from '../support/tunnel-tls.ts';
import { policy, rule } from '../unit/policy/policy-fixtures.ts';

const dead = '192.0.2.1';
const names = {
  'loop.test': ['127.0.0.1'],
  'loop-tcp.test': ['127.0.0.1'],
  'loop-relay.test': ['127.0.0.1'],
  'loop-second.test': [dead, '127.0.0.1'],
  'loop-mapped.test': ['::ffff:127.0.0.1'],
  'loop-unspecified.test': ['0.0.0.0'],
  'other.test': ['127.0.0.2'],
  'other-tcp.test': ['127.0.0.2'],
};

describeWithTools('the destination guard', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  let folder: TempFolder;
  let gateway: GeneratedGateway;
  let dns: ScriptedDns;
  /** on another address of this machine, at the gateway's own port */
  let sibling: Server;

  beforeAll(async () => {
    folder = createTempFolder();
    dns = await startScriptedDns({ names });
    const port = await freePort();
    sibling = createServer((_, response) => void response.writeHead(200, { 'content-length': 7 }).end('sibling'));
    await new Promise<void>((resolve) => sibling.listen(port, '127.0.0.2', resolve));
    const opened = ['127.0.0.0/30', '0.0.0.0', '::ffff:127.0.0.1', dead];
    const spec = gatewaySpec(
      {
        listen: parseListenAddress(`127.0.0.1:${port}`),
        dnsServers: [parseListenAddress(`127.0.0.1:${dns.port}`)],
        policy: policy(
          'intercept',
          ...[rule('loop-tcp.test', 'tcp'), rule('other-tcp.test', 'tcp'), rule('loop-relay.test', 'relay')],
          rule('10.7.0.0/16', 'deny', { name: 'seven' }),
        ),
        allowDestinations: opened.map((text) => parseCidrSetting(text, '--allow-destination')),
      },
      folder.path,
    );
    gateway = await startGeneratedGateway(envoy, spec);
  });
  afterAll(async () => {
    await gateway.stop();
    await dns.close();
    sibling.closeAllConnections();
    sibling.close();
    folder.remove();
  });

  const connectTo = (authority: string): Promise<RawAnswer> =>
    rawExchange({ port: gateway.port, send: connectRequest(authority) });
  const inTunnel = (authority: string, host = authority): Promise<RawAnswer> =>
    rawExchange({
      port: gateway.port,
      send: connectRequest(authority),
      then: `GET /tunnel HTTP/1.1\r\nConnection: close\r\nHost: ${host}\r\n\r\n`,
    });
  const cachedHosts = async (): Promise<number> => {
    const stats = await gateway.admin.readStats('^dns_cache\\..*\\.host_added$');
    return [...stats.values()].reduce((sum, count) => sum + count, 0);
  };
  const reasonOf = async (answer: RawAnswer): Promise<string | undefined> => {
    const { id } = JSON.parse(answer.body) as { id: string };
    const line = await gateway.lineOf('the refusal', (candidate) => candidate.id === id);
    return explainRequest(line)?.words;
  };

  test.each([
    ...['10.0.0.1', '127.0.0.4', '169.254.169.254', '0.0.0.1', '224.0.0.1', '168.63.129.16', '10.0.0.1.', '10.0.0.1..'],
    ...['[::1]', '[fd00::1]', '[FE80::1]', '[::ffff:10.0.0.1]', '[::ffff:a00:1]', '[64:ff9b::a00:1]', '[2002::1]'],
  ])('refuses the literal %s at CONNECT and in clear, and its DNS cache never hears of it', async (address) => {
    const before = await cachedHosts();
    for (const answer of [await connectTo(`${address}:443`), await plainGet(gateway.port, `http://${address}/`)]) {
      expect([answer.status, answer.headers['x-leafgate-error']]).toEqual([403, 'destination_denied']);
      expect(JSON.parse(answer.body)).toMatchObject({ error: 'destination_denied', status: 403 });
      expect(await reasonOf(answer)).toMatch(/closed to clients; open one with --allow-destination/);
    }
    expect(await cachedHosts()).toBe(before);
  });

  test.each([
    '010.0.0.1',
    '0x7f000001',
    '0x7f.1',
    '2130706433',
    '127.1',
    '8.8.8.08',
    '1.2.3.4.5',
    '256.1.1.1',
    '08',
    '0x',
  ])('says of %s that it is no address, and asks no DNS server', async (host) => {
    const before = await cachedHosts();
    for (const answer of [await connectTo(`${host}:443`), await plainGet(gateway.port, `http://${host}/`)]) {
      expect([answer.status, answer.headers['x-leafgate-error']]).toEqual([403, 'destination_denied']);
      expect(await reasonOf(answer)).toMatch(/is a number and no address/);
    }
    expect(await cachedHosts()).toBe(before);
  });

  test.each(['[fe80::1%25lo]', '[fe80::1%lo]', '[::1', '[1:2]'])('gives %s an answer of its own', async (host) => {
    const answer = await connectTo(`${host}:443`);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.text).not.toBe('');
  });

  test('asks for names that only hold numbers', async () => {
    for (const host of ['1.2.3.4.test', '0x7f.test', '10.test', '127.0.0.1.nip.test']) {
      expect((await plainGet(gateway.port, `http://${host}/`)).headers['x-leafgate-cause']).toBe('dns');
    }
  });

  test('leaves it to a rule to refuse what a rule refuses, and names it', async () => {
    const answer = await connectTo('10.7.0.1:443');
    expect([answer.status, answer.headers['x-leafgate-rule']]).toEqual([403, 'deny:seven']);
  });

  test.each(['loop.test', 'loop-second.test', 'loop-mapped.test', 'loop-unspecified.test'])(
    'refuses %s, which leads back to the gateway, once: in clear and in a tunnel',
    async (host) => {
      const authority = `${host}:${gateway.port}`;
      for (const answer of [await plainGet(gateway.port, `http://${authority}/clear`), await inTunnel(authority)]) {
        // of two addresses the other one is tried, and is dead
        expect([answer.status, answer.headers['x-leafgate-error']]).toEqual(
          host === 'loop-second.test' ? [502, 'origin_failed'] : [403, 'destination_denied'],
        );
      }
      const rounds = gateway.lines().filter(({ text }) => text.host === host && text.path !== undefined);
      expect(rounds.length).toBeLessThanOrEqual(2);
    },
    15_000,
  );

  test('closes a tunnel to the gateway itself that a rule would have let through unread', async () => {
    const authority = `loop-tcp.test:${gateway.port}`;
    const then = connectRequest('deeper.test:80');
    const answer = await rawExchange({ port: gateway.port, send: connectRequest(authority), then });
    expect(answer).toMatchObject({ status: 200, body: '', closed: true });
    const relayed = {
      proxyPort: gateway.port,
      authority: `loop-relay.test:${gateway.port}`,
      serverName: 'loop-relay.test',
    };
    expect(await handshakeInTunnel(relayed)).toMatchObject({ kind: 'failed' });
    for (const host of ['loop-tcp.test', 'loop-relay.test']) {
      const line = await gateway.lineOf('the tunnel', ({ leg, text }) => leg === 'tcp' && text.host === host);
      expect(explainRequest(line)).toEqual({
        code: 'origin-not-resolved',
        words: 'the name has no address, or only ones that are closed to clients',
      });
    }
  });

  test('reaches another address of the same machine at the same port', async () => {
    const authority = `other.test:${gateway.port}`;
    expect((await plainGet(gateway.port, `http://${authority}/`)).body).toBe('sibling');
    expect((await inTunnel(authority)).body).toBe('sibling');
    expect((await inTunnel(`other-tcp.test:${gateway.port}`)).body).toBe('sibling');
    expect((await plainGet(gateway.port, `http://127.0.0.2:0${gateway.port}/`)).body).toBe('sibling');
  });

  test.each([
    ['its port', (port: number) => `other.test:${port}`, 200],
    ['its port with zeros', (port: number) => `other.test:00${port}`, 200],
    ['no port', () => 'other.test', 200],
    ['another port', () => 'other.test:8443', 403],
    ['port 80, the scheme’s', () => 'other.test:80', 403],
    ['its port and one digit more', (port: number) => `other.test:${port}1`, 403],
  ])('lets a Host with %s be that of the CONNECT, or refuses it: %s', async (_, host, status) => {
    const answer = await inTunnel(`other.test:${gateway.port}`, host(gateway.port));
    expect(answer.status).toBe(status);
    if (status === 403) expect(JSON.parse(answer.body)).toMatchObject({ error: 'name_mismatch' });
  });
});

// Where a name leads: overrides as curl has them, on every leg and while the gateway runs, and what DNS servers say, late,
// wrong or not at all. The name stays what is compared, verified and told to the origin.
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { renderJson, resolveFile } from '../../src/bootstrap/rendered-files.ts';
import { resolveDocument } from '../../src/bootstrap/resolve-filter.ts';
import { parseListenAddress } from '../../src/settings/parse-listen.ts';
import { parseResolveOverride } from '../../src/settings/parse-targets.ts';
import { openBlackHole } from '../support/black-hole.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { startGatewayUnderTest } from '../support/gateway-under-test.ts';
import { replaceRenderedFile } from '../support/generated-gateway.ts';
import { askHttp1 } from '../support/http-in-tunnel.ts';
import { startHttpOrigin, type HttpOrigin } from '../support/http-origin.ts';
import { openTlsInTunnel, openTunnel } from '../support/open-tunnel.ts';
import { plainGet, rawExchange, connectRequest } from '../support/raw-proxy-client.ts';
import { startScriptedDns, type ScriptedDns } from '../support/scripted-dns.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { createTestAuthority, issueServerCertificate } from '../support/test-certificates.ts';
import { handshakeInTunnel } from '../support/tunnel-tls.ts';
import { waitFor } from '../support/wait-for.ts';
import { startWholeGateway, type WholeGateway } from '../support/whole-gateway.ts';
import { policy, rule } from '../unit/policy/policy-fixtures.ts';

describeWithTools('the address of an origin', ['envoy-1.40.0', 'python'], (tools) => {
  const { 'envoy-1.40.0': envoy, python } = tools;
  const authority = createTestAuthority({ organisation: 'origin of this test' });
  const origins: { [name in 'tls' | 'clear' | 'clear6' | 'other']?: HttpOrigin } = {};
  let echo: Server;
  /** takes questions and says nothing */
  let silent: UdpSocket;
  let second: ScriptedDns;
  let gateway: WholeGateway;
  let closeBlackHole: () => Promise<unknown>;

  beforeAll(async () => {
    origins.tls = await startHttpOrigin({ certificate: issueServerCertificate(authority, { names: ['named.test'] }) });
    origins.clear = await startHttpOrigin();
    origins.clear6 = await startHttpOrigin({ address: '::1' });
    origins.other = await startHttpOrigin({ address: '127.0.0.2' });
    echo = createServer((socket) => socket.on('error', () => undefined).pipe(socket));
    await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve));
    silent = createSocket('udp4');
    await new Promise<void>((resolve) => silent.bind(0, '127.0.0.1', () => resolve()));
    second = await startScriptedDns({
      ttlSeconds: 0,
      names: {
        'second.test': ['127.0.0.1'],
        'refused-first.test': ['127.0.0.9', '127.0.0.1'],
        'black-hole.test': ['127.0.0.7', '127.0.0.1'],
        'half-answered.test': (_, type) => (type === 'A' ? ['127.0.0.1'] : 'silence'),
        'both.test': ['::1', '127.0.0.1'],
        'born-later.test': (nth) => (nth === 0 ? 'no such name' : ['127.0.0.1']),
        'ill-at-first.test': (nth) => (nth < 6 ? 'server failure' : ['127.0.0.1']),
        'only-a.test': ['127.0.0.1'],
      },
    });
    gateway = await startWholeGateway({
      ...{ envoy, origins: authority, allowDestinations: ['127.0.0.0/8', '::1'] },
      spec: {
        dnsServers: [silent.address().port, second.port].map((port) => parseListenAddress(`127.0.0.1:${port}`)),
        policy: policy('intercept', rule('opaque.test', 'tcp'), rule('relayed.test', 'relay')),
      },
    });
    closeBlackHole = await openBlackHole(python, '127.0.0.7', port('clear'));
  });
  afterAll(async () => {
    await gateway.stop();
    await Promise.all(Object.values(origins).map((origin) => origin.close()));
    await second.close();
    await closeBlackHole();
    silent.close();
    echo.close();
  });

  function port(name: keyof typeof origins): number {
    return origins[name]?.port ?? 0;
  }

  const echoPort = (): number => (echo.address() as AddressInfo).port;
  const get = (host: string, to = port('clear')) => plainGet(gateway.port, `http://${host}:${to}/`);

  let marks = 0;
  /** writes the overrides and waits until Envoy has taken them, by one more for a name of its own */
  async function override(...texts: readonly string[]): Promise<void> {
    const mark = `mark-${(marks += 1)}.test`;
    const all = [...texts, `${mark}:${port('clear')}:127.0.0.1`].map((text) => parseResolveOverride(text));
    replaceRenderedFile(gateway.spec, resolveFile, renderJson(resolveDocument(all)));
    await waitFor('the overrides', async () => (await get(mark)).status === 200, 2000);
  }

  describe('as an override', () => {
    test('is dialled on every leg, and the name stays in SNI, Host and verification', async () => {
      const hosts = ['clear.test', 'opaque.test'].map((host) => `${host}:${port('clear')}:127.0.0.1`);
      const overTls = ['named.test', 'relayed.test'].map((host) => `${host}:${port('tls')}:127.0.0.1`);
      await override(...hosts, ...overTls, `opaque.test:${echoPort()}:127.0.0.1`);
      const inClear = `clear.test:${port('clear')}`;
      expect((await plainGet(gateway.port, `http://${inClear}/plain`)).status).toBe(200);
      const tunnel = await openTunnel({ proxyPort: gateway.port, authority: inClear });
      expect(await askHttp1(tunnel, { authority: inClear, path: '/tunnel' })).toMatchObject({ status: 200 });
      tunnel.destroy();
      for (const path of ['/plain', '/tunnel']) expect(origins.clear?.seen(path)?.headers['host']).toBe(inClear);
      const named = `named.test:${port('tls')}`;
      const tls = await openTlsInTunnel({
        proxyPort: gateway.port,
        authority: named,
        ca: gateway.caPem,
        alpn: ['http/1.1'],
      });
      // the origin has a certificate for this name alone, and was verified by it
      expect(await askHttp1(tls, { authority: named, path: '/tls' })).toMatchObject({ status: 200 });
      tls.destroy();
      const relayed = { proxyPort: gateway.port, authority: `relayed.test:${port('tls')}`, serverName: 'relayed.test' };
      expect(await handshakeInTunnel(relayed)).toMatchObject({ subjectAltName: 'DNS:named.test' });
      const opaque = {
        port: gateway.port,
        send: connectRequest(`opaque.test:${echoPort()}`),
        then: 'hello',
        until: 'hello',
      };
      expect((await rawExchange(opaque)).text).toContain('hello');
    });

    test('holds for its own port, in any spelling of the host, to either family, and the last one counts', async () => {
      await override(
        `spelled.test:${port('clear')}:127.0.0.2`,
        `Spelled.TEST.:${port('clear')}:127.0.0.1`,
        `spelled.test:${port('clear6')}:[::1]`,
        `other.test:${port('clear6')}:::1`,
      );
      for (const host of ['spelled.test', 'SPELLED.test', 'spelled.test.', 'spelled.test..']) {
        expect((await get(host)).status, host).toBe(200);
        expect((await get(host, port('clear6'))).status, host).toBe(200);
      }
      expect((await get('other.test', port('clear6'))).status).toBe(200);
      const elsewhere = await get('other.test');
      expect([elsewhere.status, elsewhere.headers['x-leafgate-cause']]).toEqual([502, 'dns']);
    });

    test('for any name holds where the name has none of its own, and never for an address', async () => {
      await override(`*:${port('clear')}:127.0.0.9`, `own.test:${port('clear')}:127.0.0.1`);
      expect((await get('own.test')).status).toBe(200);
      expect((await get('127.0.0.1')).status).toBe(200);
      const others = await get('whoever.test');
      expect([others.status, others.headers['x-leafgate-cause']]).toEqual([502, 'refused']);
    });

    test('is judged by the destination guard like any other address', async () => {
      await override(`guarded.test:${port('clear')}:10.0.0.1`, `mapped.test:${port('clear')}:::ffff:10.0.0.1`);
      for (const host of ['guarded.test', 'mapped.test']) {
        const answer = await get(host);
        expect([answer.status, answer.headers['x-leafgate-error']]).toEqual([403, 'destination_denied']);
      }
    });

    test('changes at once, leaves open tunnels alone, and a broken file changes nothing', async () => {
      await override(`moved.test:${port('other')}:127.0.0.2`);
      const target = `moved.test:${port('other')}`;
      const tunnel = await openTunnel({ proxyPort: gateway.port, authority: target });
      expect(
        await askHttp1(tunnel, { authority: target, path: '/before', headers: { connection: 'keep-alive' } }),
      ).toMatchObject({ status: 200 });
      await override(`moved.test:${port('other')}:127.0.0.9`);
      expect((await get('moved.test', port('other'))).status).toBe(502);
      expect(await askHttp1(tunnel, { authority: target, path: '/after' })).toMatchObject({ status: 200 });
      tunnel.destroy();
      const failures = async (): Promise<number> => {
        const stats = await gateway.admin.readStats('extension_config_discovery.*resolve.*update_failure');
        return [...stats.values()].reduce((sum, count) => sum + count, 0);
      };
      const before = await failures();
      replaceRenderedFile(gateway.spec, resolveFile, '{"resources": [{');
      await waitFor('the broken file to be refused', async () => (await failures()) > before);
      expect((await get('moved.test', port('other'))).status).toBe(502);
      await override(`moved.test:${port('other')}:127.0.0.2`);
      expect((await get('moved.test', port('other'))).status).toBe(200);
    });
  });

  describe('by DNS', () => {
    test('is had from the next server when the first is silent', async () => {
      expect((await get('second.test')).status).toBe(200);
    });

    test.each([
      ['the next one of an answer when the first refuses connections', 'refused-first.test'],
      ['the next one of an answer when the first never answers', 'black-hole.test'],
      ['that of the other family when one refuses connections', 'both.test'],
      ['had when only one of the two families is answered for', 'half-answered.test'],
    ])('is %s', async (_, host) => {
      expect((await get(host)).status).toBe(200);
    });

    test('is asked for again soon after a name was not there, or its servers failed', async () => {
      for (const host of ['born-later.test', 'ill-at-first.test']) {
        expect((await get(host)).headers['x-leafgate-cause']).toBe('dns');
      }
      for (const host of ['born-later.test', 'ill-at-first.test']) {
        await waitFor(`${host} to be reached`, async () => (await get(host)).status === 200, 20_000);
      }
    });

    test('comes from the servers of --dns, in their order', async () => {
      const temp = createTempFolder();
      const args = [silent.address().port, second.port].flatMap((of) => ['--dns', `127.0.0.1:${of}`]);
      const up = await startGatewayUnderTest({ envoy, temp, args: [...args, '--allow-destination', '127.0.0.1'] });
      expect((await plainGet(up.proxyPort, `http://only-a.test:${port('clear')}/`)).status).toBe(200);
      await up.stop();
      temp.remove();
    });
  });
});

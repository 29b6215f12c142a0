// TLS that a rule lets through unread: only under the name that the CONNECT gave, and only what shows itself as TLS in
// time. Everything else is intercepted or closed; nothing leaves under a lying name (invariant 7).
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseListenAddress } from '../../src/settings/parse-listen.ts';
import { parseCidrSetting, parseResolveOverride } from '../../src/settings/parse-targets.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { gatewaySpec } from '../support/gateway-spec.ts';
import { startGeneratedGateway, type GeneratedGateway } from '../support/generated-gateway.ts';
import { createTestPool, startSdsUnderTest, type SdsUnderTest } from '../support/sds-under-test.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { createTestAuthority, issueServerCertificate } from '../support/test-certificates.ts';
import { startTlsOrigin, type TlsOrigin } from '../support/tls-origin.ts';
import { handshakeInTunnel, type TunnelRequest } from '../support/tunnel-tls.ts';
import { policy, rule } from '../unit/policy/policy-fixtures.ts';

const ownName = 'origin of this test';

describeWithTools('TLS through the generated gateway', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  let folder: TempFolder;
  let origin: TlsOrigin;
  let listener: Server;
  const heard = { connections: 0, bytes: 0 };
  let sds: SdsUnderTest;
  let gateway: GeneratedGateway;

  beforeAll(async () => {
    folder = createTempFolder();
    const authority = createTestAuthority({ organisation: ownName });
    origin = await startTlsOrigin({ certificate: issueServerCertificate(authority, { names: ['pinned.test'] }) });
    // hears what is forwarded, and hangs up at the first byte of it
    listener = createServer((socket) => {
      heard.connections += 1;
      socket
        .on('error', () => undefined)
        .on('data', (chunk) => {
          heard.bytes += chunk.length;
          socket.destroy();
        });
    });
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const overrides = ['pinned.test', 'read.test', 'opaque.test'].map((name) => `${name}:${origin.port}:127.0.0.1`);
    overrides.push(`pinned.test:${listenerPort()}:127.0.0.1`);
    const spec = gatewaySpec(
      {
        listen: parseListenAddress('127.0.0.1:0'),
        policy: policy(
          'intercept',
          rule('pinned.test', 'relay'),
          rule('127.0.0.0/8', 'relay', { name: 'address' }),
          rule('opaque.test', 'tcp'),
        ),
        resolve: overrides.map((text) => parseResolveOverride(text)),
        allowDestinations: [parseCidrSetting('127.0.0.1', '--allow-destination')],
      },
      folder.path,
    );
    sds = await startSdsUnderTest({ socket: spec.paths.sdsSocket, pool: createTestPool() });
    gateway = await startGeneratedGateway(envoy, spec);
  });
  afterAll(async () => {
    await gateway.stop();
    await sds.stop();
    await origin.close();
    listener.close();
    folder.remove();
  });

  function listenerPort(): number {
    return (listener.address() as AddressInfo).port;
  }

  function through(host: string, request: Partial<TunnelRequest>): ReturnType<typeof handshakeInTunnel> {
    return handshakeInTunnel({
      proxyPort: gateway.port,
      authority: `${host}:${origin.port}`,
      serverName: host,
      ...request,
    });
  }

  test('a relayed host shows its own certificate, and no leaf is asked for', async () => {
    const asked = sds.answers.length;
    expect(await through('pinned.test', {})).toMatchObject({ issuer: expect.stringContaining(ownName) });
    expect(await through('PINNED.test.', { serverName: 'Pinned.test' })).toMatchObject({ kind: 'done' });
    expect(sds.answers).toHaveLength(asked);
    const line = await gateway.lineOf('the relayed connection', ({ leg }) => leg === 'tcp');
    expect(line.text).toMatchObject({ rule: 'relay:pinned.test', sni: 'pinned.test', chain: 'relay' });
  });

  test('under another server name than the CONNECT’s nothing reaches the origin, not even a connection', async () => {
    const authority = `pinned.test:${listenerPort()}`;
    for (const serverName of ['evil.test', 'x.pinned.test', undefined]) {
      expect(await through('pinned.test', { authority, serverName })).toMatchObject({ kind: 'failed' });
    }
    expect(heard).toEqual({ connections: 0, bytes: 0 });
    const line = await gateway.lineOf('the closed one', ({ leg, text }) => leg === 'tcp' && text.sni === 'evil.test');
    expect(line.text.termination).toContain('name-mismatch');
    await through('pinned.test', { authority });
    expect(heard.bytes).toBeGreaterThan(0);
  });

  test('a relayed address is reached without a server name, since TLS has none for it', async () => {
    expect(await through('127.0.0.1', { serverName: undefined })).toMatchObject({
      issuer: expect.stringContaining(ownName),
    });
    expect(await through('127.0.0.1', { serverName: 'evil.test' })).toMatchObject({ kind: 'failed' });
  });

  test('a host without a rule is intercepted, under the server name that the client sent', async () => {
    const handshake = await through('read.test', {});
    expect(handshake).toMatchObject({ kind: 'done', subjectAltName: 'DNS:read.test' });
    expect(handshake).not.toMatchObject({ issuer: expect.stringContaining(ownName) });
  });

  test.each([
    ['of its own name', { serverName: 'opaque.test' }],
    ['of another name', { serverName: 'read.test' }],
    ['without a name', { serverName: undefined }],
    ['that comes after the time for one', { serverName: 'opaque.test', waitMs: 1400 }],
  ])('under a tcp rule a ClientHello %s is forwarded like any other bytes', async (_, request) => {
    const asked = sds.answers.length;
    expect(await through('opaque.test', request)).toMatchObject({ issuer: expect.stringContaining(ownName) });
    expect(sds.answers).toHaveLength(asked);
    const line = await gateway.lineOf('the opaque one', ({ leg, text }) => leg === 'tcp' && text.chain === 'tcp');
    expect(line.text).toMatchObject({ rule: 'tcp:opaque.test', connect: `opaque.test:${origin.port}` });
  });

  test('a relayed connection goes where its name was matched, however the CONNECT spells it', async () => {
    for (const spelling of ['Pinned.Test', 'pinned.test..', 'PINNED.TEST.']) {
      const authority = `${spelling}:0${origin.port}`;
      expect(await through('pinned.test', { authority })).toMatchObject({ issuer: expect.stringContaining(ownName) });
    }
  });
});

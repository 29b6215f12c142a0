// A whole generated gateway whose SDS server is on another machine: it intercepts as ever, and nothing of its bootstrap asks
// for a socket of its own.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseListenAddress } from '../../src/settings/parse-listen.ts';
import { makeCurrentCa } from '../support/credential-workshop.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { freePort } from '../support/free-port.ts';
import { gatewaySpec } from '../support/gateway-spec.ts';
import { startGeneratedGateway, type GeneratedGateway } from '../support/generated-gateway.ts';
import { createRemoteSds, listedClients, serverMaterial } from '../support/remote-sds.ts';
import { createTestPool, startSdsUnderTest, type SdsUnderTest } from '../support/sds-under-test.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { handshakeInTunnel } from '../support/tunnel-tls.ts';

describeWithTools('a gateway with an SDS server on another machine', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  let folder: TempFolder;
  let sds: SdsUnderTest;
  let gateway: GeneratedGateway;
  const ca = makeCurrentCa('channel');

  beforeAll(async () => {
    folder = createTempFolder();
    const port = await freePort();
    const { spec: remoteSds } = createRemoteSds({ folder: folder.path, ports: [port], ca });
    const channel = { port, material: serverMaterial(ca), clients: listedClients };
    sds = await startSdsUnderTest({ socket: '', pool: createTestPool(), channel });
    const listen = parseListenAddress('127.0.0.1:0');
    gateway = await startGeneratedGateway(envoy, gatewaySpec({ listen, remoteSds }, folder.path));
  });
  afterAll(async () => {
    await gateway.stop();
    await sds.stop();
    folder.remove();
  });

  test('intercepts with leaves that come by mutual TLS', async () => {
    const asked = { proxyPort: gateway.port, authority: 'api.example.com:443', serverName: 'api.example.com' };
    expect(await handshakeInTunnel(asked)).toMatchObject({ kind: 'done', subjectAltName: 'DNS:api.example.com' });
    expect(sds.answers).toMatchObject([{ name: 'api.example.com', outcome: 'minted' }]);
  });
});

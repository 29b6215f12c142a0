// Whose rate a request counts for, where clients have certificates: the actor's own, and the address's for those without.
import { writeFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseListenAddress } from '../../src/settings/parse-listen.ts';
import { caPem, issueCredential, makeCurrentCa } from '../support/credential-workshop.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { gatewaySpec } from '../support/gateway-spec.ts';
import { startGeneratedGateway, type GeneratedGateway } from '../support/generated-gateway.ts';
import { connectRequest, rawExchange } from '../support/raw-proxy-client.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';

const proxyName = 'proxy.test';

describeWithTools('the rate of one client', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  let folder: TempFolder;
  let gateway: GeneratedGateway;
  const clientCa = makeCurrentCa('clients');
  const proxyCa = makeCurrentCa('proxies');

  beforeAll(async () => {
    folder = createTempFolder();
    const serving = issueCredential(proxyCa, { dnsNames: [proxyName], purposes: ['server'] });
    writeFileSync(folder.file('tls.crt'), serving.certificatePem);
    writeFileSync(folder.file('tls.key'), serving.keyPem, { mode: 0o600 });
    writeFileSync(folder.file('clients.pem'), caPem(clientCa));
    const limits = { ...gatewaySpec().limits, clientRate: { perSecond: 1, burst: 3 } };
    const front = { listen: undefined, certificateDir: folder.path, clientCaFile: folder.file('clients.pem') };
    const spec = gatewaySpec({ listen: parseListenAddress('127.0.0.1:0'), front, limits }, folder.path);
    gateway = await startGeneratedGateway(envoy, spec);
  });
  afterAll(async () => {
    await gateway.stop();
    folder.remove();
  });

  const certificateOf = (...uris: readonly string[]): ConnectionOptions => {
    const { certificatePem: cert, keyPem: key } = issueCredential(clientCa, { uris });
    return { cert, key };
  };
  /** the statuses of four requests that are refused one way or another, on a connection each */
  const four = async (own: ConnectionOptions, localAddress = '127.0.0.1'): Promise<readonly number[]> => {
    const tls = { ca: caPem(proxyCa), servername: proxyName, ALPNProtocols: ['http/1.1'], ...own };
    const statuses: number[] = [];
    for (let count = 0; count < 4; count += 1) {
      const send = connectRequest('10.0.0.1:443');
      statuses.push((await rawExchange({ port: gateway.port, localAddress, tls, send })).status);
    }
    return statuses;
  };

  const [alice, bob] = ['spiffe://test/ns/a/sa/alice', 'spiffe://test/ns/a/sa/bob'];

  test('is the actor’s: neither another actor’s of the same address, nor another for another address', async () => {
    expect(await four(certificateOf(alice))).toEqual([403, 403, 403, 429]);
    expect(await four(certificateOf(bob))).toEqual([403, 403, 403, 429]);
    expect(await four(certificateOf(alice), '127.0.0.2')).toContain(429);
  });

  test('is the address’s for whoever shows no certificate, or one that names no single actor', async () => {
    expect(await four({}, '127.0.0.3')).toEqual([403, 403, 403, 429]);
    expect(await four(certificateOf(alice, bob), '127.0.0.3')).toContain(429);
    expect(await four({}, '127.0.0.4')).toEqual([403, 403, 403, 429]);
  });
});

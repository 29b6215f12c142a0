// Handshakes with the proxy itself that come to nothing, on a real Envoy and with real clients: each is a record.
import { mkdirSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { caPem, issueCredential, makeCurrentCa } from '../support/credential-workshop.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { startGatewayUnderTest, type GatewayUnderTest } from '../support/gateway-under-test.ts';
import { runCommand, type CommandResult } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';

describeWithTools('a handshake with the proxy', ['envoy-1.40.0', 'curl'], ({ 'envoy-1.40.0': envoy, curl }) => {
  const temp: TempFolder = createTempFolder();
  const proxyCa = makeCurrentCa('proxies');
  const clientCa = makeCurrentCa('clients');
  const strangeCa = makeCurrentCa('strangers');
  const actor = 'spiffe://test/ns/a/sa/alice';
  let gateway: GatewayUnderTest;

  beforeAll(async () => {
    mkdirSync(temp.file('proxy'));
    const serving = issueCredential(proxyCa, { dnsNames: ['localhost'], purposes: ['server'] });
    writeFileSync(temp.file('proxy/tls.crt'), serving.certificatePem);
    writeFileSync(temp.file('proxy/tls.key'), serving.keyPem, { mode: 0o600 });
    writeFileSync(temp.file('clients.pem'), caPem(clientCa));
    writeFileSync(temp.file('proxies.pem'), caPem(proxyCa));
    for (const [name, ca] of [
      ['known', clientCa],
      ['strange', strangeCa],
    ] as const) {
      const credential = issueCredential(ca, { uris: [actor] });
      writeFileSync(temp.file(`${name}.crt`), credential.certificatePem);
      writeFileSync(temp.file(`${name}.key`), credential.keyPem, { mode: 0o600 });
    }
    const args = ['--proxy-cert', temp.file('proxy'), '--client-ca', temp.file('clients.pem')];
    gateway = await startGatewayUnderTest({ envoy, temp, args });
  });
  afterAll(async () => {
    await gateway.stop();
    temp.remove();
  });

  const through = (...args: readonly string[]): Promise<CommandResult> => {
    const proxy = ['--proxy', `https://localhost:${gateway.proxyPort}`, ...args];
    return runCommand(curl, ['-sS', '-m', '10', '--cacert', gateway.caFile, ...proxy, 'https://10.0.0.1/'], {
      env: scrubbedEnvironment(temp.path),
    });
  };
  const certificate = (name: string): readonly string[] => [
    ...['--proxy-cert', temp.file(`${name}.crt`), '--proxy-key', temp.file(`${name}.key`)],
    ...['--proxy-cacert', temp.file('proxies.pem')],
  ];

  test.each([
    ['of a client that does not trust its certificate', () => [], 'proxy-distrusted', 'failed', /--proxy-cacert/],
    [
      'of a client with a stranger’s certificate',
      () => certificate('strange'),
      'client-certificate',
      'refused',
      /--client-ca/,
    ],
  ])('%s is a record that says what to do', async (...[, args, code, outcome, remedy]) => {
    expect((await through(...args())).status).not.toBe(0);
    const record = await gateway.recordOf(code, ({ reason }) => reason?.code === code);
    expect(record).toMatchObject({ kind: 'handshake', outcome, host: '', id: '', sni: 'localhost' });
    expect(record.client).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(record.reason?.remedy).toMatch(remedy);
    expect(record.actor).toBeUndefined();
  });

  test('that ended well is no record of its own: what came through it has the actor and the TLS version', async () => {
    const before = gateway.records().length;
    await through(...certificate('known'));
    const record = await gateway.recordOf('the refused CONNECT', ({ host }) => host === '10.0.0.1');
    expect(record).toMatchObject({
      kind: 'connect',
      actor,
      proxyTls: 'TLSv1.3',
      reason: { code: 'destination-denied' },
    });
    await through(...certificate('known'));
    await gateway.recordOf('the next one', () => gateway.records().length >= before + 2);
    expect(
      gateway
        .records()
        .slice(before)
        .map(({ kind }) => kind),
    ).toEqual(['connect', 'connect']);
  });
});

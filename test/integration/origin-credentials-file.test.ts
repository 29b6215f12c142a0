// `origins` in the policy file of `leafgate up`: the certificate that an origin asks for, its files and the list itself while
// the gateway runs.
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAskingOrigin, type AskingOrigin } from '../support/asking-origin.ts';
import {
  caPem,
  hoursAgo,
  issueCredential,
  makeCurrentCa,
  type TestCredential,
} from '../support/credential-workshop.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import {
  curlThrough,
  environment,
  runLeafgate,
  startGatewayUnderTest,
  type GatewayUnderTest,
} from '../support/gateway-under-test.ts';
import { runCommand } from '../support/run-command.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { waitFor } from '../support/wait-for.ts';

const clientCa = makeCurrentCa('clients of origins');
const originCa = makeCurrentCa('origins');

describeWithTools('origins of a policy file', ['envoy-1.40.0', 'curl'], ({ 'envoy-1.40.0': envoy, curl }) => {
  const temp = createTempFolder();
  let gateway: GatewayUnderTest;
  let origin: AskingOrigin;

  const write = ({ certificatePem, keyPem }: TestCredential): void => {
    writeFileSync(temp.file('client.crt'), certificatePem);
    writeFileSync(temp.file('client.key'), keyPem, { mode: 0o600 });
  };
  const shown = (name: string, notAfter = hoursAgo(-1)): TestCredential =>
    issueCredential(clientCa, { uris: [`spiffe://gateway/${name}`], purposes: ['client'], notAfter });
  const writePolicy = (...hosts: readonly string[]): void => {
    const origins = [{ name: 'partner', hosts, certificate: 'client.crt', key: 'client.key', ca: 'origin-ca.pem' }];
    writeFileSync(temp.file('policy.json'), JSON.stringify({ default: 'intercept', rules: [], origins }));
  };

  beforeAll(async () => {
    const { certificatePem: chainPem, keyPem } = issueCredential(originCa, {
      dnsNames: ['mtls.test'],
      purposes: ['server'],
    });
    origin = await startAskingOrigin(new Map([['mtls.test', { chainPem, keyPem }]]), caPem(clientCa));
    writeFileSync(temp.file('origin-ca.pem'), caPem(originCa));
    write(shown('first'));
    writePolicy('mtls.test');
    gateway = await startGatewayUnderTest({
      ...{ envoy, temp },
      args: [
        ...['--policy', temp.file('policy.json'), '--allow-destination', '127.0.0.1/32'],
        ...['--resolve', `mtls.test:${origin.port}:127.0.0.1`],
      ],
    });
  });
  afterAll(async () => {
    await gateway.stop();
    await origin.close();
    temp.remove();
  });

  const seen = async (): Promise<string> => {
    origin.dropConnections();
    const { stdout } = await curlThrough({ curl, temp, gateway }, `https://mtls.test:${origin.port}/`);
    return stdout.replace(/^.* sees /, '');
  };

  test('see the certificate, paths counted from the file', async () => {
    expect(await seen()).toBe('spiffe://gateway/first');
  });

  test('see a new one without a restart, and never one that has expired', async () => {
    write(shown('second'));
    await waitFor('the new certificate', async () => (await seen()) === 'spiffe://gateway/second');
    write(shown('late', hoursAgo(0.01)));
    await gateway.process.waitForOutput(/the origin partner: .*client\.crt has a certificate that expired/);
    expect(await seen()).toBe('spiffe://gateway/second');
  });

  test('of a changed list are in force at once, and whole with the rules or not at all', async () => {
    write(shown('third'));
    await waitFor('the new certificate', async () => (await seen()) === 'spiffe://gateway/third');
    writePolicy('another.test');
    // its CA is the entry's own: without one the origin is not trusted
    await waitFor('the list without it', async () => (await seen()).includes('"cause":"not_trusted"'));
    writePolicy('mtls.test');
    await waitFor('the entry', async () => (await seen()) === 'spiffe://gateway/third');
    const other = { name: 'other', hosts: ['mtls.test'], certificate: 'nowhere.crt', key: 'client.key' };
    writeFileSync(temp.file('policy.json'), JSON.stringify({ default: 'deny', origins: [other] }));
    await gateway.process.waitForOutput(/nowhere\.crt.*the certificates of changed `origins` cannot be used/);
    expect(await seen()).toBe('spiffe://gateway/third');
    const socket = `${gateway.state}/gateway/health.sock`;
    const ask = async (): Promise<string> =>
      (
        await runCommand(curl, ['-sS', '--unix-socket', socket, 'http://x/readyz'], {
          env: environment({ envoy, temp }),
        })
      ).stdout;
    expect(await ask()).toMatch(/the earlier policy decides, as a whole: .*nowhere\.crt/);
    // the files may come after the list
    writeFileSync(temp.file('nowhere.crt'), readFileSync(temp.file('client.crt')));
    await waitFor('the deny of the same file', async () => (await seen()) === '');
    expect(await ask()).not.toContain('cannot be used');
    writePolicy('mtls.test');
    await waitFor('the first list', async () => (await seen()) === 'spiffe://gateway/third');
  });

  test('that cannot be used keep a gateway from starting, with the reason', async () => {
    write(shown('late', hoursAgo(0.01)));
    const args = ['up', '--listen', '127.0.0.1:0', '--state', temp.file('other'), '--policy', temp.file('policy.json')];
    const { status, stderr } = await runLeafgate(args, { envoy, temp });
    expect([status, stderr]).toEqual([2, expect.stringMatching(/the origin partner: .*expired at/)]);
  });
});

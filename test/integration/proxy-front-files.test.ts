// `leafgate up` with a certificate of its own: what is taken, refused and said when the files of others change under it.
import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWithTools } from '../support/describe-with-tools.ts';
import {
  caPem,
  hoursAgo,
  issueCredential,
  makeCurrentCa,
  type TestCredential,
} from '../support/credential-workshop.ts';
import {
  environment,
  runLeafgate,
  startGatewayUnderTest,
  type GatewayUnderTest,
} from '../support/gateway-under-test.ts';
import { runCommand } from '../support/run-command.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { waitFor } from '../support/wait-for.ts';

const url = 'https://self-check.leafgate.invalid/';
const proxyCa = makeCurrentCa('proxies');
const [oldClientCa, newClientCa] = [makeCurrentCa('old clients'), makeCurrentCa('new clients')];
const serving = (names: readonly string[]): TestCredential =>
  issueCredential(proxyCa, { dnsNames: names, purposes: ['server'] });

describeWithTools('leafgate up --proxy-cert', ['envoy-1.40.0', 'curl'], ({ 'envoy-1.40.0': envoy, curl }) => {
  const temp = createTempFolder();
  const options = { envoy, temp };
  const folder = temp.file('secret');
  let version = 0;
  let gateway: GatewayUnderTest;

  /** as kubelet does it: a new folder, and one link that is swapped */
  const mount = (files: Readonly<Record<string, string>>): void => {
    version += 1;
    mkdirSync(`${folder}/..v${version}`, { recursive: true });
    for (const [name, text] of Object.entries(files))
      writeFileSync(`${folder}/..v${version}/${name}`, text, { mode: 0o600 });
    symlinkSync(`..v${version}`, `${folder}/..next`);
    renameSync(`${folder}/..next`, `${folder}/..data`);
  };
  const mountPair = ({ certificatePem, keyPem }: TestCredential): void =>
    mount({ 'tls.crt': certificatePem, 'tls.key': keyPem });

  beforeAll(async () => {
    mountPair(serving(['first.test']));
    for (const name of ['tls.crt', 'tls.key']) symlinkSync(`..data/${name}`, `${folder}/${name}`);
    writeFileSync(temp.file('clients.pem'), caPem(oldClientCa));
    gateway = await startGatewayUnderTest({
      ...options,
      args: ['--proxy-cert', folder, '--client-ca', temp.file('clients.pem')],
    });
  });
  afterAll(async () => {
    await gateway.stop();
    temp.remove();
  });

  const handshake = (credential?: TestCredential): Promise<TLSSocket> =>
    new Promise((resolve, reject) => {
      const client = credential === undefined ? {} : { cert: credential.certificatePem, key: credential.keyPem };
      const socket = connectTls({
        port: gateway.proxyPort,
        host: '127.0.0.1',
        ca: caPem(proxyCa),
        ...client,
        checkServerIdentity: () => undefined,
      });
      socket.once('secureConnect', () => resolve(socket)).once('error', reject);
    });
  const servedName = async (): Promise<string> => {
    const socket = await handshake();
    const { subjectaltname: names = '' } = socket.getPeerCertificate();
    socket.destroy();
    return names;
  };
  const errors = (): readonly string[] =>
    gateway.process
      .stderr()
      .split('\n')
      .filter((line) => line.includes('"level":"error"'));
  const clientsOf = (ca: typeof oldClientCa, uri: string): TestCredential => issueCredential(ca, { uris: [uri] });
  const curlAs = async (credential: TestCredential | undefined) => {
    if (credential !== undefined) {
      writeFileSync(temp.file('client.crt'), credential.certificatePem);
      writeFileSync(temp.file('client.key'), credential.keyPem);
    }
    writeFileSync(temp.file('proxy-ca.pem'), caPem(proxyCa));
    const own =
      credential === undefined ? [] : ['--proxy-cert', temp.file('client.crt'), '--proxy-key', temp.file('client.key')];
    const proxy = ['-x', `https://first.test:${gateway.proxyPort}`, '--proxy-cacert', temp.file('proxy-ca.pem')];
    // curl resolves a proxy's name as any other
    const resolve = ['--resolve', `first.test:${gateway.proxyPort}:127.0.0.1`, '--cacert', gateway.caFile];
    return runCommand(
      curl,
      ['-sS', '-m', '10', ...proxy, ...own, ...resolve, '-o', '/dev/null', '-w', '%{http_code}', url],
      { env: environment(options) },
    );
  };

  test('says where TLS is, and lets this machine in without it', async () => {
    const ready = gateway.process.stdout().split('\n')[0] ?? '';
    expect(JSON.parse(ready)).toMatchObject({
      proxyUrl: `http://127.0.0.1:${gateway.proxyPort}`,
      tlsUrl: `https://127.0.0.1:${gateway.proxyPort}`,
    });
    const run = await runLeafgate(['run', '--state', gateway.state, '--', curl, '-sS', url], options);
    expect([run.status, run.stdout]).toEqual([0, 'leafgate self-check\n']);
  });

  test('takes a request from curl over TLS', async () => {
    expect((await curlAs(undefined)).stdout).toBe('200');
    expect((await curlAs(clientsOf(oldClientCa, 'spiffe://test/known'))).stdout).toBe('200');
    expect((await curlAs(clientsOf(newClientCa, 'spiffe://test/unknown'))).stdout).toBe('000');
  });

  test('takes a new certificate within a second, and lets open connections live', async () => {
    const open = await handshake();
    mountPair(serving(['second.test']));
    await waitFor('the new certificate', async () => (await servedName()) === 'DNS:second.test', 1500);
    open.write('CONNECT self-check.leafgate.invalid:443 HTTP/1.1\r\nHost: self-check.leafgate.invalid:443\r\n\r\n');
    expect(await new Promise((resolve) => open.once('data', (chunk) => resolve(String(chunk))))).toMatch(
      /^HTTP\/1\.1 200 /,
    );
    open.destroy();
    await gateway.process.waitForOutput(/certificates taken/);
  });

  test.each<[string, () => Readonly<Record<string, string>>, RegExp]>([
    ['a broken certificate', () => ({ 'tls.crt': 'junk', 'tls.key': serving([]).keyPem }), /has no certificate/],
    [
      'a key of another',
      () => ({ 'tls.crt': serving(['x.test']).certificatePem, 'tls.key': serving([]).keyPem }),
      /is not the key of the first certificate/,
    ],
    [
      'a certificate that has expired',
      () => pairOf(issueCredential(proxyCa, { dnsNames: ['late.test'], notAfter: hoursAgo(0.01) })),
      /expired at/,
    ],
    ['a missing key', () => ({ 'tls.crt': serving(['x.test']).certificatePem }), /no such file/],
  ])('keeps the last good certificate over %s, and says so aloud', async (_, files, words) => {
    mountPair(serving(['good.test']));
    await waitFor('the good certificate', async () => (await servedName()) === 'DNS:good.test');
    const before = errors().length;
    mount(files());
    await waitFor('the refusal', () => errors().length > before);
    expect(errors().at(-1)).toMatch(words);
    expect(errors().at(-1)).toContain('certificates refused, the last good ones stay in force');
    expect(await servedName()).toBe('DNS:good.test');
  });

  test('takes the next good one after bad ones', async () => {
    mountPair(serving(['third.test']));
    await waitFor('the new certificate', async () => (await servedName()) === 'DNS:third.test', 1500);
  });

  test('takes new CAs of clients, and no longer those of before', async () => {
    const [asOld, asNew] = [clientsOf(oldClientCa, 'spiffe://test/old'), clientsOf(newClientCa, 'spiffe://test/new')];
    mountPair(serving(['first.test']));
    await waitFor('the first name', async () => (await servedName()) === 'DNS:first.test');
    writeFileSync(temp.file('clients.pem'), 'no certificate\n');
    await gateway.process.waitForOutput(/--client-ca .* has no certificate/);
    expect((await curlAs(asOld)).stdout).toBe('200');
    writeFileSync(temp.file('clients.pem'), caPem(newClientCa));
    await waitFor('the new CA', async () => (await curlAs(asNew)).stdout === '200');
    expect((await curlAs(asOld)).stdout).toBe('000');
    await waitFor('the new actor in the log', () =>
      readFileSync(`${gateway.state}/gateway/access.json`, 'utf8').includes('spiffe://test/new'),
    );
  });

  test('does not start with files that it cannot use, and says everything that is wrong with them', async () => {
    const pair = issueCredential(proxyCa, { notAfter: hoursAgo(0.01), purposes: ['client'] });
    mkdirSync(temp.file('bad'));
    writeFileSync(temp.file('bad/tls.crt'), pair.certificatePem);
    writeFileSync(temp.file('bad/tls.key'), serving([]).keyPem);
    const args = [
      '--proxy-cert',
      temp.file('bad'),
      '--client-ca',
      temp.file('none.pem'),
      '--origin-ca',
      temp.file('also-none.pem'),
    ];
    const result = await runLeafgate(
      ['up', '--listen', '127.0.0.1:0', '--state', temp.file('other'), ...args],
      options,
    );
    expect(result.status).toBe(2);
    for (const words of [
      /expired at/,
      /not for serverAuth/,
      /is not the key/,
      /none\.pem cannot be read/,
      /also-none\.pem cannot/,
    ]) {
      expect(result.stderr).toMatch(words);
    }
  });

  test('names what needs it when it is missing, all at once', async () => {
    const args = ['--client-ca', 'x', '--listen-tls', '10.0.0.1:0'];
    const result = await runLeafgate(['up', '--state', temp.file('other'), ...args], options);
    expect(result.status).toBe(2);
    expect(result.stderr).toMatch(/--listen-tls is given without --proxy-cert/);
    expect(result.stderr).toMatch(/--client-ca is given without --proxy-cert/);
  });
});

function pairOf({ certificatePem, keyPem }: TestCredential): Readonly<Record<string, string>> {
  return { 'tls.crt': certificatePem, 'tls.key': keyPem };
}

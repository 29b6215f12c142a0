// Client certificates for chosen origins, before real TLS origins that ask for one: who sees it, who does not, and what
// happens when its files change.
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseHostPattern } from '../../src/names/host-pattern.ts';
import type { ShownCredential } from '../../src/settings/gateway-spec.ts';
import { startAskingOrigin, type AskingOrigin } from '../support/asking-origin.ts';
import { caPem, issueCredential, makeCurrentCa, type TestCredential } from '../support/credential-workshop.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { askHttp1, askHttp2, openHttp2Over } from '../support/http-in-tunnel.ts';
import { openTlsInTunnel } from '../support/open-tunnel.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { createTestAuthority, issueServerCertificate } from '../support/test-certificates.ts';
import { startWholeGateway, type WholeGateway } from '../support/whole-gateway.ts';

const clientCa = makeCurrentCa('clients of origins');
const privateCa = makeCurrentCa('a private CA');
const hosts = ['mtls.test', 'a.partners.test', 'b.a.partners.test', 'partners.test', 'other.test', 'private.test'];

describeWithTools('a client certificate for chosen origins', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  const temp = createTempFolder();
  let gateway: WholeGateway;
  let origins: readonly AskingOrigin[];

  const shown = (name: string): TestCredential =>
    issueCredential(clientCa, { uris: [`spiffe://gateway/${name}`], purposes: ['client'] });
  const write = (name: string, { certificatePem, keyPem }: TestCredential): void => {
    writeFileSync(temp.file(`${name}.crt`), certificatePem);
    writeFileSync(temp.file(`${name}.key`), keyPem, { mode: 0o600 });
  };
  const credential = (name: string, patterns: readonly string[], caFile?: string): ShownCredential => ({
    ...{ name, certificateFile: temp.file(`${name}.crt`), keyFile: temp.file(`${name}.key`), caFile, digest: '' },
    hosts: patterns.flatMap((text) => parseHostPattern(text) ?? []),
  });

  beforeAll(async () => {
    const authority = createTestAuthority();
    for (const name of ['exact', 'suffix', 'private']) write(name, shown(name));
    writeFileSync(temp.file('private-ca.pem'), caPem(privateCa));
    const certificates = new Map(
      hosts.map((host) => {
        if (host !== 'private.test') return [host, issueServerCertificate(authority, { names: [host] })];
        const { certificatePem: chainPem, keyPem } = issueCredential(privateCa, {
          dnsNames: [host],
          purposes: ['server'],
        });
        return [host, { chainPem, keyPem }];
      }),
    );
    origins = await Promise.all(
      (['TLSv1.2', 'TLSv1.3'] as const).map((version) => startAskingOrigin(certificates, caPem(clientCa), version)),
    );
    gateway = await startWholeGateway({
      envoy,
      origins: authority,
      names: Object.fromEntries(hosts.map((host) => [host, ['127.0.0.1']])),
      spec: {
        originCredentials: [
          credential('suffix', ['*.partners.test']),
          credential('exact', ['mtls.test', 'b.a.partners.test']),
          credential('private', ['private.test'], temp.file('private-ca.pem')),
        ],
      },
    });
  });
  afterAll(async () => {
    await gateway.stop();
    await Promise.all(origins.map((origin) => origin.close()));
    temp.remove();
  });

  async function ask(
    host: string,
    origin: AskingOrigin,
    alpn: 'h2' | 'http/1.1' = 'http/1.1',
    headers = {},
  ): Promise<string> {
    const authority = `${host}:${origin.port}`;
    const tls = await openTlsInTunnel({ proxyPort: gateway.port, authority, ca: gateway.caPem, alpn: [alpn] });
    try {
      const question = { authority, path: '/', headers };
      const answer =
        alpn === 'h2' ? await askHttp2(openHttp2Over(tls, authority), question) : await askHttp1(tls, question);
      return answer.status === 200 ? answer.body : `${answer.status} ${answer.body}`;
    } finally {
      tls.destroy();
    }
  }

  test.each([
    ['mtls.test', 'spiffe://gateway/exact'],
    ['a.partners.test', 'spiffe://gateway/suffix'],
    ['b.a.partners.test', 'spiffe://gateway/exact'],
    ['partners.test', 'no certificate'],
    ['other.test', 'no certificate'],
    ['private.test', 'spiffe://gateway/private'],
  ])('%s sees %s, over TLS 1.2 and 1.3, from clients of HTTP/1.1 and HTTP/2', async (host, uri) => {
    for (const origin of origins) {
      for (const alpn of ['http/1.1', 'h2'] as const) {
        expect(await ask(host, origin, alpn)).toBe(`${host} over ${origin.version} sees ${uri}`);
      }
    }
  });

  test('is nobody’s with requests of many hosts at once', async () => {
    const [, origin] = origins;
    if (origin === undefined) throw new Error('no origin');
    const asked = Array.from({ length: 60 }, (_, index) => hosts[index % hosts.length] ?? '');
    const answers = await Promise.all(asked.map((host, index) => ask(host, origin, index % 2 ? 'h2' : 'http/1.1')));
    for (const [index, answer] of answers.entries()) {
      const host = asked[index] ?? '';
      const isWithout = host === 'partners.test' || host === 'other.test';
      expect(answer).toMatch(isWithout ? /sees no certificate$/ : /sees spiffe:\/\/gateway\//);
      expect(answer.startsWith(`${host} `)).toBe(true);
    }
  });

  test('verifies a host of its own CA with that alone, and all others with the common roots', async () => {
    const [origin] = origins;
    if (origin === undefined) throw new Error('no origin');
    origin.present('mtls.test', issueCredential(privateCa, { dnsNames: ['mtls.test'], purposes: ['server'] }));
    expect(await ask('mtls.test', origin)).toMatch(/^502 .*"cause":"not_trusted"/);
    origin.present('private.test', origin.certificateOf('other.test'));
    expect(await ask('private.test', origin)).toMatch(/^502 /);
  });
});

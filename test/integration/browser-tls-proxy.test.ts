// Browsers that speak TLS to their proxy: the proxy's certificate and the gateway's leaves each need their own CA in NSS.
import { mkdirSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startChromium, startFirefox, type Browser } from '../support/browsers.ts';
import { caPem, issueCredential, makeCurrentCa } from '../support/credential-workshop.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { startGatewayUnderTest, type GatewayUnderTest } from '../support/gateway-under-test.ts';
import { startHttpOrigin, type HttpOrigin } from '../support/http-origin.ts';
import { startNxdomainServer, type NxdomainServer } from '../support/nxdomain-server.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { createTestAuthority, issueServerCertificate } from '../support/test-certificates.ts';

const host = 'page.browser.test';

const browsers = [
  ['Chromium', 'chromium', startChromium, /ERR_TUNNEL_CONNECTION_FAILED/, /ERR_PROXY_CERTIFICATE_INVALID|ERR_CERT/],
  ['Firefox', 'firefox-esr', startFirefox, /NS_ERROR_PROXY_FORBIDDEN/, /SEC_ERROR_UNKNOWN_ISSUER/],
] as const;

for (const [name, tool, start, denied, wary] of browsers) {
  describeWithTools(`${name} behind a proxy that speaks TLS`, ['envoy-1.40.0', 'certutil', tool], (tools) => {
    const { 'envoy-1.40.0': envoy, certutil, [tool]: path } = tools;
    const temp = createTempFolder();
    const proxyCa = makeCurrentCa('the proxy');
    let dns: NxdomainServer;
    let origin: HttpOrigin;
    let gateway: GatewayUnderTest;

    beforeAll(async () => {
      const authority = createTestAuthority();
      writeFileSync(temp.file('origin-ca.pem'), authority.pem);
      writeFileSync(temp.file('proxy-ca.pem'), caPem(proxyCa));
      mkdirSync(temp.file('proxy'));
      const { certificatePem, keyPem } = issueCredential(proxyCa, { dnsNames: ['localhost'], purposes: ['server'] });
      writeFileSync(temp.file('proxy/tls.crt'), certificatePem);
      writeFileSync(temp.file('proxy/tls.key'), keyPem);
      dns = await startNxdomainServer();
      origin = await startHttpOrigin({
        certificate: issueServerCertificate(authority, { names: [host] }),
        answer: (_, response) => {
          response.setHeader('content-type', 'text/html');
          response.end('<title>a page</title>');
        },
      });
      gateway = await startGatewayUnderTest({
        ...{ envoy, temp },
        args: [
          ...['--proxy-cert', temp.file('proxy'), '--origin-ca', temp.file('origin-ca.pem')],
          ...['--allow-destination', '127.0.0.1/32', '--dns', `127.0.0.1:${dns.port}`],
          ...['--allow', host, '--resolve', `${host}:${origin.port}:127.0.0.1`],
        ],
      });
    }, 120_000);
    afterAll(async () => {
      await gateway.stop();
      await origin.close();
      await dns.close();
      temp.remove();
    });

    const browse = async (folder: string, proxyCaFile?: string): Promise<Browser> => {
      const home = temp.file(folder);
      mkdirSync(home);
      const proxyUrl = `https://localhost:${gateway.proxyPort}`;
      const { proxyPort, caFile } = gateway;
      return start({ path, certutil, home, caFile, proxyPort, proxyUrl, proxyCaFile });
    };

    test('loads a page, and a host that nobody allows fails, with a record of each', async () => {
      const browser = await browse('trusting', temp.file('proxy-ca.pem'));
      try {
        expect(await browser.goTo(`https://${host}:${origin.port}/`)).toBeUndefined();
        expect(await browser.evaluate('document.title')).toBe('a page');
        expect(await browser.goTo('https://denied.browser.test/')).toMatch(denied);
      } finally {
        await browser.close();
      }
      const page = await gateway.recordOf('the page', (record) => record.host === host && record.path === '/');
      expect(page).toMatchObject({ decision: 'intercept', status: 200, proxyTls: 'TLSv1.3' });
      const refused = await gateway.recordOf('the denied host', (record) => record.host === 'denied.browser.test');
      expect(refused).toMatchObject({ kind: 'connect', decision: 'deny', outcome: 'refused' });
    }, 120_000);

    test('does not use a proxy whose CA it does not trust, and the record says so', async () => {
      const browser = await browse('wary');
      try {
        expect(await browser.goTo(`https://${host}:${origin.port}/`)).toMatch(wary);
      } finally {
        await browser.close();
      }
      await gateway.recordOf('the handshake', ({ reason }) => reason?.code === 'proxy-distrusted');
    }, 120_000);
  });
}

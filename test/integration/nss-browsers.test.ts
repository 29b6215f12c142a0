// Browsers by the NSS form: what a running one makes of a change is measured here, not promised by NSS.
import { mkdirSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openVolumeWriter, type VolumeWriter } from '../../src/projection/write-volume.ts';
import { encodeCertificatesPem } from '../../src/x509/pem.ts';
import { startChromium, startFirefox, type Browser } from '../support/browsers.ts';
import { startConnectProxy, type ConnectProxy } from '../support/connect-proxy.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { createTestAuthority, issueServerCertificate, type TestAuthority } from '../support/test-certificates.ts';
import { startTlsOrigin, type TlsOrigin } from '../support/tls-origin.ts';

describeWithTools(
  'a browser with a database that leafgate wrote',
  ['chromium', 'firefox-esr', 'certutil'],
  ({ chromium, 'firefox-esr': firefox, certutil }) => {
    const [first, second] = [createTestAuthority(), createTestAuthority()];
    let folder: TempFolder;
    let home: string;
    let proxy: ConnectProxy;
    let origins: readonly TlsOrigin[];
    let writer: VolumeWriter;
    beforeEach(async () => {
      folder = createTempFolder();
      home = folder.file('home');
      mkdirSync(home);
      writer = openVolumeWriter({ dir: home });
      const names = ['localhost'] as const;
      const start = (authority: TestAuthority): Promise<TlsOrigin> =>
        startTlsOrigin({ certificate: issueServerCertificate(authority, { names }) });
      origins = [await start(first), await start(second)];
      proxy = await startConnectProxy({ kind: 'tunnel', route: (authority) => Number(authority.split(':')[1]) });
    });
    afterEach(async () => {
      await proxy.close();
      for (const origin of origins) await origin.close();
      folder.remove();
    });

    const write = async (path: string, ...authorities: TestAuthority[]): Promise<void> => {
      const pemBundle = encodeCertificatesPem(authorities.map(({ certificate }) => certificate));
      expect(await writer.write([{ path, pemBundle, form: 'NSS' }])).toMatchObject([{ kind: 'written' }]);
    };
    const options = (path: string) => ({
      ...{ path, certutil, home, caFile: undefined, hasDatabase: true },
      proxyPort: proxy.port,
    });
    /** what it says of the two origins */
    const verdicts = async (browser: Browser, page: string): Promise<readonly (string | undefined)[]> => {
      const said: (string | undefined)[] = [];
      for (const { port } of origins) said.push(await browser.goTo(`https://localhost:${port}/${page}`));
      return said;
    };

    test('Chromium trusts by it, and takes a change when it is started again', async () => {
      await write('.pki/nssdb', first);
      const before = await startChromium(options(chromium));
      try {
        const unknown = 'net::ERR_CERT_AUTHORITY_INVALID';
        expect(await verdicts(before, 'one')).toEqual([undefined, unknown]);
        await write('.pki/nssdb', first, second);
        expect(await verdicts(before, 'two')).toEqual([undefined, unknown]);
      } finally {
        await before.close();
      }
      const after = await startChromium(options(chromium));
      try {
        expect(await verdicts(after, 'three')).toEqual([undefined, undefined]);
      } finally {
        await after.close();
      }
    }, 120_000);

    test('Firefox trusts by it, and takes a change while it runs', async () => {
      await write('profile', first);
      const browser = await startFirefox(options(firefox));
      try {
        const [known, unknown] = await verdicts(browser, 'one');
        expect(known).toBeUndefined();
        expect(unknown).toMatch(/SEC_ERROR_UNKNOWN_ISSUER/);
        await write('profile', first, second);
        expect(await verdicts(browser, 'two')).toEqual([undefined, undefined]);
      } finally {
        await browser.close();
      }
    }, 120_000);
  },
);

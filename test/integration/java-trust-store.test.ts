// The PKCS#12 form as a real JVM reads it: every entry is one that it trusts, with the password that everybody knows, with
// another and with none, and a TLS client believes a server by it.
import { writeFileSync } from 'node:fs';
import { expect, test, afterEach, beforeEach } from 'vitest';
import { readSystemRoots } from '../../src/projection/system-roots.ts';
import { encodePkcs12TrustStore } from '../../src/x509/pkcs12-trust-store.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { runCommand, type CommandResult } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { createTestAuthority, issueServerCertificate } from '../support/test-certificates.ts';
import { startTlsOrigin } from '../support/tls-origin.ts';

const clientSource = `
  import java.net.URI;
  import javax.net.ssl.HttpsURLConnection;
  public class Client {
    public static void main(String[] urls) throws Exception {
      HttpsURLConnection connection = (HttpsURLConnection) URI.create(urls[0]).toURL().openConnection();
      System.out.println(connection.getResponseCode());
    }
  }`;

describeWithTools(
  'a trust store for Java',
  ['java', 'javac', 'keytool', 'openssl'],
  ({ java, javac, keytool, openssl }) => {
    const authority = createTestAuthority();
    let folder: TempFolder;
    let store: string;
    beforeEach(() => {
      folder = createTempFolder();
      store = folder.file('ca.p12');
    });
    afterEach(() => folder.remove());

    const run = (command: string, args: readonly string[]): Promise<CommandResult> =>
      runCommand(command, args, { env: scrubbedEnvironment(folder.path, { LC_ALL: 'C' }) });

    test('has nothing but trusted entries for keytool, each found again by its digest', async () => {
      const { certificates } = await readSystemRoots();
      const all = [authority.certificate, ...certificates];
      writeFileSync(store, encodePkcs12TrustStore(all.map(({ der }) => der)));
      const { stdout, status } = await run(keytool, ['-list', '-keystore', store, '-storepass', 'changeit']);
      expect(status, stdout).toBe(0);
      expect(stdout).toContain(`Your keystore contains ${all.length} entries`);
      expect(stdout.match(/trustedCertEntry/g)).toHaveLength(all.length);
      const colons = (hex: string): string => (hex.toUpperCase().match(/../g) ?? []).join(':');
      for (const { sha256 } of all) expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(entryOf(sha256, colons(sha256)));
    });

    test('opens in openssl', async () => {
      writeFileSync(store, encodePkcs12TrustStore([authority.certificate.der]));
      const { stdout, stderr } = await run(openssl, ['pkcs12', '-info', '-nokeys', '-in', store, '-passin', 'pass:']);
      expect(stderr).toContain('Certificate bag');
      expect(stdout).toContain(`friendlyName: ${authority.certificate.sha256}`);
      expect(stdout).toContain(authority.pem);
    });

    test('makes a client believe the server, with the usual password, another and none, and only with it', async () => {
      writeFileSync(folder.file('Client.java'), clientSource);
      expect(await run(javac, ['-d', folder.path, folder.file('Client.java')])).toMatchObject({ status: 0 });
      writeFileSync(store, encodePkcs12TrustStore([authority.certificate.der]));
      const origin = await startTlsOrigin({ certificate: issueServerCertificate(authority, { names: ['localhost'] }) });
      const fetch = (...properties: string[]): Promise<CommandResult> =>
        run(java, [
          ...properties.map((property) => `-Djavax.net.ssl.${property}`),
          ...['-cp', folder.path, 'Client', `https://localhost:${origin.port}/`],
        ]);
      try {
        for (const password of [[], ['trustStorePassword=changeit'], ['trustStorePassword=another']]) {
          const { stdout, stderr } = await fetch(`trustStore=${store}`, ...password);
          expect({ stdout, stderr }).toEqual({ stdout: '200\n', stderr: '' });
        }
        const without = await fetch();
        expect(without.stderr).toContain('unable to find valid certification path');
        writeFileSync(store, encodePkcs12TrustStore([createTestAuthority().certificate.der]));
        const withAnother = await fetch(`trustStore=${store}`);
        expect(withAnother.stderr).toMatch(/path|signature/i);
        expect(origin.seen.requests).toBe(3);
      } finally {
        await origin.close();
      }
    });
  },
);

function entryOf(alias: string, fingerprint: string): RegExp {
  return new RegExp(`${alias}, [^:]*, trustedCertEntry, Certificate fingerprint \\(SHA-256\\): ${fingerprint}`);
}

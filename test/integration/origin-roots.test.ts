// What origins are verified with: the roots of the system, and with `--origin-ca FILE` those of a file, which is followed, and
// of which a bad one changes nothing.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemRootFiles } from '../../src/x509/system-root-files.ts';
import { caPem, makeCurrentCa } from '../support/credential-workshop.ts';
import { describeWithMachine, describeWithTools } from '../support/describe-with-tools.ts';
import { curlThrough, startGatewayUnderTest, type GatewayUnderTest } from '../support/gateway-under-test.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { createTestAuthority, issueServerCertificate } from '../support/test-certificates.ts';
import { startTlsOrigin, type TlsOrigin } from '../support/tls-origin.ts';
import { waitFor } from '../support/wait-for.ts';

const names = ['first.test', 'second.test'] as const;

describeWithTools('the roots for origins', ['envoy-1.40.0', 'curl'], ({ 'envoy-1.40.0': envoy, curl }) => {
  const temp = createTempFolder();
  const file = temp.file('roots.pem');
  const authorities = names.map(() => createTestAuthority());
  const [firstPem = '', secondPem = ''] = authorities.map(({ pem }) => pem);
  const origins: TlsOrigin[] = [];
  let gateway: GatewayUnderTest;

  beforeAll(async () => {
    for (const [index, authority] of authorities.entries()) {
      const certificate = issueServerCertificate(authority, { names: [names[index] ?? ''] });
      origins.push(await startTlsOrigin({ certificate }));
    }
    writeFileSync(file, firstPem);
    gateway = await startGatewayUnderTest({
      ...{ envoy, temp },
      args: [
        ...['--origin-ca', file, '--allow-destination', '127.0.0.0/8'],
        ...names.flatMap((name, index) => ['--resolve', `${name}:${origins[index]?.port ?? 0}:127.0.0.1`]),
      ],
    });
  });
  afterAll(async () => {
    await gateway.stop();
    await Promise.all(origins.map((origin) => origin.close()));
    temp.remove();
  });

  const statusOf = async (index: number): Promise<string> => {
    const url = `https://${names[index] ?? ''}:${origins[index]?.port ?? 0}/`;
    return (await curlThrough({ curl, temp, gateway }, '-o', '/dev/null', '-w', '%{http_code}', url)).stdout;
  };

  test('are those of the file, as it is now', async () => {
    expect(await Promise.all([statusOf(0), statusOf(1)])).toEqual(['200', '502']);
    writeFileSync(file, secondPem);
    await waitFor('the second origin', async () => (await statusOf(1)) === '200', 5_000);
    // a connection that was verified before stays open, and serves
    origins[0]?.dropConnections();
    await waitFor('the first origin to be refused', async () => (await statusOf(0)) === '502', 5_000);
  });

  test.each([
    ['is broken', 'junk\n', /has no certificate/],
    [
      'holds a key',
      '-----BEGIN PRIVATE KEY-----\nMIGH\n-----END PRIVATE KEY-----\n',
      /a private key among certificates/,
    ],
  ])('stay when the file %s, which is said aloud', async (_, text, words) => {
    writeFileSync(file, text);
    await gateway.process.waitForOutput(words);
    expect(await statusOf(1)).toBe('200');
    writeFileSync(file, secondPem);
  });

  test('never hold the gateway’s own CA, whatever the file has', async () => {
    writeFileSync(file, secondPem + readFileSync(gateway.caFile, 'utf8'));
    await gateway.process.waitForOutput(/holds a CA of this gateway/);
    writeFileSync(file, firstPem + caPem(makeCurrentCa('another')));
    await waitFor('the first origin', async () => (await statusOf(0)) === '200', 5_000);
  });
});

const systemFile = systemRootFiles.find((path) => existsSync(path)) ?? '';
const mountOver = 'mount --bind "$0" "$1" && shift && exec "$@"';

describeWithMachine(
  'the roots of the system',
  {
    tools: ['envoy-1.40.0', 'curl'],
    whyNot: () => {
      const tried = spawnSync('unshare', ['-Urm', 'sh', '-c', mountOver, '/dev/null', systemFile, 'true']);
      return tried.status === 0 ? undefined : 'no file of system roots over which this user may mount another';
    },
  },
  ({ 'envoy-1.40.0': envoy, curl }) => {
    test('are what origins are verified with where no other file is given', async () => {
      const temp = createTempFolder();
      const authority = createTestAuthority();
      writeFileSync(temp.file('system.pem'), authority.pem);
      const trusted = await startTlsOrigin({
        certificate: issueServerCertificate(authority, { names: ['system.test'] }),
      });
      const stranger = issueServerCertificate(createTestAuthority(), { names: ['stranger.test'] });
      const distrusted = await startTlsOrigin({ certificate: stranger });
      const urls = [`system.test:${trusted.port}`, `stranger.test:${distrusted.port}`];
      const gateway = await startGatewayUnderTest({
        ...{ envoy, temp },
        through: ['unshare', '-Urm', 'sh', '-c', mountOver, temp.file('system.pem'), systemFile],
        args: ['--allow-destination', '127.0.0.1', ...urls.flatMap((url) => ['--resolve', `${url}:127.0.0.1`])],
      });
      const statuses = urls.map(async (url) => {
        const args = ['-o', '/dev/null', '-w', '%{http_code}', `https://${url}/`];
        return (await curlThrough({ curl, temp, gateway }, ...args)).stdout;
      });
      expect(await Promise.all(statuses)).toEqual(['200', '502']);
      await gateway.stop();
      await Promise.all([trusted.close(), distrusted.close()]);
      temp.remove();
    });
  },
);

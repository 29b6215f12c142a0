// sslyze looks at the SDS port for everything that a scanner knows. The server takes a hundred failed handshakes of one address
// and no more at once, so that the scanner comes from many addresses of loopback.
import { readFileSync } from 'node:fs';
import { createServer, connect, type AddressInfo, type Server } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { channelFilesOf, clientName, serverName, writeChannelFiles } from '../support/channel-workshop.ts';
import { makeCurrentCa } from '../support/credential-workshop.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { clientFilesOf } from '../support/remote-sds.ts';
import { runCommand } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { startSdsCommand, writePool, type SdsCommandUnderTest } from '../support/sds-command-under-test.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';

const isLinux = process.platform === 'linux';

/** Each connection comes from another address; Linux has all of 127.0.0.0/8. */
async function startManyAddresses(target: number): Promise<Server> {
  let count = 0;
  const server = createServer((near) => {
    count += 1;
    const localAddress = `127.0.${1 + (count % 200)}.${1 + (count % 250)}`;
    const far = connect({ port: target, host: '127.0.0.1', ...(isLinux ? { localAddress } : {}) });
    near.on('error', () => far.destroy()).pipe(far);
    far.on('error', () => near.destroy()).pipe(near);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

describeWithTools('a scan of the SDS port', ['sslyze'], ({ sslyze }) => {
  let temp: TempFolder;
  let sds: SdsCommandUnderTest;
  let relay: Server;

  beforeAll(async () => {
    temp = createTempFolder();
    const ca = makeCurrentCa('channel');
    writeChannelFiles(temp.file('tls'), channelFilesOf(ca));
    writeChannelFiles(temp.file('client'), clientFilesOf(ca));
    const { file: poolFile } = writePool(temp.file('pool.json'));
    const tcp = ['--tls-dir', temp.file('tls'), '--server-name', serverName, '--allowed-san', clientName];
    sds = await startSdsCommand({ folder: temp, poolFile, tcp });
    relay = await startManyAddresses(sds.port);
  });
  afterAll(async () => {
    relay.close();
    await sds.stop();
    temp.remove();
  });

  test('finds TLS 1.3 alone, nothing to resume, and no fault that it knows', async () => {
    const { port } = relay.address() as AddressInfo;
    const report = temp.file('report.json');
    const versions = ['--sslv2', '--sslv3', '--tlsv1', '--tlsv1_1', '--tlsv1_2', '--tlsv1_3'];
    const faults = ['--reneg', '--compression', '--heartbleed', '--openssl_ccs', '--robot', '--resum'];
    const { stderr } = await runCommand(
      sslyze,
      [
        ...['--cert', temp.file('client/tls.crt'), '--key', temp.file('client/tls.key'), '--sni', serverName],
        ...['--certinfo', '--certinfo_ca_file', temp.file('tls/ca.crt'), '--mozilla_config', 'disable'],
        ...[...versions, ...faults, '--json_out', report, `127.0.0.1:${port}`],
      ],
      { env: scrubbedEnvironment(temp.path), deadlineMs: 120_000 },
    );
    expect(stderr).not.toContain('Traceback');
    const found = JSON.parse(readFileSync(report, 'utf8')) as Report;
    const { scan_result: result, connectivity_result: connectivity } = found.server_scan_results[0];
    expect(connectivity.highest_tls_version_supported).toBe('TLS_1_3');
    for (const old of ['ssl_2_0', 'ssl_3_0', 'tls_1_0', 'tls_1_1', 'tls_1_2'] as const) {
      expect([old, result[`${old}_cipher_suites`].result.is_tls_version_supported]).toEqual([old, false]);
    }
    const suites = result.tls_1_3_cipher_suites.result.accepted_cipher_suites.map((one) => one.cipher_suite.name);
    expect(suites.toSorted()).toEqual([
      ...['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'],
    ]);
    const [deployment] = result.certificate_info.result.certificate_deployments;
    expect(deployment?.path_validation_results.some(({ was_validation_successful: isGood }) => isGood)).toBe(true);
    expect(result.tls_compression.result.supports_compression).toBe(false);
    expect(result.heartbleed.result.is_vulnerable_to_heartbleed).toBe(false);
    expect(result.openssl_ccs_injection.result.is_vulnerable_to_ccs_injection).toBe(false);
    expect(result.session_renegotiation.result.is_vulnerable_to_client_renegotiation_dos).toBe(false);
    expect(await sds.metric('leafgate_leaves_minted_total')).toBe(0);
  }, 150_000);
});

type Scanned<Result> = { readonly result: Result };
type Suites = Scanned<{
  readonly is_tls_version_supported: boolean;
  readonly accepted_cipher_suites: readonly { readonly cipher_suite: { readonly name: string } }[];
}>;

type Report = {
  readonly server_scan_results: readonly [
    {
      readonly connectivity_result: { readonly highest_tls_version_supported: string };
      readonly scan_result: {
        readonly [version in `${'ssl_2_0' | 'ssl_3_0' | `tls_1_${0 | 1 | 2 | 3}`}_cipher_suites`]: Suites;
      } & {
        readonly certificate_info: Scanned<{
          readonly certificate_deployments: readonly {
            readonly path_validation_results: readonly { readonly was_validation_successful: boolean }[];
          }[];
        }>;
        readonly tls_compression: Scanned<{ readonly supports_compression: boolean }>;
        readonly heartbleed: Scanned<{ readonly is_vulnerable_to_heartbleed: boolean }>;
        readonly openssl_ccs_injection: Scanned<{ readonly is_vulnerable_to_ccs_injection: boolean }>;
        readonly session_renegotiation: Scanned<{ readonly is_vulnerable_to_client_renegotiation_dos: boolean }>;
      };
    },
  ];
};

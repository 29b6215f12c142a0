// Envoy itself reads what we generate. Validation proves little (it starts no listener and no handshake), but it catches
// a field that does not exist, and the crash that ADS in a static cluster would be.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { HostName } from '../../src/names/name-types.ts';
import type { RemoteSds } from '../../src/settings/gateway-spec.ts';
import { parseListenAddress } from '../../src/settings/parse-listen.ts';
import { parseCidrSetting, parseResolveOverride } from '../../src/settings/parse-targets.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { writeGatewayFiles } from '../support/generated-gateway.ts';
import { gatewaySpec } from '../support/gateway-spec.ts';
import { runCommand } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { wholeSpec } from '../support/whole-spec.ts';
import { policy, rule } from '../unit/policy/policy-fixtures.ts';

const ranges = (...texts: readonly string[]) => texts.map((text) => parseCidrSetting(text, '--x'));

const ownAddresses = () => ['192.0.2.7:1', '[2001:db8::7]:1'].map((text) => parseListenAddress(text).address);

const manyRules = Array.from({ length: 2000 }, (_, index) => rule(`h${index}.test`, index % 2 ? 'deny' : 'relay'));

const remoteSds: RemoteSds = {
  endpoints: ['sds-1.test', 'sds-2.test'].map((host) => ({
    host: { kind: 'dns', host: host as HostName },
    port: 8443,
  })),
  tls: { serverName: 'sds.test' as HostName, verifiesServer: true, certificateDir: '/nowhere' },
};

describeWithTools('envoy --mode validate', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  let folder: TempFolder;
  beforeAll(() => {
    folder = createTempFolder();
  });
  afterAll(() => folder.remove());

  test.each([
    ['the default', {}],
    ['an IPv6 listener', { listen: parseListenAddress('[::1]:3128') }],
    [
      'an IPv4-mapped exception',
      { allowDestinations: ranges('::ffff:10.0.0.0/104', '10.0.0.0/8', '::1', '127.0.0.1') },
    ],
    [
      'networks that may connect',
      { listen: parseListenAddress('0.0.0.0:3128'), allowFrom: ranges('10.0.0.0/8', '::1') },
    ],
    ['DNS servers', { dnsServers: ['192.0.2.53:53', '[2001:db8::53]:5353'].map((text) => parseListenAddress(text)) }],
    ['overrides', { resolve: ['a.test:443:192.0.2.1', 'a.test:80:::1'].map((text) => parseResolveOverride(text)) }],
    [
      'rules of every verdict',
      {
        policy: policy(
          'deny',
          ...(['intercept', 'relay', 'tcp', 'deny'] as const).map((verdict) => rule(`${verdict}.test`, verdict)),
          rule('*.ports.test', 'intercept', { ports: [80, 443] }),
          rule('*.ports.test', 'relay', { name: 'other', ports: [8443], actors: ['spiffe://a', 'spiffe://b'] }),
        ),
      },
    ],
    [
      'ranges and addresses',
      {
        policy: policy(
          'intercept',
          rule('192.0.2.0/24', 'deny'),
          rule('2001:db8::1', 'relay'),
          rule('0.0.0.0/0', 'tcp'),
        ),
      },
    ],
    ['TLS to the proxy', { front: { listen: undefined, certificateDir: '/nowhere', clientCaFile: undefined } }],
    [
      'TLS at an address of its own',
      {
        front: {
          listen: parseListenAddress('[::1]:3129'),
          certificateDir: '/nowhere',
          clientCaFile: '/nowhere/clients.pem',
        },
      },
    ],
    [
      'redirected connections',
      {
        transparent: {
          addresses: ['0.0.0.0:0', '[::]:0'].map((text) => parseListenAddress(text).address),
          port: 15_001,
        },
        allowFrom: ranges('10.0.0.0/8', 'fd00::/8'),
      },
    ],
    ['2,000 rules', { policy: policy('intercept', ...manyRules) }],
    ['dry-run rules', { dryRun: policy('deny', rule('*.test', 'relay', { ports: [443], actors: ['spiffe://a'] })) }],
    [
      'limits for each client',
      { limits: { maxConnections: 1, maxHeapBytes: 2 ** 26, clientRate: { perSecond: 1, burst: 1 } } },
    ],
    [
      'TLS and limits for each client',
      {
        front: { listen: undefined, certificateDir: '/nowhere', clientCaFile: '/nowhere/clients.pem' },
        limits: { maxConnections: 8000, maxHeapBytes: 2 ** 30, clientRate: { perSecond: 50, burst: 100 } },
      },
    ],
    ['overrides for any name', { resolve: [parseResolveOverride('*:443:192.0.2.1')] }],
    ['addresses of its own', { listen: parseListenAddress('0.0.0.0:3128'), ownAddresses: ownAddresses() }],
    ['client certificates for origins', { originCredentials: wholeSpec().originCredentials }],
    ['an SDS server on another machine', { remoteSds }],
    ['one that is asked in plaintext', { remoteSds: { ...remoteSds, tls: undefined } }],
    ['everything on', wholeSpec()],
  ])('takes a configuration with %s', async (name, changes) => {
    // a folder whose name YAML could take for something else
    const { paths, selfCheck } = gatewaySpec({}, folder.file(`it's: #${name}, ü`));
    const bootstrap = writeGatewayFiles(gatewaySpec({ ...changes, paths, selfCheck }));
    const result = await runCommand(envoy, ['--mode', 'validate', '--config-path', bootstrap, '--log-level', 'error'], {
      env: scrubbedEnvironment(folder.path),
    });
    expect(result, result.stderr).toMatchObject({ status: 0, signal: null });
    expect(result.stderr).toBe('');
    expect(result.stdout).toMatch(/OK\s*$/);
  });
});

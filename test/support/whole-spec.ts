// A gateway with everything on that a person can switch on, for tests of the generator. Paths lie in one folder; nothing is
// there.
import { join } from 'node:path';
import type { GatewaySpec } from '../../src/settings/gateway-spec.ts';
import { parseListenAddress } from '../../src/settings/parse-listen.ts';
import { parseCidrSetting, parseResolveOverride } from '../../src/settings/parse-targets.ts';
import { parseHostPattern } from '../../src/names/host-pattern.ts';
import type { HostPattern } from '../../src/names/name-types.ts';
import { policy, rule } from '../unit/policy/policy-fixtures.ts';
import { gatewaySpec } from './gateway-spec.ts';

const [alice, bob] = ['spiffe://cluster.local/ns/a/sa/alice', 'spiffe://cluster.local/ns/a/sa/bob'] as const;

export function wholeSpec(folder?: string): GatewaySpec {
  const at = (name: string): string => join(folder ?? '/run/leafgate-test', name);
  return gatewaySpec(
    {
      listen: parseListenAddress('0.0.0.0:3128'),
      ownAddresses: [parseListenAddress('192.0.2.7:1').address],
      allowFrom: ['10.0.0.0/8', 'fd00::/8'].map((text) => parseCidrSetting(text, '--allow-from')),
      policy: policy(
        'deny',
        rule('api.example.com', 'intercept', { name: 'model-apis', ports: [443], actors: [alice, bob] }),
        rule('*.example.org', 'intercept', { name: 'model-apis', ports: [443], actors: [alice, bob] }),
        rule('api.example.com', 'relay', { name: 'the-rest-of-it' }),
        rule('*.pinned.example', 'relay', { name: 'pinned' }),
        rule('git.example.net', 'tcp', { name: 'ssh', ports: [22, 2222], actors: [bob] }),
        rule('192.0.2.0/24', 'deny', { name: 'ranges' }),
        rule('192.0.2.9', 'intercept', { name: 'one-address', ports: [80] }),
        rule('2001:db8::/32', 'relay', { name: 'ranges6' }),
      ),
      dryRun: policy('deny', rule('*.example.com', 'intercept', { name: 'tighter', actors: [alice] })),
      resolve: ['api.example.com:443:192.0.2.1', '*:8443:::1'].map((text) => parseResolveOverride(text)),
      allowDestinations: ['10.1.2.3', '192.168.0.0/16', 'fd12::/16'].map((text) => {
        return parseCidrSetting(text, '--allow-destination');
      }),
      dnsServers: ['192.0.2.53:53', '[2001:db8::53]:5353'].map((text) => parseListenAddress(text)),
      limits: { maxConnections: 4000, maxHeapBytes: 512 * 1024 * 1024, clientRate: { perSecond: 50, burst: 200 } },
      front: {
        listen: parseListenAddress('0.0.0.0:3129'),
        certificateDir: at('front'),
        clientCaFile: at('clients.pem'),
      },
      transparent: {
        addresses: ['0.0.0.0:1', '[::]:1'].map((text) => parseListenAddress(text).address),
        port: 15_001,
      },
      originCredentials: [
        {
          name: 'partner',
          hosts: ['mtls.example.com', '*.partner.example'].map(pattern),
          certificateFile: at('partner.crt'),
          keyFile: at('partner.key'),
          caFile: at('partner-ca.pem'),
          digest: 'c0ffee',
        },
        {
          name: 'other',
          hosts: [pattern('other.example')],
          certificateFile: at('other.crt'),
          keyFile: at('other.key'),
          caFile: undefined,
          digest: '',
        },
      ],
    },
    folder,
  );
}

function pattern(text: string): HostPattern {
  const parsed = parseHostPattern(text);
  if (parsed === undefined) throw new Error(`no pattern: ${text}`);
  return parsed;
}

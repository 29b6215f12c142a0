// EgressGateways for tests of what is made from them: a plain one, and one with everything on. Nothing in them is real.
import { hours, minutes, seconds } from '../../src/clock.ts';
import { parseHostPattern } from '../../src/names/host-pattern.ts';
import type { HostPattern } from '../../src/names/name-types.ts';
import type {
  EgressGateway,
  EgressGatewaySpec,
  EgressGatewayTerms,
  SdsTls,
} from '../../src/settings/egress-gateway-types.ts';
import { parsePolicyFile } from '../../src/settings/policy-file.ts';
import { parseCidrSetting } from '../../src/settings/parse-targets.ts';

const plainPolicy = 'default: deny\nrules:\n  - { name: apis, hosts: [api.example.com], verdict: intercept }\n';

type Changes = {
  readonly spec?: Partial<EgressGatewaySpec>;
  readonly gateway?: Partial<EgressGatewayTerms>;
  readonly policyText?: string;
};

export function egressGateway({ spec, gateway, policyText = plainPolicy }: Changes = {}): EgressGateway {
  return {
    namespace: 'egress',
    name: 'gateway',
    uid: '6f1c7c52-6a3b-4b50-8b0d-0d3f0f6b7c11',
    generation: 1,
    isDeleting: false,
    finalizers: [],
    status: { conditions: [] },
    spec: {
      caPool: { secretName: 'gateway-ca-pool' },
      trustBundle: {
        signerName: 'egress.example.com/mitm',
        name: 'gateway',
        objectName: 'egress.example.com:mitm:gateway',
        labels: {},
        retainForMs: minutes(10),
        deletionPolicy: 'Delete',
      },
      servingTls: undefined,
      origins: { caBundle: undefined, clientCertificates: [] },
      clients: { caBundle: undefined },
      sds: { transport: 'UnixSocket', leafLifetimeMs: hours(1), allowEd25519: false, tls: undefined },
      ...policyOf(policyText),
      deploymentName: 'gateway',
      gateway: {
        listenPort: 3128,
        listenTlsPort: undefined,
        allowFrom: [parseCidrSetting('10.0.0.0/8', 'allowFrom')],
        resolve: [],
        allowDestinations: [],
        dnsServers: [],
        maxConnections: 8000,
        maxMemoryBytes: 512 * 1024 * 1024,
        clientRate: { perSecond: 1000, burst: 5000 },
        drainMs: seconds(25),
        ...gateway,
      },
      ...spec,
    },
  };
}

/** Its pods have no pool: SDS servers of its own are reached by TCP. */
export function tcpEgressGateway(tls: Partial<SdsTls> = {}): EgressGateway {
  const channel = {
    ...{ enabled: true, secretName: 'sds-server', clientSecretName: 'sds-client', insecureSkipVerify: false },
    ...{ allowedSans: ['envoy.egress.example'], allowAnyClient: false, ...tls },
  };
  const sds = { transport: 'TCP', leafLifetimeMs: hours(1), allowEd25519: false, tls: channel } as const;
  return egressGateway({ spec: { sds } });
}

/** TLS to the proxy with certificates of clients, private roots, and a certificate for some origins. */
export function wholeEgressGateway(changes: Changes = {}): EgressGateway {
  return egressGateway({
    ...changes,
    spec: {
      servingTls: { secretName: 'gateway-serving' },
      clients: { caBundle: { name: 'clients', key: 'ca.crt' } },
      origins: {
        caBundle: { name: 'private-roots', key: 'ca.crt' },
        clientCertificates: [
          { hosts: ['mtls.example.com', '*.partner.example'].map(pattern), secretName: 'partner' },
          { hosts: [pattern('other.example')], secretName: 'other' },
          { hosts: [pattern('more.example')], secretName: 'partner' },
        ],
      },
      ...changes.spec,
    },
    gateway: {
      listenTlsPort: 3129,
      allowFrom: ['10.0.0.0/8', 'fd00::/8'].map((text) => parseCidrSetting(text, 'allowFrom')),
      allowDestinations: [parseCidrSetting('10.1.0.0/16', 'destinations.allow')],
      ...changes.gateway,
    },
  });
}

/** of a policy file */
export function policyOf(policyText: string): Pick<EgressGatewaySpec, 'policy' | 'dryRun' | 'policyText'> {
  const reading = parsePolicyFile(Buffer.from(policyText), { source: 'policy', baseDir: '/' });
  if (reading.kind === 'refused') throw reading.problems[0];
  return { policy: reading.file.policy, dryRun: reading.file.dryRun, policyText };
}

function pattern(text: string): HostPattern {
  const parsed = parseHostPattern(text);
  if (parsed === undefined) throw new Error(`no pattern: ${text}`);
  return parsed;
}

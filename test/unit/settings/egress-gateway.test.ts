// An EgressGateway is read whole or refused with everything that is wrong in it, each with its path in the object.
import { describe, expect, it, test } from 'vitest';
import { parsePolicyFile } from '../../../src/settings/policy-file.ts';
import { parseEgressGateway } from '../../../src/settings/egress-gateway.ts';
import type { EgressGateway } from '../../../src/settings/egress-gateway-types.ts';
import { cidrText } from '../../../src/names/cidr.ts';
import { hostPatternText } from '../../../src/names/host-pattern.ts';
import { listenAddressText } from '../../../src/settings/parse-listen.ts';
import { policy, rule } from '../policy/policy-fixtures.ts';
import { gatewayObject, wholeGatewaySpec, type GatewayObject } from '../../support/egress-gateway-object.ts';

function read(object: unknown): EgressGateway {
  const reading = parseEgressGateway(object);
  if (reading.kind === 'read') return reading.gateway;
  throw new Error(reading.problems.map(({ message }) => message).join('\n'));
}

function problemsOf(object: unknown): readonly string[] {
  const reading = parseEgressGateway(object);
  if (reading.kind === 'read') throw new Error(`was read: ${JSON.stringify(reading.gateway)}`);
  return reading.problems.map(({ message, remedy }) => `${message}; ${remedy}`);
}

describe('an EgressGateway', () => {
  it('needs a pool, a bundle and a default, and has a default for everything else', () => {
    const { spec, ...identity } = read(gatewayObject());
    expect(identity).toEqual({
      ...{ namespace: 'agents', name: 'egress', uid: '5a3c1f6e-0000-4000-8000-000000000001', generation: 1 },
      ...{ isDeleting: false, finalizers: [], status: { conditions: [] } },
    });
    const { gateway, ...rest } = spec;
    expect(rest).toEqual({
      caPool: { secretName: 'egress-ca-pool' },
      trustBundle: {
        ...{ signerName: 'egress.example.com/mitm', name: 'agents-egress' },
        objectName: 'egress.example.com:mitm:agents-egress',
        ...{ labels: {}, retainForMs: 600_000, deletionPolicy: 'Delete' },
      },
      servingTls: undefined,
      origins: { caBundle: undefined, clientCertificates: [] },
      clients: { caBundle: undefined },
      sds: { transport: 'UnixSocket', leafLifetimeMs: 3_600_000, allowEd25519: false, tls: undefined },
      policy: policy('deny'),
      dryRun: undefined,
      policyText: '{\n"default": "deny",\n"rules": []\n}\n',
      deploymentName: 'egress',
    });
    expect({ ...gateway, allowFrom: gateway.allowFrom.map(cidrText) }).toEqual({
      ...{ listenPort: 3128, listenTlsPort: undefined },
      allowFrom: ['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16'],
      ...{ resolve: [], allowDestinations: [], dnsServers: [] },
      ...{
        maxConnections: 8000,
        maxMemoryBytes: 2 ** 30,
        clientRate: { perSecond: 1000, burst: 5000 },
        drainMs: 25_000,
      },
    });
  });

  it('says everything that a gateway can be told', () => {
    const { spec } = read(gatewayObject(wholeGatewaySpec));
    expect(spec.trustBundle).toMatchObject({ retainForMs: 5_400_000, deletionPolicy: 'Retain' });
    expect(spec.trustBundle.labels).toEqual({ 'example.com/team': 'payments', tier: '' });
    expect(spec.servingTls).toEqual({ secretName: 'egress-serving' });
    expect(spec.origins.caBundle).toEqual({ name: 'private-roots', key: 'roots.pem' });
    const choices = spec.origins.clientCertificates.map(({ hosts, secretName }) => [
      secretName,
      ...hosts.map(hostPatternText),
    ]);
    expect(choices).toEqual([
      ['partner-client', 'mtls.example.com', '*.partner.example'],
      ['other-client', 'other.example'],
    ]);
    expect(spec.clients.caBundle).toEqual({ name: 'actor-roots', key: 'ca.crt' });
    expect(spec.sds).toEqual({
      ...{ transport: 'TCP', leafLifetimeMs: 1_800_000, allowEd25519: true },
      tls: {
        ...{ enabled: true, secretName: 'egress-sds', clientSecretName: 'egress-sds-client' },
        allowedSans: ['envoy.agents.svc', 'spiffe://cluster.local/ns/agents/sa/envoy'],
        ...{ allowAnyClient: false, insecureSkipVerify: false },
      },
    });
    const actors = ['spiffe://cluster.local/ns/ci/sa/builder'];
    expect(spec.policy).toEqual(
      policy(
        'deny',
        rule('api.example.com', 'intercept', { name: 'model-apis', ports: [443] }),
        rule('*.models.example.org', 'intercept', { name: 'model-apis', ports: [443] }),
        rule('registry.example.com', 'intercept', { name: 'builders-only', actors }),
        rule('db.example.com', 'tcp', { name: 'database', ports: [5432] }),
        rule('198.51.100.0/24', 'tcp', { name: 'database', ports: [5432] }),
      ),
    );
    expect(spec.dryRun).toEqual(policy('deny', rule('api.example.com', 'relay', { name: 'tighter' })));
    expect(spec.deploymentName).toBe('egress-gateway');
    const { gateway } = spec;
    expect(gateway).toMatchObject({ listenPort: 8080, listenTlsPort: 8443, maxConnections: 4000, drainMs: 30_000 });
    expect(gateway).toMatchObject({ maxMemoryBytes: 2 ** 29, clientRate: { perSecond: 50, burst: 250 } });
    expect(gateway.allowFrom.map(cidrText)).toEqual(['10.0.0.0/8', 'fd00::/8', '192.0.2.7/32']);
    expect(gateway.dnsServers.map(listenAddressText)).toEqual(['192.0.2.53:53', '[2001:db8::53]:5353']);
    expect(gateway.resolve.map(({ host, port, address }) => `${host}:${port}:${address.text}`)).toEqual([
      'api.example.com:443:192.0.2.1',
      '*:8443:::1',
    ]);
  });

  it('gives `leafgate sds` a policy file that says the same', () => {
    const { spec } = read(gatewayObject(wholeGatewaySpec));
    const again = parsePolicyFile(Buffer.from(spec.policyText), { source: 'policy.yaml', baseDir: '/' });
    expect(again).toMatchObject({ kind: 'read', file: { policy: spec.policy, dryRun: spec.dryRun, origins: [] } });
  });

  it('keeps what the API server says about it', () => {
    const metadata = { finalizers: ['leafgate.dev/trust-bundle', 3], deletionTimestamp: '2026-01-01T00:00:00Z' };
    const object = gatewayObject({}, { metadata: { ...metadata, generation: 7 } });
    expect(read(object)).toMatchObject({ generation: 7, isDeleting: true, finalizers: ['leafgate.dev/trust-bundle'] });
  });

  it('tells its pool and its bundle although the rest of it is wrong, so that trust goes on, and goes with it', () => {
    const sds = { allowEd25519: true, leafLifetime: '1y' };
    const reading = parseEgressGateway(gatewayObject({ policy: { default: 'no' }, sds }));
    expect(reading).toMatchObject({
      ...{ kind: 'refused', name: 'egress', namespace: 'agents', generation: 1 },
      caPool: { secretName: 'egress-ca-pool' },
      trustBundle: { objectName: 'egress.example.com:mitm:agents-egress', deletionPolicy: 'Delete' },
      allowEd25519: true,
    });
    const none = { caPool: undefined, trustBundle: undefined, allowEd25519: false };
    expect(parseEgressGateway(gatewayObject({ caPool: {}, trustBundle: {} }))).toMatchObject(none);
  });

  it('is refused with everything that is wrong at once, in the order of its fields', () => {
    const object = gatewayObject({
      caPool: {},
      trustBundle: { signerName: 'mitm', retainfor: '10m', deletionPolicy: 'retain' },
      policy: { rules: [{ name: 'a', hosts: ['https://x.test/'], verdict: 'allow' }] },
      limits: { drain: '2h' },
    });
    const known = 'a newer definition of EgressGateway needs a newer controller';
    expect(problemsOf(object)).toEqual([
      'spec.caPool.secretName is missing; name the Secret that `leafgate pool create --secret` made',
      `spec.trustBundle.retainfor is no field that this leafgate knows; write retainFor if that was meant; known here are signerName, name, labels, retainFor, deletionPolicy; ${known}`,
      'spec.trustBundle.signerName is "mitm", which is not a signer name, <domain>/<path>, of a domain of your own with at least one dot; write it like signerName: egress.example.com/mitm',
      'spec.trustBundle.name is missing; state what stands after the signer in its name, as `name: egress`',
      'spec.trustBundle.deletionPolicy is "retain", which is not one of Delete, Retain; write it like deletionPolicy: Retain',
      'spec.policy: spec.policy has no default; state what becomes of hosts that no rule names, as `default: deny`',
      'spec.policy.rules[0].verdict: verdict is "allow", which is not one of intercept, relay, tcp, deny; write it like verdict: intercept',
      'spec.policy.rules[0].hosts[0]: host is "https://x.test/", which is not a host name, *.suffix, an address or a range; write it like x.test',
      'spec.limits.drain is "2h", which is not a duration from 0s to 1h; write it like drain: 10m or 1h30m',
    ]);
  });
});

describe('what is wrong with an EgressGateway', () => {
  const bundle = { signerName: 'egress.example.com/mitm', name: 'agents-egress' };
  const tcp = (tls: GatewayObject): GatewayObject => ({ sds: { transport: 'TCP', tls } });
  const certificate = (hosts: unknown, secretName = 'c'): GatewayObject => ({ hosts, secretName });
  test.each<[string, GatewayObject, string]>([
    ['no policy', { policy: undefined }, 'spec.policy is missing'],
    ['a policy that is a text', { policy: 'deny' }, 'spec.policy: spec.policy is "deny", which is not a map'],
    ['origins in the policy', { policy: { default: 'deny', origins: [] } }, 'spec.policy.origins: origins is no key'],
    [
      'a port as text',
      { policy: { default: 'deny', rules: [{ ports: ['443'] }] } },
      'spec.policy.rules[0].ports[0]: port is "443"',
    ],
    [
      'a rule name twice',
      { policy: { default: 'deny', rules: [{ name: 'a' }, { name: 'a' }] } },
      'rules[1].name: rule a is taken',
    ],
    [
      'a dry run without default',
      { policy: { default: 'deny', dryRun: {} } },
      'spec.policy.dryRun: dryRun has no default',
    ],
    ['an unknown part', { egress: {} }, 'spec.egress is no field that this leafgate knows'],
    ['a signer of Kubernetes', { trustBundle: { ...bundle, signerName: 'kubernetes.io/x' } }, 'is "kubernetes.io/x"'],
    ['a signer with two paths', { trustBundle: { ...bundle, signerName: 'a.b/c/d' } }, 'is "a.b/c/d"'],
    ['a signer without a dot', { trustBundle: { ...bundle, signerName: 'a/b' } }, 'is "a/b"'],
    ['a bundle name with a colon', { trustBundle: { ...bundle, name: 'a:b' } }, 'spec.trustBundle.name is "a:b"'],
    [
      'a label of ours',
      { trustBundle: { ...bundle, labels: { 'x.leafgate.dev/a': 'b' } } },
      'labels["x.leafgate.dev/a"] is of leafgate.dev',
    ],
    ['a label key', { trustBundle: { ...bundle, labels: { 'a b': 'c' } } }, 'is not a label key'],
    ['a label value', { trustBundle: { ...bundle, labels: { a: '-' } } }, 'labels["a"] is "-"'],
    ['a label that is a number', { trustBundle: { ...bundle, labels: { a: 1 } } }, 'labels["a"] is 1'],
    ['a negative time', { trustBundle: { ...bundle, retainFor: '-1s' } }, 'is not a duration from 0s to 720h'],
    ['a serving Secret without name', { servingTLS: {} }, 'spec.servingTLS.secretName is missing'],
    ['a ConfigMap without name', { origins: { caBundleRef: {} } }, 'spec.origins.caBundleRef.name is missing'],
    [
      'a key that leaves its folder',
      { origins: { caBundleRef: { name: 'a', key: '../b' } } },
      'caBundleRef.key is "../b"',
    ],
    [
      'a host of two certificates',
      { origins: { clientCertificates: [certificate(['x.test'], 'a'), certificate(['X.test'])] } },
      'clientCertificates[1].hosts[0] belongs to spec.origins.clientCertificates[0] already',
    ],
    [
      'a Secret twice',
      { origins: { clientCertificates: [certificate(['x.test']), certificate(['y.test'])] } },
      'clientCertificates[1].secretName is that of spec.origins.clientCertificates[0] already',
    ],
    [
      'a certificate for an address',
      { origins: { clientCertificates: [certificate(['192.0.2.1'])] } },
      'is "192.0.2.1", which is not a host name',
    ],
    [
      'a certificate for no host',
      { origins: { clientCertificates: [certificate([])] } },
      'clientCertificates[0].hosts is missing',
    ],
    [
      'client roots without TLS',
      { clients: { caBundleRef: { name: 'a' } } },
      'spec.clients.caBundleRef is for clients that speak TLS',
    ],
    ['a TLS port without TLS', { listener: { tlsPort: 8443 } }, 'spec.listener.tlsPort is for clients that speak TLS'],
    [
      'one port for both',
      { servingTLS: { secretName: 'a' }, listener: { tlsPort: 3128 } },
      'spec.listener.tlsPort is the port of clear connections too',
    ],
    ['nobody who may connect', { listener: { allowFrom: [] } }, 'spec.listener.allowFrom is missing'],
    ['bits after the prefix', { listener: { allowFrom: ['10.1.2.3/8'] } }, 'write it like 10.0.0.0/8'],
    ['TLS for a unix socket', { sds: { tls: { allowAnyClient: true } } }, 'spec.sds.tls is for the transport TCP'],
    [
      'one Deployment for Envoy and for the SDS servers',
      { ...tcp({ secretRef: { name: 'a' }, allowAnyClient: true }), deploymentName: 'egress-sds' },
      'spec.deploymentName is what the Deployment of its SDS servers is called',
    ],
    ['no client of SDS', tcp({ allowedSANs: [] }), 'spec.sds.tls.allowedSANs names no client'],
    [
      'some and all clients',
      tcp({ allowAnyClient: true, allowedSANs: ['a'] }),
      'spec.sds.tls.allowedSANs lists clients, and',
    ],
    [
      'a quoted boolean',
      tcp({ allowAnyClient: true, insecureSkipVerify: 'false' }),
      'insecureSkipVerify is "false", which is not true or false',
    ],
    [
      'a leaf that lives too long',
      { sds: { leafLifetime: '25h' } },
      'spec.sds.leafLifetime is "25h", which is not a duration from 2m to 24h',
    ],
    ['a size of ours', { limits: { maxMemory: '1GiB' } }, 'is not a size from 128Mi to 1024Gi'],
    ['half a connection', { limits: { maxConnections: 0.5 } }, 'is 0.5, which is not a whole number from 1 to 1000000'],
    [
      'a name of DNS servers',
      { destinations: { dnsServers: ['dns.test'] } },
      'is "dns.test", which is not a DNS server',
    ],
    [
      'half an override',
      { destinations: { resolve: [{ host: 'a.test' }] } },
      'spec.destinations.resolve[0].port is missing',
    ],
    [
      'too much of something',
      { destinations: { dnsServers: Array(9).fill('192.0.2.1') } },
      'spec.destinations.dnsServers has 9 items, more than 8',
    ],
    ['a Deployment', { deploymentName: 'A' }, 'spec.deploymentName is "A"'],
    ['nothing where something belongs', { deploymentName: null }, 'spec.deploymentName is null'],
  ])('is said of %s', (_title, spec, expected) => {
    const problems = problemsOf(gatewayObject(spec));
    expect(problems.filter((problem) => problem.includes(expected))).toHaveLength(1);
  });

  it('is said of a name that no Service and no certificate could have', () => {
    for (const name of ['a.b', '1a', 'a'.repeat(53), '']) {
      expect(problemsOf(gatewayObject({}, { metadata: { name } }))[0]).toContain('metadata.name is ');
    }
  });

  it('is never repeated where it is a key', () => {
    const key = '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEI\n-----END PRIVATE KEY-----';
    const spec = { caPool: { secretName: key }, policy: { default: key, rules: [{ name: key, hosts: [key] }] } };
    const problems = problemsOf(gatewayObject(spec)).join('\n');
    expect(problems).toContain('spec.caPool.secretName is a PEM text');
    expect(problems).not.toContain('MC4CAQ');
  });
});

describe('the status of an EgressGateway', () => {
  const condition = {
    type: 'Ready',
    status: 'True',
    reason: 'Ready',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  const anchor = {
    id: '1',
    subject: 'CN=a',
    sha256: 'ab',
    notAfter: '2027-01-01T00:00:00Z',
    publishedAt: '2026-01-01T00:00:00Z',
  };
  const status = {
    observedGeneration: 3,
    bundle: { objectName: 'o', sha256: 'cd', anchors: [anchor] },
    pool: { activeID: '1', activeSince: '2026-01-01T00:00:00Z' },
    servingTLS: { secretName: 's', requiredDNSNames: ['egress.agents.svc'] },
    conditions: [{ ...condition, observedGeneration: 3 }],
  };

  it('is what was written', () => {
    expect(read(gatewayObject({}, { status })).status).toEqual(status);
  });

  test.each<[string, unknown, unknown]>([
    ['is no map', 'x', { conditions: [] }],
    [
      'has parts of another kind',
      { bundle: 1, pool: [], servingTLS: null, conditions: {}, observedGeneration: '3' },
      { conditions: [] },
    ],
    [
      'has half a part',
      { pool: { activeID: '1' }, bundle: { objectName: 'o', sha256: 'x', anchors: [{ id: '1' }] } },
      { bundle: { objectName: 'o', sha256: 'x', anchors: [] }, conditions: [] },
    ],
    [
      'has strange conditions',
      { conditions: [3, { ...condition, status: 'Maybe' }, condition, { ...condition, reason: 'Twice' }] },
      { conditions: [condition] },
    ],
  ])('is read as far as it can be when it %s', (_title, given, expected) => {
    expect(read(gatewayObject({}, { status: given })).status).toEqual(expected);
  });
});

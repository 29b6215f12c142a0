// EgressGateway objects as the API gives them, for tests of what reads them: the least that one must say, and one that
// says everything.

export type GatewayObject = { readonly [field: string]: unknown };

const metadata = {
  name: 'egress',
  namespace: 'agents',
  uid: '5a3c1f6e-0000-4000-8000-000000000001',
  generation: 1,
};

const leastSpec: GatewayObject = {
  caPool: { secretName: 'egress-ca-pool' },
  trustBundle: { signerName: 'egress.example.com/mitm', name: 'agents-egress' },
  policy: { default: 'deny' },
};

export const wholeGatewaySpec: GatewayObject = {
  caPool: { secretName: 'egress-ca-pool' },
  trustBundle: {
    signerName: 'egress.example.com/mitm',
    name: 'agents-egress',
    labels: { 'example.com/team': 'payments', tier: '' },
    retainFor: '1h30m',
    deletionPolicy: 'Retain',
  },
  servingTLS: { secretName: 'egress-serving' },
  origins: {
    caBundleRef: { name: 'private-roots', key: 'roots.pem' },
    clientCertificates: [
      { hosts: ['mtls.example.com', '*.partner.example'], secretName: 'partner-client' },
      { hosts: ['other.example'], secretName: 'other-client' },
    ],
  },
  clients: { caBundleRef: { name: 'actor-roots' } },
  sds: {
    transport: 'TCP',
    leafLifetime: '30m',
    allowEd25519: true,
    tls: {
      enabled: true,
      secretRef: { name: 'egress-sds' },
      clientSecretRef: { name: 'egress-sds-client' },
      allowedSANs: ['envoy.agents.svc', 'spiffe://cluster.local/ns/agents/sa/envoy'],
      insecureSkipVerify: false,
    },
  },
  policy: {
    default: 'deny',
    rules: [
      { name: 'model-apis', hosts: ['api.example.com', '*.models.example.org'], ports: [443], verdict: 'intercept' },
      {
        name: 'builders-only',
        hosts: ['registry.example.com'],
        actors: ['spiffe://cluster.local/ns/ci/sa/builder'],
        verdict: 'intercept',
      },
      { name: 'database', hosts: ['db.example.com', '198.51.100.0/24'], ports: [5432], verdict: 'tcp' },
    ],
    dryRun: { default: 'deny', rules: [{ name: 'tighter', hosts: ['api.example.com'], verdict: 'relay' }] },
  },
  deploymentName: 'egress-gateway',
  listener: { port: 8080, tlsPort: 8443, allowFrom: ['10.0.0.0/8', 'fd00::/8', '192.0.2.7'] },
  destinations: {
    allow: ['10.1.2.3/32'],
    dnsServers: ['192.0.2.53', '[2001:db8::53]:5353'],
    resolve: [
      { host: 'api.example.com', port: 443, address: '192.0.2.1' },
      { host: '*', port: 8443, address: '::1' },
    ],
  },
  limits: { maxConnections: 4000, maxMemory: '512Mi', clientRate: 50, drain: '30s' },
};

/** `spec` replaces fields of the least spec; undefined takes one out */
export function gatewayObject(spec: GatewayObject = {}, more: GatewayObject = {}): GatewayObject {
  const { metadata: moreMetadata, ...rest } = more;
  return {
    apiVersion: 'leafgate.dev/v1alpha1',
    kind: 'EgressGateway',
    metadata: { ...metadata, ...(typeof moreMetadata === 'object' ? moreMetadata : {}) },
    // as JSON has it: what is undefined is not there
    spec: JSON.parse(JSON.stringify({ ...leastSpec, ...spec })) as unknown,
    ...rest,
  };
}

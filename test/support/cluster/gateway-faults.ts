// What is wrong with an EgressGateway and can be said at admission: the definition refuses it, and so does the controller's
// own reader, each naming the field.
import type { GatewayObject } from '../egress-gateway-object.ts';

export type GatewayFault = {
  readonly title: string;
  readonly spec: GatewayObject;
  /** path of the field, as the API server names it */
  readonly field: string;
  /** a part of what it says */
  readonly says: string;
};

const bundle = { signerName: 'egress.example.com/mitm', name: 'agents-egress' };
const policy = { default: 'deny' };
const rule = { name: 'a', hosts: ['a.test'], verdict: 'deny' };
const serving = { servingTLS: { secretName: 'a' } };

export const gatewayFaults: readonly GatewayFault[] = [
  fault('no pool', { caPool: undefined }, 'spec.caPool', 'Required value'),
  fault('no Secret of the pool', { caPool: {} }, 'spec.caPool.secretName', 'Required value'),
  fault('a Secret that is none', { caPool: { secretName: 'A' } }, 'spec.caPool.secretName', 'should match'),
  fault('no bundle', { trustBundle: undefined }, 'spec.trustBundle', 'Required value'),
  fault('no signer', { trustBundle: { name: 'a' } }, 'spec.trustBundle.signerName', 'Required value'),
  fault('no name of the bundle', { trustBundle: { signerName: 'a.b/c' } }, 'spec.trustBundle.name', 'Required value'),
  fault('a signer without path', bundleWith({ signerName: 'a.b' }), 'spec.trustBundle.signerName', 'should match'),
  fault('a signer without dot', bundleWith({ signerName: 'a/b' }), 'spec.trustBundle.signerName', 'should match'),
  fault(
    'a signer with two paths',
    bundleWith({ signerName: 'a.b/c/d' }),
    'spec.trustBundle.signerName',
    'should match',
  ),
  fault(
    'a signer of Kubernetes',
    bundleWith({ signerName: 'kubernetes.io/kubelet-serving' }),
    'spec.trustBundle.signerName',
    "are Kubernetes' own; take a domain of yours",
  ),
  fault(
    'a signer below k8s.io',
    bundleWith({ signerName: 'egress.k8s.io/mitm' }),
    'spec.trustBundle.signerName',
    "are Kubernetes' own; take a domain of yours",
  ),
  fault(
    'a signer with too long a domain',
    bundleWith({ signerName: `${'a1.'.repeat(84)}io/x` }),
    'spec.trustBundle.signerName',
    'may have more than 253 characters',
  ),
  fault(
    'a signer with too long a part in its path',
    bundleWith({ signerName: `a.io/${'x'.repeat(254)}` }),
    'spec.trustBundle.signerName',
    'may have more than 253 characters',
  ),
  fault('a colon in the name', bundleWith({ name: 'a:b' }), 'spec.trustBundle.name', 'should match'),
  fault('a label key', bundleWith({ labels: { 'a b': 'c' } }), 'spec.trustBundle.labels', 'must be a label key'),
  fault(
    'a label of ours',
    bundleWith({ labels: { 'x.leafgate.dev/a': 'b' } }),
    'spec.trustBundle.labels',
    'are set by leafgate itself; take another domain',
  ),
  fault('a label value', bundleWith({ labels: { a: '-' } }), 'spec.trustBundle.labels.a', 'should match'),
  fault('no duration', bundleWith({ retainFor: '1d' }), 'spec.trustBundle.retainFor', 'should match'),
  fault('too long a time', bundleWith({ retainFor: '721h' }), 'spec.trustBundle.retainFor', 'must be from 0s to 720h'),
  fault('a century', bundleWith({ retainFor: '876000h' }), 'spec.trustBundle.retainFor', 'must be from 0s to 720h'),
  fault('an aeon', bundleWith({ retainFor: '99999999h' }), 'spec.trustBundle.retainFor', 'must be from 0s to 720h'),
  fault('a word', bundleWith({ deletionPolicy: 'Keep' }), 'spec.trustBundle.deletionPolicy', 'Unsupported value'),
  fault('a serving Secret without name', { servingTLS: {} }, 'spec.servingTLS.secretName', 'Required value'),
  fault('roots without name', { origins: { caBundleRef: {} } }, 'spec.origins.caBundleRef.name', 'Required value'),
  fault(
    'a key that leaves its folder',
    { origins: { caBundleRef: { name: 'a', key: '..b' } } },
    'spec.origins.caBundleRef.key',
    'is no way out of a folder',
  ),
  fault(
    'two certificates of one Secret',
    { origins: { clientCertificates: ['a.test', 'b.test'].map((host) => ({ hosts: [host], secretName: 's' })) } },
    'spec.origins.clientCertificates[1]',
    'Duplicate value',
  ),
  fault(
    'a certificate for no host',
    { origins: { clientCertificates: [{ hosts: [], secretName: 's' }] } },
    'spec.origins.clientCertificates[0].hosts',
    'at least 1 item',
  ),
  fault(
    'a certificate for a URL',
    { origins: { clientCertificates: [{ hosts: ['https://a.test'], secretName: 's' }] } },
    'spec.origins.clientCertificates[0].hosts[0]',
    'should match',
  ),
  fault(
    'client roots without TLS',
    { clients: { caBundleRef: { name: 'a' } } },
    'spec.clients.caBundleRef',
    'there is no spec.servingTLS; take it out',
  ),
  fault(
    'a TLS port without TLS',
    { listener: { tlsPort: 8443 } },
    'spec.listener.tlsPort',
    'there is no spec.servingTLS; take it out',
  ),
  fault(
    'one port for both',
    { ...serving, listener: { tlsPort: 3128 } },
    'spec.listener.tlsPort',
    'is the port of clear connections too',
  ),
  fault('nobody who may connect', { listener: { allowFrom: [] } }, 'spec.listener.allowFrom', 'at least 1 item'),
  fault(
    'bits after the prefix',
    { listener: { allowFrom: ['10.1.2.3/8'] } },
    'spec.listener.allowFrom[0]',
    'without bits after the prefix, like 10.0.0.0/8',
  ),
  fault('a port', { listener: { port: 0 } }, 'spec.listener.port', 'greater than or equal to 1'),
  fault('a transport', { sds: { transport: 'UDP' } }, 'spec.sds.transport', 'Unsupported value'),
  fault('too short a life', { sds: { leafLifetime: '119s' } }, 'spec.sds.leafLifetime', 'must be from 2m to 24h'),
  fault('too long a life', { sds: { leafLifetime: '24h1ms' } }, 'spec.sds.leafLifetime', 'must be from 2m to 24h'),
  fault(
    'TLS for a unix socket',
    { sds: { tls: { allowAnyClient: true } } },
    'spec.sds.tls',
    'is for the transport TCP: a unix socket is guarded by who may open it',
  ),
  fault(
    'no client of SDS',
    { sds: { transport: 'TCP', tls: {} } },
    'spec.sds.tls.allowedSANs',
    'names no client, so that none could connect',
  ),
  fault(
    'some and all clients',
    { sds: { transport: 'TCP', tls: { allowAnyClient: true, allowedSANs: ['a'] } } },
    'spec.sds.tls.allowedSANs',
    'lists clients, and allowAnyClient lets every one in',
  ),
  fault(
    'a Secret of SDS without name',
    { sds: { transport: 'TCP', tls: { allowAnyClient: true, secretRef: {} } } },
    'spec.sds.tls.secretRef.name',
    'Required value',
  ),
  fault('no policy', { policy: undefined }, 'spec.policy', 'Required value'),
  fault('no default', { policy: { rules: [rule] } }, 'spec.policy.default', 'Required value'),
  fault('a default', { policy: { default: 'allow' } }, 'spec.policy.default', 'Unsupported value'),
  fault(
    'a dry run without default',
    { policy: { ...policy, dryRun: {} } },
    'spec.policy.dryRun.default',
    'Required value',
  ),
  fault(
    'a rule without verdict',
    rules({ ...rule, verdict: undefined }),
    'spec.policy.rules[0].verdict',
    'Required value',
  ),
  fault('a rule without hosts', rules({ ...rule, hosts: [] }), 'spec.policy.rules[0].hosts', 'at least 1 item'),
  fault('a rule for a URL', rules({ ...rule, hosts: ['a.test:443'] }), 'spec.policy.rules[0].hosts[0]', 'should match'),
  fault('a rule for every name', rules({ ...rule, hosts: ['*'] }), 'spec.policy.rules[0].hosts[0]', 'should match'),
  fault('a port of a rule', rules({ ...rule, ports: [65_536] }), 'spec.policy.rules[0].ports[0]', 'less than or equal'),
  fault('an actor', rules({ ...rule, actors: ['alice'] }), 'spec.policy.rules[0].actors[0]', 'should match'),
  fault(
    'a name of ours',
    rules({ ...rule, name: 'default' }),
    'spec.policy.rules[0].name',
    'give the rule another name',
  ),
  fault('a rule name twice', rules(rule, rule), 'spec.policy.rules[1]', 'Duplicate value'),
  fault('a Deployment', { deploymentName: 'A' }, 'spec.deploymentName', 'should match'),
  fault(
    'a DNS server by name',
    { destinations: { dnsServers: ['a.test'] } },
    'spec.destinations.dnsServers[0]',
    'should match',
  ),
  fault(
    'a port of a DNS server',
    { destinations: { dnsServers: ['192.0.2.1:0'] } },
    'spec.destinations.dnsServers[0]',
    'must be an address, with or without a port',
  ),
  fault(
    'an address to connect to',
    { destinations: { resolve: [{ host: 'a.test', port: 443, address: 'b.test' }] } },
    'spec.destinations.resolve[0].address',
    'must be an IP address',
  ),
  fault('a size of ours', { limits: { maxMemory: '1GiB' } }, 'spec.limits.maxMemory', 'should match'),
  fault(
    'too little memory',
    { limits: { maxMemory: '127Mi' } },
    'spec.limits.maxMemory',
    'must be from 128Mi to 1024Gi',
  ),
  fault('no connection', { limits: { maxConnections: 0 } }, 'spec.limits.maxConnections', 'greater than or equal to 1'),
  fault('too long a drain', { limits: { drain: '61m' } }, 'spec.limits.drain', 'must be from 0s to 1h'),
];

function fault(title: string, spec: GatewayObject, field: string, says: string): GatewayFault {
  return { title, spec, field, says };
}

function bundleWith(more: GatewayObject): GatewayObject {
  return { trustBundle: { ...bundle, ...more } };
}

function rules(...given: readonly GatewayObject[]): GatewayObject {
  return { policy: { ...policy, rules: given } };
}

// Specs of EgressGateways around what is right: each field right, at its limit, just above it, or of another kind. Only what
// the API server can judge as well as a program: hosts that belong to two certificates, for one, are left out.
import fc from 'fast-check';
import type { GatewayObject } from './egress-gateway-object.ts';

const wrongKinds = [3, true, 'x y', ['a'], { a: 'b' }];

/** mostly right, so that a whole object has a chance */
function field(right: readonly unknown[], wrong: readonly unknown[]): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 30, arbitrary: fc.constantFrom(...right) },
    { weight: 2, arbitrary: fc.constantFrom(...wrong) },
    { weight: 1, arbitrary: fc.constantFrom(...wrongKinds) },
  );
}

function objectOf(needed: Fields, optional: Fields = {}): fc.Arbitrary<GatewayObject> {
  return fc.record({ ...needed, ...optional }, { requiredKeys: Object.keys(needed) });
}

type Fields = Readonly<Record<string, fc.Arbitrary<unknown>>>;

function some(item: fc.Arbitrary<unknown>, most = 3): fc.Arbitrary<unknown> {
  return fc.array(item, { minLength: 1, maxLength: most });
}

const sub253 = `${'a'.repeat(251)}.b`;
const objectName = field(['a', 'a.b-c', '0', sub253], ['', 'A', 'a..b', '-a', 'a-', `${sub253}c`, 'a_b']);
const duration = (...wrong: readonly string[]): fc.Arbitrary<unknown> =>
  field(
    ['10m', '1h', '0h59m60s', '600s', '3600000ms'],
    ['1d', '-1m', '1.5h', '10', '', '1h 1m', '999999999h', ...wrong],
  );
const port = field([1, 443, 65_535], [0, 65_536, -1, 1.5]);
const host = field(
  ['a.test', '*.a.test', 'A.test.', '_x.test', 'localhost', `${'a'.repeat(63)}.b`],
  ['', '*', 'a.*', '*.', 'https://a.test', 'a.test:443', '-a.test', 'a..b', `${'a'.repeat(64)}.b`, 'ü.test'],
);
const target = fc.oneof(host, field(['192.0.2.1', '192.0.2.0/24', '2001:db8::1', '2001:db8::/32'], ['10.0.0.0/24/1']));
const range = field(
  ['10.0.0.0/8', '0.0.0.0/0', '192.0.2.7', 'fd00::/8', '2001:db8::1', '192.0.2.7/32'],
  ['10.0.0.1/8', '10.0.0.0/33', '10.0.0', 'a.test', '', '10.0.0.0/', 'fd00::/129', '010.0.0.0/8', '10.0.0.0/08'],
);
const configMapKey = objectOf(
  { name: objectName },
  { key: field(['ca.crt', 'A_b-c.', '.a'], ['..', '.', '', 'a/b', '..a']) },
);
const secretRef = objectOf({ name: objectName });
const flag = field([true, false], ['true', 0]);

const signerName = field(
  ['a.example/b', 'egress.example.com/mitm.v1', `${'a.'.repeat(126)}b/c`, `a.b/${sub253}`, `a.b/${'c'.repeat(253)}.d`],
  [
    'a/b',
    'a.b',
    'a.b/',
    '/b',
    'a.b/c/d',
    'A.b/c',
    'kubernetes.io/a',
    'x.k8s.io/a',
    `a.b/${'c'.repeat(254)}`,
    `${'a.'.repeat(127)}b/c`,
  ],
);
const labels = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom({}, { a: 'b' }, { 'x.test/A_b': '' }, { notleafgate: '1' }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown[]>(
      { 'a b': '' },
      { '/a': '' },
      { 'a/': '' },
      { a: '-' },
      { 'leafgate.dev/a': 'b' },
      { a: 'b'.repeat(64) },
      3,
    ),
  },
);
const trustBundle = objectOf(
  { signerName, name: objectName },
  { labels, retainFor: duration('721h'), deletionPolicy: field(['Delete', 'Retain'], ['delete', '']) },
);

const verdict = field(['intercept', 'relay', 'tcp', 'deny'], ['allow', '']);
const rule = objectOf(
  {
    name: field(['a', 'b', 'c.d_e-f', '0'.repeat(64)], ['', 'A', '-a', 'default', 'self-check', '0'.repeat(65)]),
    hosts: some(target),
    verdict,
  },
  { ports: some(port), actors: some(field(['spiffe://a', 'u:b'], ['', 'alice', 'a:', 'a:b,c', 'a:b c'])) },
);
const rules = fc.array(rule, { maxLength: 4 }).map((all) => {
  const names = new Set<unknown>();
  return all.filter(({ name }) => !names.has(name) && names.add(name));
});
const policyPart = { default: verdict };
const policy = objectOf(policyPart, { rules, dryRun: objectOf(policyPart, { rules }) });

const tls = objectOf(
  {},
  {
    ...{ enabled: flag, secretRef, clientSecretRef: secretRef, allowAnyClient: flag, insecureSkipVerify: flag },
    allowedSANs: fc.array(field(['a.test', 'spiffe://a/b', 'My client'], ['', ' a', 'a\n']), { maxLength: 2 }),
  },
);
const sds = fc.oneof(
  objectOf(
    {},
    { transport: field(['UnixSocket'], ['', 'unix']), leafLifetime: duration('1m', '25h'), allowEd25519: flag },
  ),
  objectOf({ transport: field(['TCP', 'TCP', 'UnixSocket'], ['tcp']), tls }),
);

const listener = objectOf({}, { port, tlsPort: field([8443], [0]), allowFrom: fc.array(range, { maxLength: 3 }) });
const dnsServer = field(
  ['192.0.2.53', '192.0.2.53:5353', '2001:db8::53', '[2001:db8::53]:5353'],
  ['', 'a.test', '192.0.2.53:0', '192.0.2.53:65536', '[192.0.2.1]:53', '[2001:db8::53]', '2001:db8::g', '192.0.2.300'],
);
const override = objectOf({
  host: field(['a.test', '*'], ['*.a.test', 'a:b', '']),
  port,
  address: field(['192.0.2.1', '::1'], ['a.test', '192.0.2.0/24', '']),
});
const destinations = objectOf({}, { allow: some(range), dnsServers: some(dnsServer), resolve: some(override) });
const limits = objectOf(
  {},
  {
    maxConnections: field([1, 8000, 1_000_000], [0, 1_000_001, 1.5]),
    maxMemory: field(['128Mi', '2Gi', '1024Gi'], ['127Mi', '1025Gi', '1G', '1GiB', '0Mi', '1.5Gi', '']),
    clientRate: field([1, 1_000_000], [0, 1_000_001]),
    drain: duration('2h'),
  },
);
const canonical = (value: unknown): string => String(value).toLowerCase().replace(/\.$/, '');
const clientCertificates = fc
  .tuple(objectName, objectName, host, host)
  .map(([one, other, a, b]) => [
    { secretName: one, hosts: [a] },
    ...(one === other || canonical(a) === canonical(b) ? [] : [{ secretName: other, hosts: [b] }]),
  ]);

export const gatewayVariants: fc.Arbitrary<GatewayObject> = objectOf(
  { trustBundle, policy },
  {
    caPool: objectOf({ secretName: objectName }),
    servingTLS: objectOf({ secretName: objectName }),
    origins: objectOf({}, { caBundleRef: configMapKey, clientCertificates }),
    clients: objectOf({}, { caBundleRef: configMapKey }),
    ...{ sds, listener, destinations, limits, deploymentName: objectName },
  },
);

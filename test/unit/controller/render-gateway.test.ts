// The files of two gateways as they were last reviewed, and what holds for those of every gateway. `npm run golden` writes
// them anew; read the difference before you commit it.
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { policyDocument } from '../../../src/bootstrap/policy-filter.ts';
import { renderGateway, type RenderedGateway } from '../../../src/controller/render-gateway.ts';
import type { EgressGateway } from '../../../src/settings/egress-gateway-types.ts';
import { parseEgressGateway } from '../../../src/settings/egress-gateway.ts';
import { parseSidecarSettings } from '../../../src/settings/parse-sidecar-settings.ts';
import { parseSdsClients, parseSdsServerSettings } from '../../../src/settings/parse-sds-server-settings.ts';
import { maxRenderedBytes } from '../../../src/settings/pod-layout.ts';
import { parsePolicyFile } from '../../../src/settings/policy-file.ts';
import { gatewayObject, wholeGatewaySpec } from '../../support/egress-gateway-object.ts';
import { egressGateway, policyOf, tcpEgressGateway, wholeEgressGateway } from '../../support/egress-gateway.ts';
import { fold } from '../../support/fold-document.ts';

const roots = '-----BEGIN CERTIFICATE-----\nb3JpZ2lu\n-----END CERTIFICATE-----\n';
const clients = '-----BEGIN CERTIFICATE-----\nY2xpZW50\n-----END CERTIFICATE-----\n';

const anchors = '-----BEGIN CERTIFICATE-----\nYW5jaG9y\n-----END CERTIFICATE-----\n';

const golden: readonly (readonly [string, EgressGateway])[] = [
  ['pod', egressGateway()],
  ['pod-everything', wholeEgressGateway()],
  ['pod-without-pool', tcpEgressGateway()],
];

/** what stands in a bootstrap more than once is pointed to, more often than the reader takes for honest by itself */
function read(text: string | undefined): unknown {
  return parse(text ?? '', { maxAliasCount: -1 });
}

function render(gateway: EgressGateway, clientRootsPem: string | undefined = clients): RenderedGateway {
  const remote =
    gateway.spec.sds.transport === 'UnixSocket'
      ? undefined
      : { serverName: 'gateway-sds.egress.svc.cluster.local', anchorsPem: anchors };
  return renderGateway({ gateway, originRootsPem: roots, clientRootsPem, remote });
}

test.each(golden)('the files of the gateway "%s" are those that were reviewed', async (name, gateway) => {
  const { data } = render(gateway);
  const files = Object.entries(data).map(([file, text]) => [file, file.endsWith('.pem') ? text : read(text)]);
  const { document, shared } = fold(Object.fromEntries(files));
  const text = stringify({ files: document, shared }, { lineWidth: 0, aliasDuplicateObjects: false });
  await expect(text).toMatchFileSnapshot(`../../golden/${name}.yaml`);
});

describe('where pods have no pool', () => {
  const { data, ...plain } = render(tcpEgressGateway());
  const other = (tls: object): RenderedGateway => render(tcpEgressGateway(tls));

  test('their files name it nowhere, and Envoy asks for the one name and verifies it', () => {
    for (const file of ['bootstrap.yaml', 'sidecar.yaml']) expect(data[file]).not.toContain('/etc/leafgate/pool');
    expect(data['bootstrap.yaml']?.includes('"sni": "gateway-sds.egress.svc.cluster.local"')).toBe(true);
    expect(data['sds-roots.json']).toContain('{"exact":"gateway-sds.egress.svc.cluster.local"}');
  });

  test('another list of clients makes no new pods, another Secret makes those that mount it', () => {
    const listed = other({ allowedSans: ['other.test'] });
    expect(listed).toMatchObject({
      ...{ constantSha256: plain.constantSha256, sdsConstantSha256: plain.sdsConstantSha256 },
      data: { 'sds-clients.json': '{\n "names": [\n  "other.test"\n ]\n}\n' },
    });
    const server = other({ secretName: 'server-2' });
    expect(server.constantSha256).toBe(plain.constantSha256);
    expect(server.sdsConstantSha256).not.toBe(plain.sdsConstantSha256);
    const client = other({ clientSecretName: 'client-2' });
    expect(client.constantSha256).not.toBe(plain.constantSha256);
    expect(client.sdsConstantSha256).toBe(plain.sdsConstantSha256);
  });

  test('what the controller writes for the SDS servers is what they read', () => {
    const settings = parseSdsServerSettings(data['sds-server.json'] ?? '', 'sds-server.json');
    expect(settings.channel).toEqual({
      ...{
        kind: 'tls',
        secret: 'sds-server',
        dir: '/etc/leafgate/tls',
        serverName: 'gateway-sds.egress.svc.cluster.local',
      },
    });
    expect(parseSdsClients(data['sds-clients.json'] ?? '', 'c')).toEqual({
      ...{ kind: 'listed', names: new Set(['envoy.egress.example']) },
    });
    const any = other({ allowAnyClient: true, allowedSans: [] }).data['sds-clients.json'] ?? '';
    expect(parseSdsClients(any, 'c')).toEqual({ kind: 'any' });
    for (const text of ['', '{}', '{"names":[]}', '{"any":false}', '{"any":true,"names":["a"]}'])
      expect(() => parseSdsClients(text, 'sds-clients.json'), text).toThrow(/sds-clients\.json cannot be used/);
  });

  test('a server that Envoy does not verify is not compared with the name either', () => {
    const { data: files } = other({ insecureSkipVerify: true });
    expect(files['sds-server.json']).not.toContain('serverName');
    expect(files['sds-roots.json']).toBeUndefined();
  });

  test('plaintext that was chosen is in all three files that say how they speak, and needs no list of clients', () => {
    const inClear = other({ enabled: false, allowedSans: [] });
    const files = inClear.data;
    expect(parseSidecarSettings(files['sidecar.yaml'] ?? '', 's').remoteSds?.channel).toEqual({ kind: 'plaintext' });
    expect(parseSdsServerSettings(files['sds-server.json'] ?? '', 's').channel).toEqual({
      ...{ kind: 'plaintext', dir: '/etc/leafgate/tls' },
    });
    expect(files['bootstrap.yaml']).toContain('gateway-sds.egress.svc.cluster.local');
    expect(files['bootstrap.yaml']?.includes('sds_certificate')).toBe(false);
    for (const name of ['sds-clients.json', 'sds-certificate.json', 'sds-roots.json'])
      expect(files).not.toHaveProperty(name);
    expect(inClear.constantSha256).not.toBe(plain.constantSha256);
    expect(inClear.sdsConstantSha256).not.toBe(plain.sdsConstantSha256);
    // whoever is listed stays so for servers that have the files of TLS all the same
    expect(other({ enabled: false }).data['sds-clients.json']).toContain('envoy.egress.example');
  });
});

describe('what is rendered', () => {
  test('is the same bytes for the same gateway', () => {
    expect(render(wholeEgressGateway())).toEqual(render(wholeEgressGateway()));
  });

  test('has names that a ConfigMap takes', () => {
    expect(
      Object.keys(render(wholeEgressGateway()).data).filter((name) => !/^[-._a-zA-Z0-9]{1,253}$/.test(name)),
    ).toEqual([]);
    expect(render(egressGateway()).configMapName).toBe('gateway-envoy');
  });

  test('has the policy twice, for Envoy and for the sidecar, and both say the same', () => {
    const reading = parseEgressGateway(gatewayObject({ policy: wholeGatewaySpec['policy'] }));
    if (reading.kind === 'refused') throw reading.problems[0];
    const { data } = render(reading.gateway);
    const file = parsePolicyFile(Buffer.from(data['policy.yaml'] ?? ''), { source: 'policy.yaml', baseDir: '/' });
    if (file.kind === 'refused') throw file.problems[0];
    expect(file.file.policy.rules.length).toBeGreaterThan(3);
    const { version_info } = policyDocument(file.file.policy, file.file.dryRun);
    expect(JSON.parse(data['policy.json'] ?? '')).toMatchObject({ version_info });
  });

  test('says how large it is', () => {
    const { data, bytes } = render(wholeEgressGateway());
    expect(bytes).toBe(Buffer.byteLength(Object.entries(data).flat().join('')));
  });

  test('has the certificate for origins once where two entries name its Secret', () => {
    const { data } = render(wholeEgressGateway());
    expect(Object.keys(data).filter((name) => name.startsWith('credential-'))).toEqual([
      'credential-partner.json',
      'credential-other.json',
    ]);
    expect(data['origin-choice.json']).toMatch(/more\.example/);
  });

  test('lets the machine of the proxy itself in, besides those that the spec names', () => {
    expect(bootstrapOf(egressGateway())).toContain('{"address_prefix":"127.0.0.0","prefix_len":8}');
  });

  test('listens on both families once a network of IPv6 may connect', () => {
    expect(bootstrapOf(egressGateway())).not.toMatch(/ipv4_compat/);
    expect(bootstrapOf(wholeEgressGateway())).toContain('{"address":"::","port_value":3129,"ipv4_compat":true}');
  });
});

function bootstrapOf(gateway: EgressGateway): string {
  return JSON.stringify(read(render(gateway).data['bootstrap.yaml']));
}

describe('what fits', () => {
  /** as large as the common roots of Debian are, 144 of them */
  const commonRoots = 'x'.repeat(219_597);

  type Size = {
    readonly rules: number;
    readonly hostsEach: number;
    readonly hostChars: number;
    readonly ports?: number[];
  };

  function bytesOf({ rules, hostsEach, hostChars, ports }: Size): number {
    const hostOf = (of: number): string => `${of}.example.com`.padStart(hostChars, 'h');
    const policy = {
      default: 'deny',
      rules: Array.from({ length: rules }, (_, rule) => ({
        name: `rule-${rule}`,
        hosts: Array.from({ length: hostsEach }, (_host, host) => hostOf(rule * hostsEach + host)),
        ...(ports === undefined ? {} : { ports }),
        verdict: 'intercept',
      })),
    };
    const reading = parseEgressGateway(gatewayObject({ policy }));
    if (reading.kind === 'refused') throw reading.problems[0];
    return renderGateway({ gateway: reading.gateway, originRootsPem: commonRoots, clientRootsPem: undefined }).bytes;
  }

  // the definition takes 1,000 rules, and 10,000 hosts in one
  test.each<[string, Size]>([
    ['1,000 rules of a host each', { rules: 1000, hostsEach: 1, hostChars: 60 }],
    ['a rule of 10,000 hosts', { rules: 1, hostsEach: 10_000, hostChars: 28 }],
    ['1,000 rules that share 10,000 hosts', { rules: 1000, hostsEach: 10, hostChars: 16 }],
    ['800 rules of a host and a port each', { rules: 800, hostsEach: 1, hostChars: 24, ports: [443] }],
  ])('%s do, beside the common roots', (_name, size) => {
    expect(bytesOf(size)).toBeLessThanOrEqual(maxRenderedBytes);
  });
});

describe('what restarts the pods', () => {
  const before = render(egressGateway()).constantSha256;
  const after = (gateway: EgressGateway): string => render(gateway).constantSha256;

  test.each([
    ['a port', egressGateway({ gateway: { listenPort: 3333 } })],
    ['another pool Secret', egressGateway({ spec: { caPool: { secretName: 'other' } } })],
    ['a serving certificate', egressGateway({ spec: { servingTls: { secretName: 'serving' } } })],
    ['a longer life of leaves', egressGateway({ spec: { sds: { ...egressGateway().spec.sds, allowEd25519: true } } })],
    ['certificates for origins', egressGateway({ spec: { origins: wholeEgressGateway().spec.origins } })],
  ])('%s does', (_name, gateway) => expect(after(gateway)).not.toBe(before));

  test('another serving Secret does: it is another mount', () => {
    const other = wholeEgressGateway({ spec: { servingTls: { secretName: 'other' } } });
    expect(after(other)).not.toBe(after(wholeEgressGateway()));
  });

  test.each([
    ['the policy', egressGateway({ policyText: 'default: intercept\n' })],
    ['an override', egressGateway({ gateway: { resolve: [] } })],
    ['the names of the bundle', egressGateway({ spec: { deploymentName: 'elsewhere' } })],
    ['dry-run rules', egressGateway({ spec: policyOf('default: deny\ndryRun: { default: intercept }\n') })],
  ])('%s does not', (_name, gateway) => expect(after(gateway)).toBe(before));

  test('roots do not', () => {
    const gateway = wholeEgressGateway();
    const [one, other] = [roots, clients].map((originRootsPem) => {
      return renderGateway({ gateway, originRootsPem, clientRootsPem: originRootsPem });
    });
    expect(one?.constantSha256).toBe(other?.constantSha256);
    expect(one?.data['client-roots.pem']).not.toBe(other?.data['client-roots.pem']);
  });

  test('its digest is of the files that are read once', () => {
    const { data, constantSha256 } = render(egressGateway());
    const hash = createHash('sha256');
    for (const file of ['bootstrap.yaml', 'sidecar.yaml']) hash.update(JSON.stringify([file, data[file]]));
    expect(constantSha256).toBe(hash.digest('hex'));
  });
});

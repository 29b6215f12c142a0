// The channel of a gateway that asks SDS servers by TCP, on a real API server: what TLSConfigured says of its Secrets as they
// change, and what is rendered, rolled and told meanwhile.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { epoch, plus, seconds } from '../../src/clock.ts';
import {
  channelFaults,
  channelKeys,
  clientName,
  clientSecret,
  fromStrangeCa,
  serverSecret,
  type ChannelShapes,
  type SecretShape,
} from '../support/cluster/channel-faults.ts';
import {
  applyDeployment,
  applyGateway,
  applySecret,
  conditionOf,
  createControllerWorld,
  documentedRules,
  newPool,
  secretPath,
  waitForReason,
  type ControllerUnderTest,
  type ControllerWorld,
} from '../support/cluster/controller-world.ts';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import { mustSucceed, type ApiObject } from '../support/cluster/raw-api.ts';
import { allow, type AccountRules } from '../support/cluster/service-account.ts';
import { findKeyTraces } from '../support/key-traces.ts';
import { waitFor } from '../support/wait-for.ts';

const annotation = 'leafgate.dev/constant-files';
const others = [
  'plain',
  'clear',
  'shared',
  'unverified',
  'moves',
  'ends',
  'late',
  'unmounted',
  'hidden',
  'unrolled',
  'rolls',
];

/** a gateway for each test: Events about one object are limited */
const gateways = [...channelFaults.map((_, index) => `fault-${index}`), ...others];

function rulesOf(namespace: string, domain: string): AccountRules {
  const { namespaced = {}, cluster = [] } = documentedRules(namespace, domain);
  const rule = (group: string, resource: string, verbs: readonly string[], resourceNames: readonly string[]) => ({
    ...{ apiGroups: [group], resources: [resource], verbs, resourceNames },
  });
  const seen = gateways.filter((name) => name !== 'hidden');
  const channel = [
    rule(
      '',
      'secrets',
      ['list', 'watch'],
      seen.flatMap((name) => [`${name}-server`, `${name}-client`]),
    ),
    rule(
      '',
      'configmaps',
      ['list', 'watch', 'create', 'patch'],
      gateways.map((name) => `${name}-envoy`),
    ),
    rule('apps', 'deployments', ['get', 'patch'], gateways),
    rule('apps', 'deployments', ['get', 'patch'], gateways.filter((name) => name !== 'unrolled').map(sdsOf)),
  ];
  return { namespaced: { [namespace]: [...(namespaced[namespace] ?? []), ...channel] }, cluster };
}

/** of the ConfigMap */
type Files = Readonly<Record<string, string>>;

/** megabytes of what no Secret has a part in */
function withoutConstant(files: Files): Files {
  return { ...files, 'bootstrap.yaml': '', 'origin-roots.pem': '' };
}

function sdsOf(name: string): string {
  return `${name}-sds`;
}

describeWithControlPlane('the channel of a gateway by TCP', {}, (plane) => {
  let world: ControllerWorld;
  let controller: ControllerUnderTest;

  const serverNameOf = (name: string): string => `${name}-sds.${world.namespace}.svc.cluster.local`;
  const specOf = (name: string, tls: ApiObject = {}, more: ApiObject = {}): ApiObject => {
    const secrets = { secretRef: { name: `${name}-server` }, clientSecretRef: { name: `${name}-client` } };
    const said = { ...secrets, allowedSANs: [clientName], ...tls };
    return { ...more, sds: { ...more['sds'], transport: 'TCP', tls: said } };
  };
  const putSecret = async (name: string, wanted: SecretShape | 'absent'): Promise<void> => {
    const path = secretPath(world, name);
    const { status, body } = await world.admin.get(path);
    // the type of a Secret never changes: another Secret has to take its place
    if (status === 200 && (wanted === 'absent' || body?.['type'] !== wanted.type))
      mustSucceed(await world.admin.remove(path));
    if (wanted !== 'absent') await applySecret(world, name, wanted.data, wanted.type);
  };
  const bringSecrets = async (name: string, shapes: ChannelShapes = {}): Promise<void> => {
    await putSecret(`${name}-client`, shapes.client ?? clientSecret());
    await putSecret(`${name}-server`, shapes.server ?? serverSecret(serverNameOf(name)));
  };
  const files = async (name: string): Promise<Files | undefined> => {
    const { body, status } = await world.admin.get(`/api/v1/namespaces/${world.namespace}/configmaps/${name}-envoy`);
    return status === 200 ? (body?.['data'] as Files) : undefined;
  };
  const deployment = async (name: string): Promise<ApiObject> =>
    mustSucceed(await world.admin.get(`/apis/apps/v1/namespaces/${world.namespace}/deployments/${name}`));
  const digest = async (name: string): Promise<string | undefined> =>
    (await deployment(name))['spec'].template.metadata.annotations?.[annotation] as string | undefined;
  /** of both Deployments */
  const digests = async (name: string): Promise<readonly (string | undefined)[]> => [
    await digest(name),
    await digest(sdsOf(name)),
  ];
  const applyBoth = async (name: string): Promise<void> => {
    await applyDeployment(world, name);
    await applyDeployment(world, sdsOf(name), `${name}-envoy`);
  };
  const eventOf = (name: string, type: string, reason: string, says: string): Promise<ApiObject> =>
    waitFor(`the event ${reason}`, async () => {
      const { body } = await world.admin.get(`/apis/events.k8s.io/v1/namespaces/${world.namespace}/events`);
      const items = (body?.['items'] ?? []) as readonly ApiObject[];
      const isRight = (one: ApiObject): boolean =>
        one['regarding'].name === name && one['type'] === type && one['reason'] === reason;
      return items.find((one) => isRight(one) && (one['note'] as string).includes(says));
    });
  /** a round was made over what is in the spec now */
  const applyAndJudge = async (name: string, spec: ApiObject): Promise<void> => {
    const { metadata } = await applyGateway(world, name, spec);
    await waitFor('a round', async () => {
      const ready = await conditionOf(world, 'Ready', name);
      return ready?.['observedGeneration'] === metadata.generation;
    });
  };
  const hostRule = (host: string): ApiObject => ({
    policy: { default: 'deny', rules: [{ name: 'changed', hosts: [host], verdict: 'intercept' }] },
  });
  /** the one gateway with a channel of this kind */
  const countedAndTold = async (kind: string, name: string, sentence: string): Promise<void> => {
    const sample = `leafgate_controller_channels{kind="${kind}"}`;
    await waitFor('the metric', async () => (await controller.metric(sample)) === 1);
    const line = new RegExp(`"level":"warn".*${sentence}`);
    const isTold = (text: string): boolean =>
      line.test(text) && text.includes(`"gateway":"${world.namespace}/${name}"`);
    await waitFor('the warning', () => controller.process.stderr().split('\n').some(isTold));
  };
  /** The gateway is ready, with both Deployments and good Secrets. */
  const bringGood = async (name: string, tls: ApiObject = {}): Promise<void> => {
    await applyBoth(name);
    await bringSecrets(name);
    await applyGateway(world, name, specOf(name, tls));
    await waitForReason(world, 'TLSConfigured', 'Enabled', { name });
    await waitForReason(world, 'Ready', 'Ready', { name });
  };

  beforeAll(async () => {
    world = await createControllerWorld(plane(), rulesOf);
    controller = await world.start();
    await applySecret(world, 'pool', { pool: newPool() });
  });
  afterAll(() => world.close());

  describe.each(channelFaults.map((one, index) => ({ ...one, name: `fault-${index}` })))(
    'with $title',
    ({ name, make, reason, says }) => {
      const text = says.replaceAll('NAME', name);

      test(`is said to have ${reason}, nothing is rendered, and once it is mended all is`, async () => {
        await applyBoth(name);
        await bringSecrets(name, make(serverNameOf(name)));
        await applyAndJudge(name, specOf(name));
        const said = await waitForReason(world, 'TLSConfigured', reason, { name });
        expect(said).toMatchObject({ status: 'False', message: expect.stringContaining(text) as string });
        await waitForReason(world, 'Ready', 'TLSNotConfigured', { name });
        await eventOf(name, 'Warning', reason, text);
        expect(await files(name)).toBeUndefined();
        expect(await digests(name)).toEqual([undefined, undefined]);
        await bringSecrets(name);
        const good = await waitForReason(world, 'TLSConfigured', 'Enabled', { name });
        expect(good['message']).toContain(`mutual TLS as ${serverNameOf(name)}`);
        await eventOf(name, 'Normal', 'Enabled', serverNameOf(name));
        await waitForReason(world, 'Ready', 'Ready', { name });
        expect(Object.keys((await files(name)) ?? {})).toContain('sds-server.json');
      });

      test('later is reported, holds nothing else back, and makes no new pods', async () => {
        const before = await digests(name);
        const channel = (await files(name))?.['sds-server.json'] as string;
        await bringSecrets(name, make(serverNameOf(name)));
        await waitForReason(world, 'TLSConfigured', reason, { name });
        await waitForReason(world, 'Ready', 'TLSNotConfigured', { name });
        await applyAndJudge(name, specOf(name, {}, hostRule('later.example.com')));
        const now = await files(name);
        expect(now?.['policy.yaml']).toContain('later.example.com');
        expect(now?.['sds-server.json']).toBe(channel);
        await bringSecrets(name);
        await waitForReason(world, 'Ready', 'Ready', { name });
        expect(await digests(name)).toEqual(before);
      });
    },
  );

  test('takes Secrets of the type Opaque as well', async () => {
    const name = 'plain';
    await applyBoth(name);
    const [server, client] = [serverSecret(serverNameOf(name)), clientSecret()];
    await bringSecrets(name, { server: { ...server, type: 'Opaque' }, client: { ...client, type: 'Opaque' } });
    await applyGateway(world, name, specOf(name));
    await waitForReason(world, 'TLSConfigured', 'Enabled', { name });
    await waitForReason(world, 'Ready', 'Ready', { name });
    // the one in place of the other, as somebody moves to cert-manager
    await bringSecrets(name);
    await applyAndJudge(name, specOf(name, {}, hostRule('moved.example.com')));
    await waitForReason(world, 'TLSConfigured', 'Enabled', { name });
  });

  test('may have one Secret for both sides, with both usages and a listed name in its certificate', async () => {
    const name = 'shared';
    await applyBoth(name);
    const serverName = serverNameOf(name);
    const both = (allowed: string) => specOf(name, { clientSecretRef: undefined, allowedSANs: [allowed] });
    await putSecret(`${name}-server`, serverSecret(serverName));
    await applyGateway(world, name, both(serverName));
    const said = await waitForReason(world, 'TLSConfigured', 'SecretMalformed', { name });
    expect(said['message']).toContain('clientAuth');
    await putSecret(`${name}-server`, serverSecret(serverName, { purposes: ['client', 'server'] }));
    await waitForReason(world, 'Ready', 'Ready', { name });
    expect((await files(name))?.['sidecar.yaml']).toContain(`"secret": "${name}-server"`);
    await applyGateway(world, name, both('other.egress.example'));
    await waitForReason(world, 'TLSConfigured', 'ClientNotAllowed', { name });
  });

  test('that Envoy does not verify is told as a warning, whatever the server is called, and not when it is verified', async () => {
    const name = 'unverified';
    await applyBoth(name);
    const strange = serverSecret('other.example', fromStrangeCa);
    await bringSecrets(name, { server: strange });
    await applyGateway(world, name, specOf(name, { insecureSkipVerify: true }));
    const said = await waitForReason(world, 'TLSConfigured', 'InsecureSkipVerify', { name });
    expect(said).toMatchObject({ status: 'True' });
    await eventOf(name, 'Warning', 'InsecureSkipVerify', 'does not verify the SDS server');
    await waitForReason(world, 'Ready', 'Ready', { name });
    const unverified = await files(name);
    expect(unverified?.['sds-server.json']).not.toContain('serverName');
    await countedAndTold('tls-unverified', name, 'Envoy takes any SDS server');
    await applyGateway(world, name, specOf(name));
    await waitForReason(world, 'TLSConfigured', 'SecretSANsMismatch', { name });
    await bringSecrets(name);
    await waitForReason(world, 'TLSConfigured', 'Enabled', { name });
    await waitFor('the name', async () => (await files(name))?.['sds-server.json']?.includes(serverNameOf(name)));
  });

  test('is plaintext at once where that is chosen, ready and told as a warning, and mutual TLS again once that is good', async () => {
    const name = 'clear';
    await applyBoth(name);
    const inClear = { secretRef: undefined, clientSecretRef: undefined, allowedSANs: undefined, enabled: false };
    await applyGateway(world, name, specOf(name, inClear));
    const said = await waitForReason(world, 'TLSConfigured', 'ExplicitlyDisabled', { name });
    expect(said).toMatchObject({
      status: 'False',
      message: expect.stringContaining('LEAFGATE_SDS_INSECURE') as string,
    });
    await eventOf(name, 'Warning', 'ExplicitlyDisabled', 'in plaintext');
    await waitForReason(world, 'Ready', 'Ready', { name });
    const rendered = await files(name);
    for (const file of ['sidecar.yaml', 'sds-server.json']) expect(rendered?.[file]).toContain('"kind": "plaintext"');
    expect(rendered).not.toHaveProperty('sds-clients.json');
    expect(rendered?.['bootstrap.yaml']).not.toContain('sds_certificate');
    await countedAndTold('plaintext', name, 'Envoy asks its SDS servers in plaintext');
    const before = [rendered, await digests(name)] as const;
    await applyAndJudge(name, specOf(name));
    await waitForReason(world, 'TLSConfigured', 'SecretNotFound', { name });
    expect([await files(name), await digests(name)]).toEqual(before);
    await bringSecrets(name);
    await waitForReason(world, 'Ready', 'Ready', { name });
    await waitFor('TLS', async () => (await files(name))?.['sds-server.json']?.includes('"kind": "tls"'));
    await waitFor('new pods of both', async () =>
      (await digests(name)).every((one, index) => one !== before[1][index]),
    );
    await applyGateway(world, name, specOf(name, inClear));
    await waitFor('the first pods again', async () => (await digests(name)).join() === before[1].join());
  });

  test('comes into the files of a gateway with a unix socket when it is good, and not before', async () => {
    const name = 'moves';
    await applyBoth(name);
    await applyGateway(world, name);
    await waitForReason(world, 'Ready', 'Ready', { name });
    const before = [await files(name), await digests(name)] as const;
    expect(before[1]).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), undefined]);
    await applyAndJudge(name, specOf(name));
    await waitForReason(world, 'TLSConfigured', 'SecretNotFound', { name });
    expect([await files(name), await digests(name)]).toEqual(before);
    await applyAndJudge(name, specOf(name, { secretRef: undefined, clientSecretRef: undefined }));
    await waitForReason(world, 'TLSConfigured', 'SecretRefMissing', { name });
    expect([await files(name), await digests(name)]).toEqual(before);
    await bringSecrets(name);
    await applyGateway(world, name, specOf(name));
    await waitForReason(world, 'Ready', 'Ready', { name });
    expect(Object.keys((await files(name)) ?? {})).toContain('sds-clients.json');
    expect(await digest(name)).not.toBe(before[1][0]);
    expect(await digest(sdsOf(name))).toMatch(/^[0-9a-f]{64}$/);
  });

  test('is said to have ended when a certificate does, although nothing tells of it', async () => {
    const name = 'ends';
    await bringGood(name);
    await bringSecrets(name, { client: clientSecret({ notAfter: plus(epoch(Date.now()), seconds(8)) }) });
    await waitForReason(world, 'TLSConfigured', 'SecretExpired', { name, deadlineMs: 40_000 });
  });

  test('is not looked into where the Role does not name its Secrets, with the missing rule, and heals', async () => {
    const name = 'hidden';
    await applyBoth(name);
    await bringSecrets(name);
    await applyGateway(world, name, specOf(name));
    const said = await waitForReason(world, 'TLSConfigured', 'SecretUnavailable', { name });
    for (const side of ['server', 'client'])
      expect(said['message']).toContain(`list, watch on secrets "${name}-${side}" in namespace ${world.namespace}`);
    expect(await files(name)).toBeUndefined();
    const resourceNames = [`${name}-server`, `${name}-client`];
    const rule = { apiGroups: [''], resources: ['secrets'], resourceNames, verbs: ['list', 'watch'] };
    const subject = { kind: 'ServiceAccount', namespace: world.namespace, name: 'controller' } as const;
    await allow(plane(), subject, { namespaced: { [world.namespace]: [rule] } });
    await waitForReason(world, 'TLSConfigured', 'Enabled', { name, deadlineMs: 50_000 });
  });

  describe('has a Deployment of its own that', () => {
    test('is asked for until it is there, and rolled then', async () => {
      const name = 'late';
      await applyDeployment(world, name);
      await bringSecrets(name);
      await applyGateway(world, name, specOf(name));
      const said = await waitForReason(world, 'Ready', 'DeploymentNotFound', { name });
      expect(said['message']).toContain(`Deployment ${world.namespace}/${sdsOf(name)} does not exist`);
      // the other is looked after all the same
      expect(await digest(name)).toMatch(/^[0-9a-f]{64}$/);
      await applyBoth(name);
      await waitForReason(world, 'Ready', 'Ready', { name, deadlineMs: 40_000 });
      expect(await digest(sdsOf(name))).toMatch(/^[0-9a-f]{64}$/);
    });

    test('is left alone while its pods do not mount the files, since it may be somebody else’s', async () => {
      const name = 'unmounted';
      await applyDeployment(world, name);
      await applyDeployment(world, sdsOf(name), 'their-settings');
      const { metadata } = await deployment(sdsOf(name));
      await bringSecrets(name);
      await applyGateway(world, name, specOf(name));
      const said = await waitForReason(world, 'Ready', 'DeploymentWithoutFiles', { name });
      expect(said['message']).toContain(`${sdsOf(name)} does not mount the ConfigMap ${name}-envoy`);
      expect((await deployment(sdsOf(name)))['metadata'].resourceVersion).toBe(metadata.resourceVersion);
      await applyBoth(name);
      await waitForReason(world, 'Ready', 'Ready', { name, deadlineMs: 40_000 });
      expect(await digest(sdsOf(name))).toMatch(/^[0-9a-f]{64}$/);
    });

    test('is named with the missing rule where the Role does not let it be rolled', async () => {
      const name = 'unrolled';
      await applyBoth(name);
      await bringSecrets(name);
      await applyGateway(world, name, specOf(name));
      const said = await waitForReason(world, 'Ready', 'FilesNotWritten', { name });
      expect(said['message']).toContain(`get, patch on deployments.apps "${sdsOf(name)}"`);
    });

    test('gets new pods for what they read at their start alone, and for nothing that they follow', async () => {
      const name = 'rolls';
      await bringGood(name);
      const first = await digests(name);
      const heldBy = async (spec: ApiObject, isThere: (data: Files) => boolean): Promise<void> => {
        await applyGateway(world, name, spec);
        await waitFor('the files', async () => isThere((await files(name)) ?? {}));
        await applyAndJudge(name, spec);
        expect(await digests(name)).toEqual(first);
      };
      // followed: other clients, another policy, other certificates
      const listed = { allowedSANs: [clientName, 'second.egress.example'] };
      await heldBy(
        specOf(name, listed),
        (data) => data['sds-clients.json']?.includes('second.egress.example') === true,
      );
      await heldBy(
        specOf(name, listed, hostRule('rolls.example.com')),
        (data) => data['policy.yaml']?.includes('rolls.example.com') === true,
      );
      await bringSecrets(name);
      await heldBy(specOf(name), (data) => data['sds-clients.json']?.includes('second.egress.example') === false);
      // constant: how long leaves live, and which Secret is mounted
      await applyGateway(world, name, specOf(name, {}, { sds: { leafLifetime: '30m' } }));
      await waitFor('new pods of both', async () => (await digests(name)).every((one, index) => one !== first[index]));
      const second = await digests(name);
      await putSecret(`plain-client`, clientSecret());
      const otherClient = specOf(name, { clientSecretRef: { name: 'plain-client' } }, { sds: { leafLifetime: '30m' } });
      await applyGateway(world, name, otherClient);
      await waitFor('new pods of the gateway', async () => (await digest(name)) !== second[0]);
      await waitForReason(world, 'Ready', 'Ready', { name });
      expect(await digest(sdsOf(name))).toBe(second[1]);
    });
  });

  const configMaps = async (): Promise<readonly Files[]> => {
    const list = mustSucceed(await world.admin.get(`/api/v1/namespaces/${world.namespace}/configmaps`));
    return (list['items'] as readonly ApiObject[]).map((one) => (one['data'] ?? {}) as Files);
  };

  test('shows no key of its Secrets to anybody', async () => {
    const at = `/apis/events.k8s.io/v1/namespaces/${world.namespace}/events`;
    const told = [
      (await world.admin.get(at)).text,
      (await world.admin.get(`/apis/leafgate.dev/v1alpha1/namespaces/${world.namespace}/egressgateways`)).text,
      JSON.stringify((await configMaps()).map(withoutConstant)),
      ...[controller.process.stdout(), controller.process.stderr()],
    ];
    for (const text of told) expect(findKeyTraces(text, channelKeys)).toEqual([]);
  });
});

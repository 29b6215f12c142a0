// What the conditions of a gateway say on a real API server as its Secrets and ConfigMaps change, and what its files do
// meanwhile.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import {
  applyConfigMap,
  applyDeployment,
  applyGateway,
  applySecret,
  createControllerWorld,
  newPool,
  secretPath,
  waitForReason,
  type ControllerWorld,
} from '../support/cluster/controller-world.ts';
import { gatewaysIn } from '../support/cluster/install-egress-gateways.ts';
import { mustSucceed, type ApiObject } from '../support/cluster/raw-api.ts';
import { caPem, hoursAgo, issueCredential, makeCurrentCa } from '../support/credential-workshop.ts';
import { epoch, plus, seconds } from '../../src/clock.ts';
import { makeBigRoot } from '../support/big-root.ts';
import { makeCa } from '../support/ca-workshop.ts';
import { caFields, poolBytes } from '../support/pool-workshop.ts';
import { waitFor } from '../support/wait-for.ts';

const ca = makeCurrentCa('tests');
const tls = 'kubernetes.io/tls';

describeWithControlPlane('the conditions of a gateway', {}, (plane) => {
  let world: ControllerWorld;
  const names = (): readonly string[] => {
    const short = `gw.${world.namespace}.svc`;
    return [short, `${short}.cluster.local`];
  };
  const applyServing = async (request: Parameters<typeof issueCredential>[1] = {}, key?: string): Promise<void> => {
    const { certificatePem, keyPem } = issueCredential(ca, { dnsNames: names(), ...request });
    await applySecret(world, 'serving', { 'tls.crt': certificatePem, 'tls.key': key ?? keyPem }, tls);
  };
  const applyClient = async (request: Parameters<typeof issueCredential>[1] = {}, key?: string): Promise<void> => {
    const { certificatePem, keyPem } = issueCredential(ca, request);
    await applySecret(world, 'client', { 'tls.crt': certificatePem, 'tls.key': key ?? keyPem }, tls);
  };
  const spec = {
    servingTLS: { secretName: 'serving' },
    origins: {
      caBundleRef: { name: 'roots', key: 'ca.crt' },
      clientCertificates: [{ hosts: ['mtls.example.com'], secretName: 'client' }],
    },
    clients: { caBundleRef: { name: 'client-roots', key: 'ca.crt' } },
  };
  const files = async (): Promise<ApiObject | undefined> => {
    const { body, status } = await world.admin.get(`/api/v1/namespaces/${world.namespace}/configmaps/gw-envoy`);
    return status === 200 ? (body?.['data'] as ApiObject) : undefined;
  };
  const rollout = async (): Promise<string | undefined> => {
    const path = `/apis/apps/v1/namespaces/${world.namespace}/deployments/gw`;
    const { template } = mustSucceed(await world.admin.get(path))['spec'] as { template: ApiObject };
    return template['metadata'].annotations?.['leafgate.dev/constant-files'] as string | undefined;
  };
  const allGood = async (): Promise<void> => {
    await applySecret(world, 'pool', { pool: newPool() });
    await applyServing();
    await applyClient();
    await applyConfigMap(world, 'roots', { 'ca.crt': caPem(ca) });
    await applyConfigMap(world, 'client-roots', { 'ca.crt': caPem(ca) });
    await waitForReason(world, 'Ready', 'Ready');
  };

  beforeAll(async () => {
    world = await createControllerWorld(plane());
    await applyDeployment(world);
    await world.start();
    await applyGateway(world, 'gw', spec);
  });
  afterAll(() => world.close());

  test('name everything that is missing, and nothing is rendered before all of it is there', async () => {
    await waitForReason(world, 'CAPoolReady', 'NotFound');
    const said = await waitForReason(world, 'ServingTLSSecretReady', 'TLSSecretNotFound');
    for (const name of names()) expect(said['message']).toContain(name);
    await waitForReason(world, 'OriginCABundleResolved', 'ConfigMapNotFound');
    await waitForReason(world, 'ClientCABundleResolved', 'ConfigMapNotFound');
    await waitForReason(world, 'OriginClientCertificatesReady', 'SecretNotFound');
    await waitForReason(world, 'TLSConfigured', 'UnixSocket');
    await waitForReason(world, 'TrustBundlePublished', 'PoolNotReady');
    expect(await files()).toBeUndefined();
    await allGood();
    expect(Object.keys((await files()) ?? {})).toContain('bootstrap.yaml');
    expect(await rollout()).toMatch(/^[0-9a-f]{64}$/);
  });

  describe('that were all good', () => {
    beforeEach(async () => {
      await allGood();
    });

    test.each([
      ['TLSSecretExpired', () => applyServing({ notBefore: hoursAgo(5), notAfter: hoursAgo(1) })],
      ['TLSSecretSANsMismatch', () => applyServing({ dnsNames: [names()[0] ?? ''] })],
      ['TLSSecretKeyMismatch', () => applyServing({}, issueCredential(ca, {}).keyPem)],
      ['TLSSecretMalformed', () => applySecret(world, 'serving', { 'tls.crt': 'no PEM', 'tls.key': 'none' }, tls)],
    ] as const)('of the serving certificate say %s, which holds nothing else back', async (reason, change) => {
      await change();
      await waitForReason(world, 'ServingTLSSecretReady', reason);
      await waitForReason(world, 'Ready', 'ServingTLSSecretNotReady');
      const before = (await files())?.['policy.yaml'] as string;
      const host = `h${Math.abs(reason.length * before.length)}.example.com`;
      const rules = [{ name: 'changed', hosts: [host], verdict: 'intercept' }];
      await applyGateway(world, 'gw', { ...spec, policy: { default: 'deny', rules } });
      await waitFor('the policy in the files', async () => ((await files())?.['policy.yaml'] as string).includes(host));
    });

    test('of a serving certificate say that it has ended when it does, although nothing tells of it', async () => {
      await applyServing({ notAfter: plus(epoch(Date.now()), seconds(8)) });
      await waitForReason(world, 'ServingTLSSecretReady', 'TLSSecretExpired', { deadlineMs: 40_000 });
    });

    test.each([
      ['KeyNotFound', { other: caPem(ca) }],
      ['InvalidCABundle', { 'ca.crt': `${caPem(ca)}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n` }],
    ] as const)('of CA bundles say %s, and the last good one stays in the files', async (reason, data) => {
      const before = (await files())?.['origin-roots.pem'] as string;
      await applyConfigMap(world, 'roots', data);
      await applyConfigMap(world, 'client-roots', data);
      await waitForReason(world, 'OriginCABundleResolved', reason);
      await waitForReason(world, 'ClientCABundleResolved', reason);
      await waitForReason(world, 'Ready', 'OriginCABundleNotResolved');
      await applyConfigMap(world, 'roots', { 'ca.crt': caPem(ca) });
      await waitForReason(world, 'OriginCABundleResolved', 'Resolved');
      await waitForReason(world, 'Ready', 'ClientCABundleNotResolved');
      expect((await files())?.['origin-roots.pem']).toBe(before);
    });

    test.each([
      ['SecretExpired', () => applyClient({ notBefore: hoursAgo(5), notAfter: hoursAgo(1) })],
      ['SecretKeyMismatch', () => applyClient({}, issueCredential(ca, {}).keyPem)],
      ['SecretMalformed', () => applySecret(world, 'client', { 'tls.crt': '', 'tls.key': '' }, tls)],
    ] as const)('of client certificates for origins say %s', async (reason, change) => {
      await change();
      await waitForReason(world, 'OriginClientCertificatesReady', reason);
      await waitForReason(world, 'Ready', 'OriginClientCertificatesNotReady');
    });

    test.each([
      [
        'Expired',
        () => poolBytes([caFields('old', makeCa({ notBefore: hoursAgo(50), notAfter: hoursAgo(1) }))], 'old'),
      ],
      ['NoActiveSigner', () => poolBytes([caFields('one', makeCurrentCa('one'))], 'another')],
      ['SignerNotUsable', () => newPool('Ed25519')],
      ['Malformed', () => Buffer.from('{')],
    ] as const)('of the pool say %s', async (reason, pool) => {
      await applySecret(world, 'pool', { pool: pool() });
      await waitForReason(world, 'CAPoolReady', reason);
      await waitForReason(world, 'Ready', 'CAPoolNotReady');
    });

    test('say how large files are that a ConfigMap cannot hold, and the last good ones stay', async () => {
      const before = await files();
      const roots = Array.from({ length: 29 }, (_, index) => caPem(makeBigRoot(`root ${index}`, 32_000)));
      await applyConfigMap(world, 'roots', { 'ca.crt': roots.join('') });
      const said = await waitForReason(world, 'Ready', 'RenderingTooLarge');
      expect(said['message']).toMatch(/the files have \d{6,7} bytes, more than 921600/);
      await waitForReason(world, 'OriginCABundleResolved', 'Resolved');
      expect(await files()).toEqual(before);
    });

    test('of another that wants the same bundle say Conflict, and that it is not ready for want of it', async () => {
      await applyGateway(world, 'late', { trustBundle: { name: 'gw' } });
      await waitForReason(world, 'TrustBundlePublished', 'Conflict', { name: 'late' });
      await waitForReason(world, 'Ready', 'TrustBundleNotPublished', { name: 'late' });
    });

    test('are Ready again as soon as all is good, and a change that pods do not take up makes new ones', async () => {
      const before = await rollout();
      mustSucceed(await world.admin.remove(secretPath(world, 'serving')));
      await waitForReason(world, 'ServingTLSSecretReady', 'TLSSecretNotFound');
      await allGood();
      expect(await rollout()).toBe(before);
      await applyGateway(world, 'gw', { ...spec, listener: { port: 3200 } });
      await waitFor('new pods', async () => (await rollout()) !== before);
    });
  });

  test('of a channel over TCP say TLSBlockMissing, and nothing is rendered', async () => {
    await applyGateway(world, 'second', { sds: { transport: 'TCP' } });
    await waitForReason(world, 'TLSConfigured', 'TLSBlockMissing', { name: 'second' });
    await waitForReason(world, 'Ready', 'TLSNotConfigured', { name: 'second' });
    const path = `/api/v1/namespaces/${world.namespace}/configmaps/second-envoy`;
    expect((await world.admin.get(path)).status).toBe(404);
  });

  test('say FilesNotWritten, with the missing rule, when the Role does not name the ConfigMap', async () => {
    await applyGateway(world, 'third');
    const said = await waitForReason(world, 'Ready', 'FilesNotWritten', { name: 'third' });
    expect(said['message']).toContain(`configmaps "third-envoy" in namespace ${world.namespace}`);
  });

  test('are said also where others have filled the status: the last of theirs make room', async () => {
    await applySecret(world, 'pool', { pool: newPool() });
    await applyGateway(world, 'crowded');
    await waitForReason(world, 'Ready', 'FilesNotWritten', { name: 'crowded' });
    const path = `${gatewaysIn(world.namespace)}/crowded`;
    const typesOf = async (): Promise<readonly string[]> => {
      const { status } = mustSucceed(await world.admin.get(path));
      return (status.conditions as readonly ApiObject[]).map((one) => one['type'] as string);
    };
    const ours = await typesOf();
    const theirs = Array.from({ length: 16 - ours.length }, (_, index) => `example.com/Theirs${index}`);
    const said = { status: 'True', reason: 'Said', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };
    const conditions = theirs.map((type) => ({ type, ...said }));
    const body = { apiVersion: 'leafgate.dev/v1alpha1', kind: 'EgressGateway', status: { conditions } };
    mustSucceed(await world.admin.apply(`${path}/status`, body, { fieldManager: 'others' }));
    await applyGateway(world, 'crowded', { origins: { caBundleRef: { name: 'hidden', key: 'ca.crt' } } });
    await waitForReason(world, 'OriginCABundleResolved', 'ConfigMapUnavailable', { name: 'crowded' });
    const types = await typesOf();
    expect(types.toSorted()).toEqual([...ours, 'OriginCABundleResolved', ...theirs.slice(0, -1)].toSorted());
  });

  test.each([
    ['ServingTLSSecretReady', 'TLSSecretUnavailable', 'secrets'],
    ['OriginCABundleResolved', 'ConfigMapUnavailable', 'configmaps'],
    ['ClientCABundleResolved', 'ConfigMapUnavailable', 'configmaps'],
    ['OriginClientCertificatesReady', 'SecretUnavailable', 'secrets'],
  ] as const)('of %s say %s, with the missing rule, of what the Role does not name', async (type, reason, plural) => {
    await applyGateway(world, 'blind', {
      servingTLS: { secretName: 'hidden' },
      origins: {
        caBundleRef: { name: 'hidden', key: 'ca.crt' },
        clientCertificates: [{ hosts: ['mtls.example.com'], secretName: 'hidden' }],
      },
      clients: { caBundleRef: { name: 'hidden', key: 'ca.crt' } },
    });
    const said = await waitForReason(world, type, reason, { name: 'blind' });
    expect(said['message']).toContain(`list, watch on ${plural} "hidden" in namespace ${world.namespace}`);
  });
});

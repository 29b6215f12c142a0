// The controller under exactly the rights that deploy/example/controller-tcp gives it: it takes a gateway from the pool in its
// pods to SDS servers of its own and back, is refused nothing, and names each rule that is missing.
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { parseSidecarSettings } from '../../src/settings/parse-sidecar-settings.ts';
import { filesNameOf, podFiles, sdsNameOf } from '../../src/settings/pod-layout.ts';
import { applyManifest, apiPath, waitUntilServed } from '../support/cluster/apply-manifests.ts';
import { auditFlags, type ApiRequest } from '../support/cluster/audit-log.ts';
import { createTlsSecret } from '../support/cluster/create-tls-secret.ts';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import {
  askedOtherwise,
  installController,
  type InstalledController,
} from '../support/cluster/installed-controller.ts';
import { apiAs, mustSucceed, type RawApi } from '../support/cluster/raw-api.ts';
import { seenGateway, type SeenGateway } from '../support/cluster/seen-gateway.ts';
import { caPem, issueCredential, makeCurrentCa } from '../support/credential-workshop.ts';
import { kubectlKustomize } from '../support/kubectl-kustomize.ts';
import type { Manifest } from '../support/manifest-types.ts';
import { caFields, poolBytes } from '../support/pool-workshop.ts';
import { deployFolder, ofKind, onlyOne } from '../support/shipped-manifests.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { findTool } from '../support/tools.ts';
import { waitFor } from '../support/wait-for.ts';

const folder = createTempFolder();
const needs = { flags: auditFlags(folder.path), tools: ['kubectl'] } as const;

describeWithControlPlane('the controller of a gateway whose pods have no pool', needs, (plane) => {
  let admin: RawApi;
  let controller: InstalledController;
  let seen: SeenGateway;
  let inPod: readonly Manifest[];
  let byTcp: readonly Manifest[];
  const namespace = 'egress';
  const servers = sdsNameOf('gateway');

  const build = (part: string): readonly Manifest[] =>
    kubectlKustomize(findTool('kubectl').path ?? '', join(deployFolder, 'example', part), folder.file('home'));

  beforeAll(async () => {
    admin = apiAs(plane(), plane().user('admin'));
    [inPod, byTcp] = [build('gateway'), build('gateway-tcp')];
    controller = await installController({ plane: plane(), admin, manifests: build('controller-tcp'), folder });
    const gateway = onlyOne(ofKind(byTcp, 'EgressGateway'), 'EgressGateway');
    await waitUntilServed(admin, gateway);
    seen = seenGateway(admin, gateway);
    await createSecrets();
  });
  afterEach(() => controller.stop());
  afterAll(() => {
    admin.close();
    folder.remove();
  });

  async function createSecrets(): Promise<void> {
    const serving = issueCredential(makeCurrentCa('serving'), {
      ...{ dnsNames: ['gateway.egress.svc', 'gateway.egress.svc.cluster.local'], purposes: ['server'] },
    });
    const channel = makeCurrentCa('channel');
    const side = (dnsName: string, purpose: 'client' | 'server') => {
      const { certificatePem, keyPem } = issueCredential(channel, { dnsNames: [dnsName], purposes: [purpose] });
      return { 'tls.crt': certificatePem, 'tls.key': keyPem, 'ca.crt': caPem(channel) };
    };
    const contents = {
      'gateway-ca-pool': { pool: poolBytes([caFields('ca-1', makeCurrentCa('egress'))]), 'tls.crt': '', 'tls.key': '' },
      'gateway-serving': { 'tls.crt': serving.certificatePem, 'tls.key': serving.keyPem },
      'gateway-sds-server': side('gateway-sds.egress.svc.cluster.local', 'server'),
      'gateway-sds-client': side('gateway-envoy.egress', 'client'),
    };
    for (const [name, content] of Object.entries(contents)) await createTlsSecret(admin, { namespace, name }, content);
  }
  const apply = async (manifests: readonly Manifest[]): Promise<void> => {
    for (const manifest of manifests) await applyManifest(admin, manifest);
  };
  const files = async (): Promise<Readonly<Record<string, string>>> =>
    mustSucceed(await admin.get(`/api/v1/namespaces/${namespace}/configmaps/${filesNameOf('gateway')}`))[
      'data'
    ] as Readonly<Record<string, string>>;
  const sidecar = async () => parseSidecarSettings((await files())[podFiles.sidecar] ?? '', podFiles.sidecar);
  const rolledBy = async (name: string): Promise<unknown> => {
    const deployment = onlyOne(
      ofKind(byTcp, 'Deployment').filter(({ metadata }) => metadata.name === name),
      name,
    );
    const { template } = mustSucceed(await admin.get(apiPath(deployment)))['spec'];
    return template.metadata.annotations?.['leafgate.dev/constant-files'] as unknown;
  };

  test('takes it there and back, rolls both Deployments, and is refused nothing', async () => {
    const child = controller.start();
    await child.waitForOutput(/controller is running/, 30_000);
    await apply(inPod);
    await seen.untilReady();
    expect(await sidecar()).toMatchObject({ pool: { secret: 'gateway-ca-pool' }, remoteSds: undefined });

    await apply(byTcp);
    await seen.untilReady();
    expect(await seen.condition('TLSConfigured')).toMatchObject({
      ...{ status: 'True', reason: 'Enabled' },
      message: expect.stringContaining('mutual TLS as gateway-sds.egress.svc.cluster.local') as string,
    });
    expect(await sidecar()).toMatchObject({
      pool: undefined,
      remoteSds: { channel: { kind: 'tls', secret: 'gateway-sds-client' } },
    });
    expect(Object.keys(await files())).toContain(podFiles.sdsServer);
    await waitFor('the SDS servers to be rolled', async () => typeof (await rolledBy(servers)) === 'string');
    const byTcpRoll = await rolledBy('gateway');

    await apply(inPod);
    await seen.untilReady();
    expect(await seen.condition('TLSConfigured')).toMatchObject({ status: 'True', reason: 'UnixSocket' });
    expect(await sidecar()).toMatchObject({ pool: { secret: 'gateway-ca-pool' }, remoteSds: undefined });
    await waitFor('the gateway to be rolled', async () => (await rolledBy('gateway')) !== byTcpRoll);
    await seen.remove();
    await child.stop();

    const requests = await controller.requests();
    expect(requests.filter(({ status }) => status === 403)).toEqual([]);
    expect(askedOtherwise).toEqual(expect.arrayContaining([...controller.unusedVerbs(requests)]));
    for (const name of ['gateway-sds-server', 'gateway-sds-client'])
      for (const verb of ['list', 'watch']) expect(asked(requests, verb, 'secrets'), `${verb} ${name}`).toContain(name);
    for (const verb of ['get', 'patch']) expect(asked(requests, verb, 'deployments')).toContain(servers);
  });

  test.each([
    ['secrets', 'watch', 'TLSConfigured', /secrets "gateway-sds-server" in namespace egress/],
    ['secrets', 'watch', 'TLSConfigured', /secrets "gateway-sds-client" in namespace egress/],
    ['deployments', 'patch', 'Ready', /deployments\.apps "gateway-sds" in namespace egress/],
  ])(
    'says with the rights of a pool in the pods what is missing: %s (%s), in %s',
    async (resource, verb, type, named) => {
      const [role, rule] = controller.ruleFor(resource, verb);
      const names = rule.resourceNames?.filter((one) => !named.source.includes(`"${one}"`)) ?? [];
      const less = {
        ...role,
        rules: role.rules.map((one) => (one === rule ? { ...rule, resourceNames: names } : one)),
      };
      await applyManifest(admin, less);
      try {
        const child = controller.start();
        await apply(byTcp);
        expect((await seen.untilSaid(type, named))['status']).not.toBe('True');
        await controller.applyRole(role);
        await seen.untilReady();
        await seen.remove();
        await child.stop();
      } finally {
        await controller.applyRole(role);
      }
    },
  );
});

function asked(requests: readonly ApiRequest[], verb: string, resource: string): readonly (string | undefined)[] {
  return requests.filter((one) => one.verb === verb && one.resource === resource).map(({ name }) => name);
}

// The controller under exactly the rights that deploy/ ships, as the account that it has there: a gateway's whole life without a
// single refusal, each verb of the files in use, and each rule that is missing named.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { applyManifest, apiPath, waitUntilServed } from '../support/cluster/apply-manifests.ts';
import { auditFlags } from '../support/cluster/audit-log.ts';
import { createTlsSecret } from '../support/cluster/create-tls-secret.ts';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import {
  askedOtherwise,
  installController,
  type InstalledController,
} from '../support/cluster/installed-controller.ts';
import { apiAs, mustSucceed, type ApiObject, type RawApi } from '../support/cluster/raw-api.ts';
import { caFields, poolBytes } from '../support/pool-workshop.ts';
import { issueCredential, makeCurrentCa } from '../support/credential-workshop.ts';
import { shippedManifest, shippedManifests } from '../support/shipped-manifests.ts';
import { seenGateway, type SeenGateway } from '../support/cluster/seen-gateway.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { waitFor } from '../support/wait-for.ts';

const folder = createTempFolder();
const gateway = shippedManifest('gateway', 'EgressGateway');
const deployment = shippedManifest('gateway', 'Deployment');
const account = shippedManifest('controller', 'ServiceAccount').metadata;
const { namespace, name } = gateway.metadata;
const { signerName, name: bundleName } = gateway.spec.trustBundle;
const bundle = `${signerName.replaceAll('/', ':')}:${bundleName}`;

const bundlePath = `/apis/certificates.k8s.io/v1/clustertrustbundles/${bundle}`;
const leasePath = `/apis/coordination.k8s.io/v1/namespaces/${account.namespace ?? ''}/leases/leafgate-controller`;
const eventsPath = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
const filesPath = `/api/v1/namespaces/${namespace}/configmaps/${name}-envoy`;

describeWithControlPlane('the controller under the shipped rights', { flags: auditFlags(folder.path) }, (plane) => {
  let admin: RawApi;
  let controller: InstalledController;
  let seen: SeenGateway;

  beforeAll(async () => {
    admin = apiAs(plane(), plane().user('admin'));
    const manifests = shippedManifests('controller', 'bounds');
    controller = await installController({ plane: plane(), admin, manifests, folder });
    await waitUntilServed(admin, gateway);
    seen = seenGateway(admin, gateway);
  });
  afterEach(() => controller.stop());
  afterAll(() => {
    admin.close();
    folder.remove();
  });

  async function createSecrets(): Promise<void> {
    const ca = makeCurrentCa('egress');
    const names = [`${name}.${namespace}.svc`, `${name}.${namespace}.svc.cluster.local`];
    const proxy = issueCredential(makeCurrentCa('serving'), { dnsNames: names, purposes: ['server'] });
    const contents = {
      [gateway.spec.caPool.secretName]: { pool: poolBytes([caFields('ca-1', ca)]), 'tls.crt': '', 'tls.key': '' },
      [gateway.spec.servingTLS.secretName]: { 'tls.crt': proxy.certificatePem, 'tls.key': proxy.keyPem },
    };
    for (const [secretName, content] of Object.entries(contents))
      await createTlsSecret(admin, { namespace, name: secretName }, content);
  }
  const untilGone = (path: string): Promise<unknown> =>
    waitFor(`${path} to be gone`, async () => (await admin.get(path)).status === 404, 30_000);

  test('carries a gateway from its creation to its end, and is refused nothing', async () => {
    const child = controller.start();
    await child.waitForOutput(/controller is running/, 30_000);
    await createSecrets();
    await applyManifest(admin, deployment);
    await applyManifest(admin, gateway);
    await seen.untilReady();
    expect(mustSucceed(await admin.get(bundlePath))['spec'].signerName).toBe(signerName);
    expect(Object.keys(mustSucceed(await admin.get(filesPath))['data'] as object)).toContain('bootstrap.yaml');
    const { metadata } = mustSucceed(await admin.get(apiPath(gateway)));
    expect(metadata.finalizers).toEqual(['leafgate.dev/trust-bundle']);
    await waitFor('the Deployment to be rolled', async () => {
      const { template } = mustSucceed(await admin.get(apiPath(deployment)))['spec'];
      return typeof template.metadata.annotations?.['leafgate.dev/constant-files'] === 'string';
    });
    await waitFor('an event', async () => (mustSucceed(await admin.get(eventsPath))['items'] as unknown[]).length > 0);
    await seen.remove();
    await untilGone(bundlePath);
    expect(await child.stop()).toMatchObject({ status: 0 });
    expect(mustSucceed(await admin.get(leasePath))['spec'].holderIdentity).toBe('');
    const requests = await controller.requests();
    expect(requests.filter(({ status }) => status === 403)).toEqual([]);
    expect(controller.unusedVerbs(requests)).toEqual(askedOtherwise);
  });

  test.each([
    ['egressgateways', 'patch', /patch on egressgateways\.leafgate\.dev in namespace egress/],
    ['egressgateways/status', 'patch', /patch on egressgateways\/status\.leafgate\.dev in namespace egress/],
    ['events', 'create', /create on events\.events\.k8s\.io in namespace egress/],
    ['leases', 'update', /update on leases\.coordination\.k8s\.io "leafgate-controller" in namespace leafgate-system/],
    ['leases', 'create', /create on leases\.coordination\.k8s\.io in namespace leafgate-system/],
    ['signers', 'attest', /attest on signers\.certificates\.k8s\.io "egress\.example\.com\/mitm"/],
  ])('does not start without the rule for %s (%s), and names it', async (resource, verb, named) => {
    const [role, rule] = controller.ruleFor(resource, verb);
    await controller.applyRole(role, rule);
    try {
      const { status, stderr } = await controller.run();
      expect(status).toBe(3);
      const lines = stderr
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as ApiObject);
      expect(lines.map(({ code }) => code as string)).toEqual(lines.map(() => 'controller-rule-missing'));
      expect(lines.map(({ message }) => message as string)).toContainEqual(expect.stringMatching(named));
    } finally {
      await controller.applyRole(role);
    }
  });

  test.each([
    ['secrets', 'watch', 'CAPoolReady', /secrets "gateway-ca-pool" in namespace egress/],
    ['secrets', 'watch', 'ServingTLSSecretReady', /secrets "gateway-serving" in namespace egress/],
    ['configmaps', 'create', 'Ready', /configmaps "gateway-envoy" in namespace egress/],
    ['deployments', 'patch', 'Ready', /deployments\.apps "gateway" in namespace egress/],
    [
      'clustertrustbundles',
      'create',
      'TrustBundlePublished',
      /clustertrustbundles\.certificates\.k8s\.io "egress\.example\.com:mitm:gateway"/,
    ],
  ])(
    'says in the conditions of a gateway that the rule for %s (%s) is missing: %s',
    async (resource, verb, type, named) => {
      const [role, rule] = controller.ruleFor(resource, verb);
      await controller.applyRole(role, rule);
      try {
        await applyManifest(admin, gateway);
        const child = controller.start();
        expect((await seen.untilSaid(type, named))['status']).not.toBe('True');
        // what is missing may come while it runs
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

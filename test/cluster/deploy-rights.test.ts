// The controller under exactly the rights that deploy/ ships, as the account that it has there: a gateway's whole life without a
// single refusal, each verb of the files in use, and each rule that is missing named.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { applyManifest, apiPath, waitUntilServed } from '../support/cluster/apply-manifests.ts';
import { auditFlags, readRequestsOf, type ApiRequest } from '../support/cluster/audit-log.ts';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import { apiAs, mustSucceed, type ApiObject, type RawApi } from '../support/cluster/raw-api.ts';
import { accessOf, type AccountAccess } from '../support/cluster/service-account.ts';
import { caFields, poolBytes } from '../support/pool-workshop.ts';
import { issueCredential, makeCurrentCa } from '../support/credential-workshop.ts';
import { mainScript } from '../support/gateway-under-test.ts';
import type { Rule, RoleManifest } from '../support/manifest-types.ts';
import { runCommand, startProcess, type StartedProcess } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { ofKind, onlyOne, shippedManifest, shippedManifests } from '../support/shipped-manifests.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { waitFor } from '../support/wait-for.ts';

const folder = createTempFolder();
const gateway = shippedManifest('gateway', 'EgressGateway');
const deployment = shippedManifest('gateway', 'Deployment');
const account = shippedManifest('controller', 'ServiceAccount').metadata;
const { namespace, name } = gateway.metadata;
const { signerName, name: bundleName } = gateway.spec.trustBundle;
const bundle = `${signerName.replaceAll('/', ':')}:${bundleName}`;
const installed = shippedManifests('controller', 'bounds');
const roles: readonly RoleManifest[] = [...ofKind(installed, 'Role'), ...ofKind(installed, 'ClusterRole')];

const bundlePath = `/apis/certificates.k8s.io/v1/clustertrustbundles/${bundle}`;
const leasePath = `/apis/coordination.k8s.io/v1/namespaces/${account.namespace ?? ''}/leases/leafgate-controller`;
const eventsPath = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
const filesPath = `/api/v1/namespaces/${namespace}/configmaps/${name}-envoy`;

describeWithControlPlane('the controller under the shipped rights', { flags: auditFlags(folder.path) }, (plane) => {
  let admin: RawApi;
  let access: AccountAccess;
  const running: StartedProcess[] = [];

  beforeAll(async () => {
    admin = apiAs(plane(), plane().user('admin'));
    for (const manifest of installed) await applyManifest(admin, manifest);
    await waitUntilServed(admin, gateway);
    access = await accessOf(plane(), { namespace: account.namespace ?? '', name: account.name });
  });
  afterEach(async () => {
    for (const child of running.splice(0)) await child.stop();
  });
  afterAll(() => {
    admin.close();
    folder.remove();
  });

  /** what the Deployment says, but for the port, and a kubeconfig in the place of the mounted token */
  const commandLine = (): readonly string[] => {
    const { args } = onlyOne(shippedManifest('controller', 'Deployment').spec.template.spec.containers, 'container');
    const inPod = args.filter((word) => !word.startsWith('--metrics='));
    return [
      mainScript,
      ...inPod,
      `--lease-namespace=${account.namespace ?? ''}`,
      `--kubeconfig=${access.kubeconfigFile}`,
    ];
  };
  const options = () => ({ env: scrubbedEnvironment(folder.path), deadlineMs: 60_000 });
  const start = (): StartedProcess => {
    const child = startProcess(process.execPath, commandLine(), options());
    running.push(child);
    return child;
  };
  const requests = (): Promise<readonly ApiRequest[]> => readRequestsOf(access.user, folder.path, admin);

  async function createSecrets(): Promise<void> {
    const ca = makeCurrentCa('egress');
    const names = [`${name}.${namespace}.svc`, `${name}.${namespace}.svc.cluster.local`];
    const proxy = issueCredential(makeCurrentCa('serving'), { dnsNames: names, purposes: ['server'] });
    const contents = {
      [gateway.spec.caPool.secretName]: { pool: poolBytes([caFields('ca-1', ca)]), 'tls.crt': '', 'tls.key': '' },
      [gateway.spec.servingTLS.secretName]: { 'tls.crt': proxy.certificatePem, 'tls.key': proxy.keyPem },
    };
    for (const [secretName, content] of Object.entries(contents)) {
      const data = Object.entries(content).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
      const metadata = { name: secretName, namespace };
      const secret = {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata,
        type: 'kubernetes.io/tls',
        data: Object.fromEntries(data) as object,
      };
      mustSucceed(await admin.post(`/api/v1/namespaces/${namespace}/secrets`, secret));
    }
  }
  const conditionOf = async (type: string): Promise<ApiObject | undefined> => {
    const { status } = mustSucceed(await admin.get(apiPath(gateway)));
    return (status?.conditions as readonly ApiObject[] | undefined)?.find((one) => one['type'] === type);
  };
  const untilReady = (): Promise<unknown> =>
    waitFor('the gateway to be ready', async () => (await conditionOf('Ready'))?.['status'] === 'True', 30_000);
  const untilGone = (path: string): Promise<unknown> =>
    waitFor(`${path} to be gone`, async () => (await admin.get(path)).status === 404, 30_000);

  test('carries a gateway from its creation to its end, and is refused nothing', async () => {
    const child = start();
    await child.waitForOutput(/controller is running/, 30_000);
    await createSecrets();
    await applyManifest(admin, deployment);
    await applyManifest(admin, gateway);
    await untilReady();
    expect(mustSucceed(await admin.get(bundlePath))['spec'].signerName).toBe(signerName);
    expect(Object.keys(mustSucceed(await admin.get(filesPath))['data'] as object)).toContain('bootstrap.yaml');
    const { metadata } = mustSucceed(await admin.get(apiPath(gateway)));
    expect(metadata.finalizers).toEqual(['leafgate.dev/trust-bundle']);
    await waitFor('the Deployment to be rolled', async () => {
      const { template } = mustSucceed(await admin.get(apiPath(deployment)))['spec'];
      return typeof template.metadata.annotations?.['leafgate.dev/constant-files'] === 'string';
    });
    await waitFor('an event', async () => (mustSucceed(await admin.get(eventsPath))['items'] as unknown[]).length > 0);
    mustSucceed(await admin.remove(apiPath(gateway)));
    await untilGone(apiPath(gateway));
    await untilGone(bundlePath);
    expect(await child.stop()).toMatchObject({ status: 0 });
    expect(mustSucceed(await admin.get(leasePath))['spec'].holderIdentity).toBe('');
    expect((await requests()).filter(({ status }) => status === 403)).toEqual([]);
    expect(unusedVerbs(await requests())).toEqual(askedOtherwise);
  });

  /** the shipped role but for this rule, or whole again; back when the API server goes by it */
  async function applyRole(role: RoleManifest, without?: Rule): Promise<void> {
    await applyManifest(admin, { ...role, rules: role.rules.filter((rule) => rule !== without) });
    for (const rule of role.rules) {
      const isGiven = rule !== without;
      await waitFor(
        `the rule to be ${isGiven ? 'there' : 'gone'}`,
        async () => (await isAllowed(role, rule)) === isGiven,
      );
    }
  }
  async function isAllowed(
    { metadata }: RoleManifest,
    { apiGroups: [group], resources: [path = ''], resourceNames, verbs }: Rule,
  ): Promise<boolean> {
    const [resource, subresource] = path.split('/');
    const asked = {
      group,
      resource,
      subresource,
      verb: verbs[0],
      name: resourceNames?.[0],
      namespace: metadata.namespace,
    };
    const groups = ['system:serviceaccounts', 'system:authenticated'];
    const answer = await admin.post('/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      ...{ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview' },
      spec: { user: access.user, groups, resourceAttributes: asked },
    });
    return mustSucceed(answer)['status'].allowed as boolean;
  }
  const ruleFor = (resource: string, verb: string): readonly [RoleManifest, Rule] =>
    onlyOne(
      roles.flatMap((role) =>
        role.rules
          .filter(({ resources, verbs }) => resources.includes(resource) && verbs.includes(verb))
          .map((rule) => [role, rule] as const),
      ),
      `${verb} ${resource}`,
    );

  test.each([
    ['egressgateways', 'patch', /patch on egressgateways\.leafgate\.dev in namespace egress/],
    ['egressgateways/status', 'patch', /patch on egressgateways\/status\.leafgate\.dev in namespace egress/],
    ['events', 'create', /create on events\.events\.k8s\.io in namespace egress/],
    ['leases', 'update', /update on leases\.coordination\.k8s\.io "leafgate-controller" in namespace leafgate-system/],
    ['leases', 'create', /create on leases\.coordination\.k8s\.io in namespace leafgate-system/],
    ['signers', 'attest', /attest on signers\.certificates\.k8s\.io "egress\.example\.com\/mitm"/],
  ])('does not start without the rule for %s (%s), and names it', async (resource, verb, named) => {
    const [role, rule] = ruleFor(resource, verb);
    await applyRole(role, rule);
    try {
      const { status, stderr } = await runCommand(process.execPath, commandLine(), options());
      expect(status).toBe(3);
      const lines = stderr
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as ApiObject);
      expect(lines.map(({ code }) => code as string)).toEqual(lines.map(() => 'controller-rule-missing'));
      expect(lines.map(({ message }) => message as string)).toContainEqual(expect.stringMatching(named));
    } finally {
      await applyRole(role);
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
      const [role, rule] = ruleFor(resource, verb);
      await applyRole(role, rule);
      try {
        await applyManifest(admin, gateway);
        const child = start();
        const seen = await waitFor(
          `${type} to be said`,
          async () => {
            const condition = await conditionOf(type);
            return named.test(String(condition?.['message'])) ? condition : undefined;
          },
          30_000,
        );
        expect(seen['status']).not.toBe('True');
        // what is missing may come while it runs
        await applyRole(role);
        await untilReady();
        mustSucceed(await admin.remove(apiPath(gateway)));
        await untilGone(apiPath(gateway));
        await child.stop();
      } finally {
        await applyRole(role);
      }
    },
  );
});

/** What the audit log does not call by these names; the tests above show the lack of each. */
const askedOtherwise = [
  // server-side apply is a patch, and asks for create beside it
  'create configmaps',
  // for events that repeat
  'patch events',
  'create clustertrustbundles',
  // by admission
  'attest signers',
];

/** verbs of the shipped rules that no request was of */
function unusedVerbs(requests: readonly ApiRequest[]): readonly string[] {
  const nameOf = (verb: string, resource = '', subresource?: string): string =>
    `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`}`;
  const used = new Set(requests.map(({ verb, resource, subresource }) => nameOf(verb, resource, subresource)));
  const given = roles
    .flatMap(({ rules }) => rules)
    .flatMap(({ resources: [resource], verbs }) => verbs.map((verb) => nameOf(verb, resource)));
  return given.filter((one) => !used.has(one));
}

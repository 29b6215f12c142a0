// What the controller does with the rights it has on a real API server: a rule that every gateway needs stops the start, one
// that a single gateway needs shows in the conditions of that gateway and heals.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import {
  applyGateway,
  applySecret,
  bundlePath,
  createControllerWorld,
  documentedRules,
  newPool,
  waitForReason,
  type ControllerWorld,
} from '../support/cluster/controller-world.ts';
import { gatewaysIn } from '../support/cluster/install-egress-gateways.ts';
import { mustSucceed } from '../support/cluster/raw-api.ts';
import {
  allow,
  createServiceAccount,
  type AccountAccess,
  type AccountRules,
} from '../support/cluster/service-account.ts';
import { waitFor } from '../support/wait-for.ts';

type Rule = NonNullable<AccountRules['cluster']>[number];

describeWithControlPlane('the rights of a controller', {}, (plane) => {
  let world: ControllerWorld;
  beforeEach(async () => {
    world = await createControllerWorld(plane());
  });
  afterEach(() => world.close());

  /** an account with the documented rules that `keep` leaves, verb by verb */
  const accountWith = (name: string, keep: (rule: Rule, verb: string) => boolean): Promise<AccountAccess> => {
    const { namespaced = {}, cluster = [] } = documentedRules(world.namespace, world.domain);
    const lessen = (rules: readonly Rule[]): readonly Rule[] =>
      rules
        .map((rule) => ({ ...rule, verbs: rule.verbs.filter((verb) => keep(rule, verb)) }))
        .filter(({ verbs }) => verbs.length > 0);
    const lesser = { [world.namespace]: lessen(namespaced[world.namespace] ?? []) };
    return createServiceAccount(
      plane(),
      { namespace: world.namespace, name },
      { namespaced: lesser, cluster: lessen(cluster) },
    );
  };
  const isOn = (rule: Rule, resource: string): boolean => rule.resources.includes(resource);

  test('that are missing stop the start, all of them named at once', async () => {
    const account = await accountWith('lesser', (rule, verb) => {
      if (isOn(rule, 'signers') || isOn(rule, 'leases')) return verb === 'get';
      return !isOn(rule, 'egressgateways/status');
    });
    const controller = await world.start({ account, isLoose: true });
    expect((await controller.process.exited).status).toBe(3);
    const said = controller.process.stderr();
    for (const rule of [
      `patch on egressgateways/status.leafgate.dev in namespace ${world.namespace}`,
      `update on leases.coordination.k8s.io \\"leafgate-controller\\" in namespace ${world.namespace}`,
      `create on leases.coordination.k8s.io in namespace ${world.namespace}`,
      `attest on signers.certificates.k8s.io \\"${world.domain}/*\\"`,
    ])
      expect(said).toContain(rule);
    expect(said).toContain('controller-rule-missing');
    expect(said).not.toContain('secrets');
  });

  test('to a Secret that its Role does not name show as Unavailable, and heal when the rule is there', async () => {
    await applySecret(world, 'unnamed', { pool: newPool() });
    await world.start();
    await applyGateway(world, 'gw', { caPool: { secretName: 'unnamed' } });
    const said = await waitForReason(world, 'CAPoolReady', 'Unavailable');
    expect(said['message']).toContain(`list, watch on secrets "unnamed" in namespace ${world.namespace}`);
    expect((await world.admin.get(bundlePath(world))).status).toBe(404);
    const rule = { apiGroups: [''], resources: ['secrets'], resourceNames: ['unnamed'], verbs: ['list', 'watch'] };
    const subject = { kind: 'ServiceAccount', namespace: world.namespace, name: 'controller' } as const;
    await allow(plane(), subject, { namespaced: { [world.namespace]: [rule] } });
    await waitForReason(world, 'TrustBundlePublished', 'Published', { deadlineMs: 60_000 });
  });

  test('to write one bundle only are enough for that one, and the other gateway is told what is missing', async () => {
    const rules = documentedRules(world.namespace, world.domain);
    const reading = { apiGroups: ['certificates.k8s.io'], resources: ['clustertrustbundles'] };
    const cluster = [
      { ...reading, verbs: ['get', 'list', 'watch'] },
      { ...reading, verbs: ['create', 'patch', 'delete'], resourceNames: [`${world.domain}:mitm:gw`] },
      ...(rules.cluster ?? []).filter((rule) => isOn(rule, 'signers')),
    ];
    const place = { namespace: world.namespace, name: 'narrow' };
    const account = await createServiceAccount(plane(), place, { ...rules, cluster });
    await applySecret(world, 'pool', { pool: newPool() });
    await applyGateway(world, 'gw');
    await applyGateway(world, 'second');
    const controller = await world.start({ account });
    await waitForReason(world, 'TrustBundlePublished', 'Published');
    const said = await waitForReason(world, 'TrustBundlePublished', 'Unavailable', { name: 'second' });
    expect(said['message']).toContain(`${world.domain}:mitm:second`);
    expect(controller.process.stderr()).toContain('a gateway will lack a right of the controller');
  });

  test('to attest that are taken away show as AttestDenied and the bundle stays', async () => {
    const account = await accountWith('attesting', (rule) => !isOn(rule, 'signers'));
    const name = `attest-${world.domain}`;
    const rbac = '/apis/rbac.authorization.k8s.io/v1';
    const subjects = [{ kind: 'ServiceAccount', namespace: world.namespace, name: 'attesting' }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
    const verbs = ['attest'];
    const rules = [
      { apiGroups: ['certificates.k8s.io'], resources: ['signers'], resourceNames: [`${world.domain}/*`], verbs },
    ];
    mustSucceed(await world.admin.post(`${rbac}/clusterroles`, { metadata: { name }, rules }));
    mustSucceed(await world.admin.post(`${rbac}/clusterrolebindings`, { metadata: { name }, subjects, roleRef }));
    await applySecret(world, 'pool', { pool: newPool() });
    await world.start({ account });
    await applyGateway(world);
    await waitForReason(world, 'TrustBundlePublished', 'Published');
    mustSucceed(await world.admin.remove(`${rbac}/clusterrolebindings/${name}`));
    await applySecret(world, 'pool', { pool: newPool() });
    const said = await waitForReason(world, 'TrustBundlePublished', 'AttestDenied');
    expect(said['message']).toContain(`${world.domain}/*`);
    expect((await world.admin.get(bundlePath(world))).status).toBe(200);
    mustSucceed(await world.admin.post(`${rbac}/clusterrolebindings`, { metadata: { name }, subjects, roleRef }));
    await waitForReason(world, 'TrustBundlePublished', 'Published', { deadlineMs: 60_000 });
  });

  test('end at what the admission of the cluster takes: a bundle that it refuses is Rejected, with its reason', async () => {
    const name = `refuse-${world.domain}`;
    const admission = '/apis/admissionregistration.k8s.io/v1';
    const rule = {
      apiGroups: ['certificates.k8s.io'],
      apiVersions: ['*'],
      operations: ['*'],
      resources: ['clustertrustbundles'],
    };
    const expression = `object == null || object.metadata.name != '${world.domain}:mitm:second'`;
    const policy = {
      metadata: { name },
      spec: { matchConstraints: { resourceRules: [rule] }, validations: [{ expression, message: 'not on a Monday' }] },
    };
    const binding = { metadata: { name }, spec: { policyName: name, validationActions: ['Deny'] } };
    mustSucceed(await world.admin.post(`${admission}/validatingadmissionpolicies`, policy));
    mustSucceed(await world.admin.post(`${admission}/validatingadmissionpolicybindings`, binding));
    await applySecret(world, 'pool', { pool: newPool() });
    await world.start();
    await applyGateway(world);
    await waitForReason(world, 'TrustBundlePublished', 'Published');
    const { spec } = mustSucceed(await world.admin.get(bundlePath(world)));
    const tried = {
      ...{ apiVersion: 'certificates.k8s.io/v1', kind: 'ClusterTrustBundle', spec },
      metadata: { name: `${world.domain}:mitm:second` },
    };
    await waitFor('the policy to be enforced', async () => {
      const answer = await world.admin.apply(bundlePath(world, 'second'), tried, { query: 'dryRun=All' });
      return answer.status === 422;
    });
    await applyGateway(world, 'second');
    const said = await waitForReason(world, 'TrustBundlePublished', 'Rejected', { name: 'second' });
    expect(said['message']).toContain('not on a Monday');
  });

  test('end at the signers that it was started with: nothing is written for another', async () => {
    await applySecret(world, 'pool', { pool: newPool() });
    await world.start({ signers: [`${world.namespace}=${world.domain}/other`] });
    await applyGateway(world);
    const said = await waitForReason(world, 'TrustBundlePublished', 'SignerNotAllowed');
    expect(said['message']).toContain(world.signerName);
    await waitForReason(world, 'Ready', 'SignerNotAllowed');
    expect((await world.admin.get(bundlePath(world))).status).toBe(404);
    const files = await world.admin.get(`/api/v1/namespaces/${world.namespace}/configmaps/gw-envoy`);
    expect(files.status).toBe(404);
    const gateway = mustSucceed(await world.admin.get(`${gatewaysIn(world.namespace)}/gw`));
    expect(gateway['metadata'].finalizers).toBeUndefined();
  });
});

// A tenant cannot plant a CA: whoever creates an EgressGateway must himself be allowed to attest the signer of its bundle.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import { gatewaysIn, installAttestPolicy, installDefinition } from '../support/cluster/install-egress-gateways.ts';
import { apiAs, mustSucceed, type ApiAnswer, type RawApi } from '../support/cluster/raw-api.ts';
import { gatewayObject, type GatewayObject } from '../support/egress-gateway-object.ts';

const namespace = 'default';
const signer = 'egress.example.com/mitm';
const users = ['nobody', 'exact', 'domain', 'other', 'longer', 'writer'] as const;
type User = (typeof users)[number];

/** by user: the signers that he may attest */
const signersOf: { readonly [user in User]: readonly string[] } = {
  nobody: [],
  exact: [signer],
  domain: ['egress.example.com/*'],
  // names that only look alike
  other: ['example.com/*', 'egress.example.com/mitm2', '*/mitm'],
  longer: ['sub.egress.example.com/*', '*'],
  writer: [],
};

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const apiVersion = 'rbac.authorization.k8s.io/v1';
const apiGroup = 'rbac.authorization.k8s.io';
const everything = ['create', 'get', 'update', 'patch', 'delete'];

function gateway(name: string, signerName = signer): GatewayObject {
  const metadata = { name, namespace, uid: undefined, generation: undefined };
  return gatewayObject({ trustBundle: { signerName, name: 'agents-egress' } }, { metadata });
}

describeWithControlPlane('the admission policy of EgressGateways', { users: [...users] }, (plane) => {
  const apis = new Map<string, RawApi>();
  const as = (user: User | 'admin'): RawApi => {
    const known = apis.get(user) ?? apiAs(plane(), plane().user(user));
    apis.set(user, known);
    return known;
  };
  const creates = (user: User | 'admin', object: GatewayObject = gateway(`of-${user}`)): Promise<ApiAnswer> =>
    as(user).post(gatewaysIn(namespace), object);

  beforeAll(async () => {
    const admin = as('admin');
    await installDefinition(admin);
    for (const user of users) {
      await mayDo(admin, user, [
        { apiGroups: ['leafgate.dev'], resources: ['egressgateways', 'egressgateways/status'], verbs: everything },
        ...(signersOf[user].length === 0 ? [] : [attest(signersOf[user])]),
      ]);
    }
    await installAttestPolicy(admin, async () => {
      const tried = await as('nobody').post(`${gatewaysIn(namespace)}?dryRun=All`, gateway('tried'));
      return tried.text.includes('egressgateway-attest.leafgate.dev');
    });
  });
  afterAll(() => {
    for (const api of apis.values()) api.close();
  });

  test.each(['nobody', 'other', 'longer'] as const)(
    'refuses a gateway of one who may not attest its signer: %s',
    async (user) => {
      const answer = await creates(user);
      expect(answer.status).toBe(403);
      expect(answer.body?.['message']).toContain(
        `user ${user} may not attest the signer ${signer} of spec.trustBundle.signerName: grant the verb attest on signers of certificates.k8s.io, by the name ${signer} or egress.example.com/*, or let someone who has it create the gateway`,
      );
      const applied = await as(user).apply(`${gatewaysIn(namespace)}/of-${user}`, gateway(`of-${user}`));
      expect(applied.status).toBe(403);
      expect((await as('admin').get(`${gatewaysIn(namespace)}/of-${user}`)).status).toBe(404);
    },
  );

  test.each(['exact', 'domain', 'admin'] as const)(
    'lets one make a gateway who may attest its signer: %s',
    async (user) => {
      mustSucceed(await creates(user));
      mustSucceed(await as(user).remove(`${gatewaysIn(namespace)}/of-${user}`));
      mustSucceed(await as(user).apply(`${gatewaysIn(namespace)}/of-${user}`, gateway(`of-${user}`)));
    },
  );

  test('asks for the signer of the object, not for any', async () => {
    expect((await creates('exact', gateway('a', 'egress.example.com/other'))).status).toBe(403);
    mustSucceed(await creates('domain', gateway('a', 'egress.example.com/other')));
    expect((await creates('domain', gateway('b', 'example.com/mitm'))).status).toBe(403);
  });

  test('lets others write finalizers, labels, the rest of the spec and the status, and delete', async () => {
    mustSucceed(await creates('exact', gateway('written')));
    const path = `${gatewaysIn(namespace)}/written`;
    const writer = as('writer');
    mustSucceed(await writer.patch(path, { metadata: { finalizers: ['leafgate.dev/trust-bundle'] } }));
    mustSucceed(await writer.patch(path, { metadata: { labels: { a: 'b' } } }));
    mustSucceed(await writer.patch(path, { spec: { policy: { default: 'relay' } } }));
    const whole = mustSucceed(await writer.get(path));
    mustSucceed(await writer.put(path, { ...whole, metadata: { ...whole['metadata'], annotations: { a: 'b' } } }));
    mustSucceed(await writer.patch(`${path}/status`, { status: { observedGeneration: 1 } }));
    mustSucceed(await writer.remove(path));
    mustSucceed(await writer.patch(path, { metadata: { finalizers: null } }));
    expect((await writer.get(path)).status).toBe(404);
  });

  test('cannot be walked around by changing the signer afterwards', async () => {
    mustSucceed(await creates('exact', gateway('turned')));
    const path = `${gatewaysIn(namespace)}/turned`;
    const bundle = { signerName: 'other.example.com/mitm', name: 'agents-egress' };
    for (const user of ['exact', 'admin'] as const) {
      const answer = await as(user).patch(path, { spec: { trustBundle: bundle } });
      expect(answer.status).toBe(422);
      expect(answer.body?.['details'].causes[0]).toMatchObject({ field: 'spec.trustBundle.signerName' });
    }
    // a gateway that is created in the place of a deleted one is asked for anew
    mustSucceed(await as('writer').remove(path));
    expect((await as('writer').apply(path, gateway('turned'))).status).toBe(403);
  });

  test('says nothing of an object that is wrong anyway', async () => {
    const answer = await creates('nobody', gateway('wrong', 'no signer'));
    expect(answer.status).toBe(422);
    expect(answer.body?.['details'].causes[0].field).toBe('spec.trustBundle.signerName');
  });
});

function attest(signers: readonly string[]): object {
  return { apiGroups: ['certificates.k8s.io'], resources: ['signers'], resourceNames: signers, verbs: ['attest'] };
}

async function mayDo(admin: RawApi, user: string, rules: readonly object[]): Promise<void> {
  const metadata = { name: `test-${user}` };
  mustSucceed(
    await admin.apply(`${rbac}/clusterroles/test-${user}`, { apiVersion, kind: 'ClusterRole', metadata, rules }),
  );
  const roleRef = { apiGroup, kind: 'ClusterRole', name: `test-${user}` };
  const subjects = [{ apiGroup, kind: 'User', name: user }];
  const binding = { apiVersion, kind: 'ClusterRoleBinding', metadata, roleRef, subjects };
  mustSucceed(await admin.apply(`${rbac}/clusterrolebindings/test-${user}`, binding));
}

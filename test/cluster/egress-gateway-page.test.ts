// docs/egress-gateway.md shows objects and commands: they must be what a cluster takes, and do what the page says.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { parseEgressGateway } from '../../src/settings/egress-gateway.ts';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import { gatewaysIn, installAttestPolicy, installDefinition } from '../support/cluster/install-egress-gateways.ts';
import { apiAs, mustSucceed, type ApiObject, type RawApi } from '../support/cluster/raw-api.ts';

const page = readFileSync(new URL('../../docs/egress-gateway.md', import.meta.url), 'utf8');
const objects = [...page.matchAll(/```yaml\n(.*?)```/gs)].flatMap(([, text = '']) =>
  parseAllDocuments(text).map((document) => document.toJS() as ApiObject),
);
const gateways = objects.filter(({ kind }) => kind === 'EgressGateway');
const rights = objects.filter(({ kind }) => kind !== 'EgressGateway');
const path = `${gatewaysIn('agents')}/egress`;
const strict = { query: 'fieldValidation=Strict' };

function rightsPath({ kind, metadata }: ApiObject): string {
  const namespace = metadata.namespace === undefined ? '' : `/namespaces/${String(metadata.namespace)}`;
  const plural = `${String(kind).toLowerCase()}s`;
  return `/apis/rbac.authorization.k8s.io/v1${namespace}/${plural}/${String(metadata.name)}`;
}

describeWithControlPlane('docs/egress-gateway.md', { users: ['ada:agents-admins', 'eve'] }, (plane) => {
  let admin: RawApi;
  let ada: RawApi;
  beforeAll(async () => {
    admin = apiAs(plane(), plane().user('admin'));
    ada = apiAs(plane(), plane().user('ada'));
    const eve = apiAs(plane(), plane().user('eve'));
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'agents' } };
    mustSucceed(await admin.post('/api/v1/namespaces', namespace));
    await installDefinition(admin);
    for (const right of rights) mustSucceed(await admin.apply(rightsPath(right), right, strict));
    // one who may make gateways and attest nothing shows that the policy is there
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'eve' }];
    const binding = {
      ...rights.find(({ kind }) => kind === 'RoleBinding'),
      metadata: { name: 'eve', namespace: 'agents' },
    };
    mustSucceed(await admin.apply(rightsPath({ kind: 'RoleBinding', ...binding }), { ...binding, subjects }));
    await installAttestPolicy(admin, async () => {
      return (await eve.post(`${gatewaysIn('agents')}?dryRun=All`, gateways[0] ?? {})).status === 403;
    });
    eve.close();
  });
  afterAll(() => {
    admin.close();
    ada.close();
  });

  test('shows gateways that the cluster takes from one with the rights that it shows', async () => {
    expect(gateways).toHaveLength(2);
    expect(rights).toHaveLength(4);
    for (const gateway of gateways) {
      const taken = mustSucceed(await ada.apply(path, gateway, strict));
      expect(parseEgressGateway(taken).kind).toBe('read');
      mustSucceed(await ada.remove(path));
    }
  });

  test('switches TLS to the proxy as it says: the bundle is told to stay before the gateway is deleted', async () => {
    const [least, whole] = gateways;
    mustSucceed(await ada.apply(path, least ?? {}, strict));
    const withTls = { ...least, spec: { ...least?.['spec'], servingTLS: whole?.['spec'].servingTLS } };
    expect((await ada.apply(path, withTls)).status).toBe(422);
    const [, patch = ''] = /--type merge -p '([^']+)'/.exec(page) ?? [];
    mustSucceed(await ada.patch(path, JSON.parse(patch) as object));
    expect(mustSucceed(await ada.get(path))['spec'].trustBundle.deletionPolicy).toBe('Retain');
    mustSucceed(await ada.remove(path));
    const anew = mustSucceed(await ada.apply(path, withTls, strict));
    expect(anew['spec'].servingTLS).toEqual({ secretName: 'egress-serving' });
  });
});

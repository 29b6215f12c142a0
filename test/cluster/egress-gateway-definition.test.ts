// The shipped definition of EgressGateway on a real API server: what it refuses and how it says so, what may change, and that
// it agrees with the controller's own reader.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseEgressGateway } from '../../src/settings/egress-gateway.ts';
import { describeWithControlPlane } from '../support/cluster/describe-with-control-plane.ts';
import { gatewayFaults } from '../support/cluster/gateway-faults.ts';
import { gatewaysIn, installDefinition } from '../support/cluster/install-egress-gateways.ts';
import { apiAs, mustSucceed, type ApiAnswer, type ApiObject, type RawApi } from '../support/cluster/raw-api.ts';
import { gatewayObject, wholeGatewaySpec, type GatewayObject } from '../support/egress-gateway-object.ts';
import { gatewayVariants } from '../support/gateway-variants.ts';
import { waitFor } from '../support/wait-for.ts';

const path = `${gatewaysIn('default')}/egress`;
const strict = { query: 'fieldValidation=Strict' };

/** as a person writes it: what the API server gives by itself is not there */
function written(spec: GatewayObject, name = 'egress'): GatewayObject {
  return gatewayObject(spec, { metadata: { name, namespace: 'default', uid: undefined, generation: undefined } });
}

function causesOf(answer: ApiAnswer): readonly string[] {
  const causes = answer.body?.['details']?.causes as readonly { field: string; message: string }[] | undefined;
  return (causes ?? []).map(({ field, message }) => `${field}: ${message}`);
}

describeWithControlPlane('the definition of EgressGateway', {}, (plane) => {
  let admin: RawApi;
  beforeAll(async () => {
    admin = apiAs(plane(), plane().user('admin'));
    await installDefinition(admin);
  });
  afterAll(() => admin.close());

  // by POST: what server-side apply refuses before validation comes back as 500, without causes
  const tried = (object: GatewayObject): Promise<ApiAnswer> =>
    admin.post(`${gatewaysIn('default')}?dryRun=All&fieldValidation=Strict`, object);
  const created = async (spec: GatewayObject): Promise<ApiObject> => {
    await admin.remove(path);
    return mustSucceed(await admin.apply(path, written(spec), strict));
  };

  test('has a structural schema, so that nothing is kept that it does not know', async () => {
    const definition = mustSucceed(
      await admin.get('/apis/apiextensions.k8s.io/v1/customresourcedefinitions/egressgateways.leafgate.dev'),
    );
    const conditions = definition['status'].conditions as readonly { type: string; status: string }[];
    const found = Object.fromEntries(conditions.map(({ type, status }) => [type, status]));
    expect(found).toEqual({ NamesAccepted: 'True', Established: 'True' });
    await admin.remove(path);
    const object = written({ egress: {}, policy: { default: 'deny', methods: ['GET'] } });
    const kept = mustSucceed(await admin.post(gatewaysIn('default'), object));
    expect(kept['spec']).not.toHaveProperty('egress');
    expect(kept['spec'].policy).toEqual({ default: 'deny' });
    const refused = await tried(object);
    expect(refused.status).toBe(400);
    expect(refused.text).toMatch(/unknown field.*spec.egress.*unknown field.*spec.policy.methods/);
  });

  describe('refuses', () => {
    test.each(gatewayFaults)('$title', async ({ spec, field, says }) => {
      const answer = await tried(written(spec, 'tried'));
      expect(answer.status, answer.text).toBe(422);
      expect(causesOf(answer)).toContainEqual(
        expect.stringMatching(new RegExp(`^${escaped(field)}: .*${escaped(says)}`)),
      );
      const reading = parseEgressGateway(written(spec));
      expect(reading.kind).toBe('refused');
    });

    test('a name that no Service and no certificate could have', async () => {
      for (const name of ['a.b', '1a', 'a'.repeat(53)]) {
        const answer = await admin.apply(`${gatewaysIn('default')}/${name}`, written({}, name));
        expect(answer.status).toBe(422);
        expect(answer.text).toContain('the name of a gateway is a part of DNS names');
      }
    });
  });

  test('takes the least and everything, and the controller reads what it gives back as what was written', async () => {
    for (const spec of [{}, wholeGatewaySpec]) {
      const given = await created(spec);
      const [one, other] = [parseEgressGateway(given), parseEgressGateway(written(spec))];
      if (one.kind !== 'read' || other.kind !== 'read') throw new Error(JSON.stringify([one, other]));
      expect(one.gateway.spec).toEqual(other.gateway.spec);
    }
  });

  test('takes a thousand rules, or ten thousand hosts in one, and not one more', async () => {
    const hosts = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `h${index}.test`);
    const rules = (count: number): readonly GatewayObject[] =>
      hosts(count).map((host, index) => ({ name: `r${index}`, hosts: [host], ports: [443], verdict: 'intercept' }));
    const oneRule = (count: number): readonly GatewayObject[] => [{ name: 'r', hosts: hosts(count), verdict: 'deny' }];
    for (const right of [rules(1000), oneRule(10_000)]) {
      const spec = { policy: { default: 'deny', rules: right, dryRun: { default: 'deny', rules: right } } };
      mustSucceed(await tried(written(spec, 'tried')));
      expect(parseEgressGateway(written(spec)).kind).toBe('read');
    }
    for (const wrong of [rules(1001), oneRule(10_001)]) {
      const answer = await tried(written({ policy: { default: 'deny', rules: wrong } }, 'tried'));
      expect(causesOf(answer)[0]).toMatch(/^spec.policy.rules(\[0\].hosts)?: Too many/);
    }
  });

  test('shows what holds where nothing was said', async () => {
    const { spec } = await created({ origins: { caBundleRef: { name: 'a' } } });
    expect(spec).toMatchObject({
      trustBundle: { retainFor: '10m', deletionPolicy: 'Delete' },
      origins: { caBundleRef: { key: 'ca.crt' } },
      sds: { transport: 'UnixSocket' },
      listener: { port: 3128 },
    });
    const tls = { allowAnyClient: true };
    expect((await created({ sds: { transport: 'TCP', tls } }))['spec'].sds.tls.enabled).toBe(true);
    // said and not the default: it stays
    const off = await created({ sds: { transport: 'TCP', tls: { enabled: false } } });
    expect(off['spec'].sds.tls.enabled).toBe(false);
    const touched = mustSucceed(await admin.patch(path, { metadata: { labels: { a: 'b' } } }));
    expect(touched['spec'].sds.tls.enabled).toBe(false);
  });

  test('says of a signer without a slash what it must look like, and nothing of how that was found out', async () => {
    const trustBundle = { signerName: 'mitm', name: 'agents-egress' };
    const causes = causesOf(await tried(written({ trustBundle }, 'tried'))).join('\n');
    expect(causes).toContain('spec.trustBundle.signerName: ');
    expect(causes).not.toContain('index out of bounds');
  });

  describe('lets never change', () => {
    const bundle = { signerName: 'egress.example.com/mitm', name: 'agents-egress' };
    test.each<[string, GatewayObject, GatewayObject, string]>([
      ['the pool', {}, { caPool: { secretName: 'b' } }, 'spec.caPool.secretName: .*immutable'],
      [
        'the signer',
        {},
        { trustBundle: { ...bundle, signerName: 'b.example/c' } },
        'spec.trustBundle.signerName: .*immutable',
      ],
      ['the name of the bundle', {}, { trustBundle: { ...bundle, name: 'b' } }, 'spec.trustBundle.name: .*immutable'],
      ['that there is no TLS', {}, { servingTLS: { secretName: 'a' } }, 'spec.servingTLS: .*servingTLS is final'],
      [
        'that there is TLS',
        { servingTLS: { secretName: 'a' } },
        { servingTLS: null },
        'spec.servingTLS: .*deletionPolicy Retain',
      ],
      [
        'the certificate',
        { servingTLS: { secretName: 'a' } },
        { servingTLS: { secretName: 'b' } },
        'spec.servingTLS: .*is final',
      ],
    ])('%s', async (_title, before, change, expected) => {
      await created(before);
      const answer = await admin.patch(path, { spec: change });
      expect(answer.status).toBe(422);
      expect(causesOf(answer)).toEqual([expect.stringMatching(new RegExp(`^${expected}`))]);
      // the rest of the object can be changed beside it
      mustSucceed(
        await admin.patch(path, { spec: { policy: { default: 'relay' } }, metadata: { labels: { a: 'b' } } }),
      );
    });
  });

  test('lets TLS be switched on by deleting and creating the gateway', async () => {
    await created({ trustBundle: { signerName: 'a.example/b', name: 'c', deletionPolicy: 'Retain' } });
    const spec = (await created({ servingTLS: { secretName: 'a' } }))['spec'];
    expect(spec.servingTLS).toEqual({ secretName: 'a' });
  });

  test('counts changes of the spec only, and keeps spec and status apart', async () => {
    const { metadata } = await created({});
    const condition = {
      type: 'Ready',
      status: 'True',
      reason: 'Ready',
      message: '',
      lastTransitionTime: new Date().toISOString(),
    };
    const status = { observedGeneration: metadata.generation, conditions: [condition] };
    const object = { apiVersion: 'leafgate.dev/v1alpha1', kind: 'EgressGateway', metadata: { name: 'egress' } };
    const wrote = await admin.apply(`${path}/status`, { ...object, spec: { policy: { default: 'relay' } }, status });
    expect(mustSucceed(wrote)).toMatchObject({ spec: { policy: { default: 'deny' } }, metadata: { generation: 1 } });
    expect(wrote.body?.['status']).toMatchObject({
      observedGeneration: 1,
      conditions: [{ type: 'Ready', status: 'True' }],
    });
    const changed = mustSucceed(
      await admin.patch(path, { spec: { policy: { default: 'relay' } }, status: { conditions: [] } }),
    );
    expect(changed).toMatchObject({ metadata: { generation: 2 }, status: { conditions: [{ type: 'Ready' }] } });
    const strange = await admin.apply(`${path}/status`, {
      ...object,
      status: { conditions: [{ ...condition, reason: 'not a word' }] },
    });
    expect(causesOf(strange)[0]).toContain('status.conditions[0].reason');
    expect(parseEgressGateway(changed)).toMatchObject({ gateway: { status: { conditions: [condition] } } });
  });

  test('shows in lists whether a gateway is ready and why not', async () => {
    await created({});
    const object = { apiVersion: 'leafgate.dev/v1alpha1', kind: 'EgressGateway', metadata: { name: 'egress' } };
    const condition = {
      type: 'Ready',
      status: 'False',
      reason: 'NotFound',
      message: '',
      lastTransitionTime: new Date().toISOString(),
    };
    mustSucceed(
      await admin.apply(`${path}/status`, {
        ...object,
        status: { conditions: [condition], bundle: { objectName: 'o', sha256: 'd' } },
      }),
    );
    const table = mustSucceed(await admin.get(path, 'application/json;as=Table;g=meta.k8s.io;v=v1'));
    const names = (table['columnDefinitions'] as readonly { name: string }[]).map(({ name }) => name);
    expect(names).toEqual(['Name', 'Ready', 'Reason', 'Bundle', 'Active', 'Digest', 'Age']);
    const [row] = table['rows'] as readonly { cells: readonly unknown[] }[];
    expect(row?.cells.slice(0, 6)).toEqual(['egress', 'False', 'NotFound', 'o', null, 'd']);
  });

  test('lets an object that became wrong be touched as long as what is wrong stays as it was', async () => {
    const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/egressgateways.leafgate.dev';
    await created({ deploymentName: 'old-name' });
    const definition = mustSucceed(await admin.get(definitions));
    const stricter = JSON.parse(JSON.stringify(definition)) as ApiObject;
    stricter['spec'].versions[0].schema.openAPIV3Schema.properties.spec.properties.deploymentName.maxLength = 3;
    mustSucceed(await admin.put(definitions, stricter));
    const refused = async (): Promise<boolean> =>
      (await tried(written({ deploymentName: 'new-name' }, 'tried'))).status === 422;
    await waitFor('the stricter definition', refused);
    mustSucceed(await admin.patch(path, { metadata: { finalizers: ['leafgate.dev/trust-bundle'] } }));
    mustSucceed(await admin.patch(path, { spec: { policy: { default: 'relay' } } }));
    mustSucceed(await admin.patch(path, { metadata: { finalizers: null } }));
    await installDefinition(admin);
  });

  test('agrees with the reader of the controller on whatever both can judge', async () => {
    await waitFor(
      'the shipped definition',
      async () => (await tried(written({ deploymentName: 'new-name' }, 'tried'))).status < 300,
    );
    await fc.assert(
      fc.asyncProperty(gatewayVariants, async (spec) => {
        const object = written(spec, 'tried');
        const answer = await tried(object);
        const reading = parseEgressGateway(object);
        const said = reading.kind === 'read' ? [] : reading.problems.map(({ message }) => message);
        expect([answer.status < 300, causesOf(answer), said]).toEqual([
          reading.kind === 'read',
          causesOf(answer),
          said,
        ]);
      }),
      { numRuns: 400 },
    );
  });
});

// the oldest that serves ClusterTrustBundles in a version that the controller knows: its CEL has fewer functions
describeWithControlPlane(
  'the definition of EgressGateway on an older cluster',
  { serving: 'v1beta1+v1alpha1' },
  (plane) => {
    test('is served, and judges as on a newer one', async () => {
      const admin = apiAs(plane(), plane().user('admin'));
      await installDefinition(admin);
      const tried = (spec: GatewayObject): Promise<ApiAnswer> =>
        admin.post(`${gatewaysIn('default')}?dryRun=All&fieldValidation=Strict`, written(spec));
      mustSucceed(await tried(wholeGatewaySpec));
      for (const { title, spec, field } of gatewayFaults) {
        const causes = causesOf(await tried(spec));
        expect(causes, title).toContainEqual(expect.stringContaining(`${field}: `));
      }
      admin.close();
    });
  },
);

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

// The built-in origin: always allowed by policy, reached only through interception, trusted by its own cluster only.
import { describe, expect, it } from 'vitest';
import { bootstrapDocument } from '../../../src/bootstrap/generate-envoy-files.ts';
import { policyDocument } from '../../../src/bootstrap/policy-filter.ts';
import { gatewaySpec } from '../../support/gateway-spec.ts';
import { at, objectsIn, typedIn, valuesOf } from '../../support/json-walk.ts';
import { evaluate } from '../../support/matcher-model.ts';
import { policy, rule } from '../policy/policy-fixtures.ts';

const spec = gatewaySpec();
const bootstrap = bootstrapDocument(spec);
const host = 'self-check.leafgate.invalid';

describe('the self-check', () => {
  it.each([
    ['nothing', policy('deny')],
    ['a denial of its very name', policy('deny', rule(host, 'deny'))],
    ['a relay of its very name on one port', policy('deny', rule(host, 'relay', { ports: [443] }))],
    ['a denial of all below', policy('deny', rule('*.invalid', 'deny'), rule('*.leafgate.invalid', 'tcp'))],
  ])('is intercepted under a policy with %s', (_, given) => {
    const matcher = at(policyDocument(given), 'resources', 0, 'typed_config', 'matcher');
    expect(evaluate(matcher, { 'leafgate.host': host, 'leafgate.port': '443' })).toBe('intercept:self-check');
  });

  it('has a route to its origin on the intercept chain and nowhere else', () => {
    const routesIn = (root: unknown): unknown[] =>
      objectsIn(root).flatMap(({ value }) => (value['cluster'] === 'self-check' && 'timeout' in value ? [value] : []));
    const intercept = at(bootstrap, 'static_resources', 'listeners', 'inner', 'filter_chains', 'intercept');
    expect(routesIn(intercept)).toHaveLength(1);
    expect(routesIn(bootstrap)).toEqual(routesIn(intercept));
  });

  it.each(['explicit', 'clear'])('is refused on the %s leg', (name) => {
    const manager = typedIn(bootstrap, httpManager).find((found) => found['stat_prefix'] === name);
    const routes = at(manager, 'route_config', 'virtual_hosts', 'self-check', 'routes');
    expect(at(routes, (routes as unknown[]).length - 1)).toEqual({
      match: { prefix: '/' },
      direct_response: { status: 421 },
    });
    expect(at(manager, 'route_config', 'virtual_hosts', 'self-check', 'domains')).toEqual([host, `${host}:*`]);
  });

  it('verifies the name with its own CA, over its own socket, without DNS', () => {
    const cluster = at(bootstrap, 'static_resources', 'clusters', 'self-check');
    expect(valuesOf(cluster, 'pipe')).toEqual([{ path: spec.selfCheck.socketPath }]);
    expect(valuesOf(cluster, 'validation_context')).toEqual([
      {
        trusted_ca: { filename: spec.selfCheck.caFile },
        match_typed_subject_alt_names: [{ san_type: 'DNS', matcher: { exact: host } }],
      },
    ]);
    expect(valuesOf(cluster, 'dns_cache_config')).toEqual([]);
  });

  it('trusts its CA in no other place', () => {
    const users = objectsIn(bootstrap).filter(({ value }) => value['filename'] === spec.selfCheck.caFile);
    expect(users).toHaveLength(1);
  });
});

const httpManager = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';

// Client certificates for chosen origins, as they are generated: who picks one, what a connection then shows, and that
// nothing of it is there for anybody else.
import { describe, expect, it } from 'vitest';
import { credentialCluster } from '../../../src/bootstrap/origin-credentials.ts';
import { bootstrapDocument, generateEnvoyFiles } from '../../../src/bootstrap/generate-envoy-files.ts';
import { readableFiles } from '../../../src/bootstrap/readable-files.ts';
import type { HostPattern } from '../../../src/names/name-types.ts';
import { parseHostPattern } from '../../../src/names/host-pattern.ts';
import type { ShownCredential } from '../../../src/settings/gateway-spec.ts';
import { gatewaySpec } from '../../support/gateway-spec.ts';
import { at, objectsIn, typedIn, valuesOf } from '../../support/json-walk.ts';

function credential(name: string, hosts: readonly string[], caFile?: string): ShownCredential {
  const patterns = hosts.flatMap((text): HostPattern[] => {
    const pattern = parseHostPattern(text);
    return pattern === undefined ? [] : [pattern];
  });
  return {
    name,
    hosts: patterns,
    certificateFile: `/${name}/tls.crt`,
    keyFile: `/${name}/tls.key`,
    caFile,
    digest: 'd',
  };
}

const spec = gatewaySpec({
  originCredentials: [
    credential('a_b', ['mtls.test', '*.partner.test'], '/a_b/ca.crt'),
    credential('a-b', ['mtls.test', 'other.test']),
  ],
});
const bootstrap = bootstrapDocument(spec);
const { files } = generateEnvoyFiles(spec, readableFiles);
const followed = (file: string): unknown => JSON.parse(files.get(file) ?? '{}');
const clusters = at(followed('clusters.json'), 'resources');
const upstreamTls = 'envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext';

describe('the origins that see a client certificate', () => {
  it('are picked by host, the most specific pattern first, and a host of two by the first that lists it', () => {
    expect(valuesOf(followed('origin-choice.json'), 'domain_matchers').at(-1)).toEqual([
      expect.objectContaining({ domains: ['mtls.test', '*.partner.test'] }),
      expect.objectContaining({ domains: ['other.test'] }),
    ]);
  });

  it('are picked on the intercept leg only, after names were compared and the policy asked', () => {
    const managers = typedIn(
      bootstrap,
      'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
    );
    const orders = managers.map((manager): readonly [unknown, readonly string[]] => [
      manager['stat_prefix'],
      (at(manager, 'http_filters') as { name: string }[]).map(({ name }) => name),
    ]);
    for (const [leg, names] of orders) {
      if (leg === 'intercept') expect(names.indexOf('credential')).toBeGreaterThan(names.indexOf('policy'));
      else expect(names).not.toContain('credential');
    }
  });

  it('see it on connections of clusters of their own, which nobody else’s requests use', () => {
    const names = (clusters as { name: string }[]).map(({ name }) => name);
    const [one, two] = spec.originCredentials.map(credentialCluster);
    expect(one).toMatch(/^credential-a_b-[0-9a-f]{12}$/);
    expect(names).toEqual([one, `${one}-http1`, two, `${two}-http1`]);
    const chosen = typedIn(followed('origin-choice.json'), 'envoy.config.rbac.v3.Action').map(({ name }) => name);
    expect(chosen).toEqual([one, two, 'none']);
    const contexts = names.map((name) => at(typedIn(at(clusters, name), upstreamTls)[0], 'common_tls_context'));
    expect(contexts.map((context) => at(context, 'tls_certificates', 0, 'private_key', 'filename'))).toEqual([
      ...['/a_b/tls.key', '/a_b/tls.key', '/a-b/tls.key', '/a-b/tls.key'],
    ]);
    expect(at(contexts[0], 'validation_context', 'trusted_ca', 'filename')).toBe('/a_b/ca.crt');
    expect(at(contexts[2], 'validation_context_sds_secret_config', 'name')).toBe('origin_roots');
  });

  it('are another cluster once their files are others or say something else, and the same one with other hosts', () => {
    const [first = credential('none', [])] = spec.originCredentials;
    const same = credentialCluster({ ...first, hosts: [] });
    expect(same).toBe(credentialCluster(first));
    for (const change of [{ digest: 'other' }, { keyFile: '/other.key' }, { caFile: '/other.pem' }]) {
      expect(credentialCluster({ ...first, ...change })).not.toBe(same);
    }
  });

  it('cost Envoy no file that it follows: each would take inotify instances, and without one it aborts', () => {
    const followedBy = (document: unknown) =>
      new Set(valuesOf(document, 'path_config_source').map((each) => at(each, 'path')));
    expect([...followedBy(clusters)]).toEqual([`${spec.paths.renderedDir}/origin-roots.json`]);
  });

  it('have no statistics, of which each would have 250', () => {
    const excluded = at(bootstrap, 'stats_config', 'stats_matcher', 'exclusion_list', 'patterns') as {
      prefix?: string;
    }[];
    for (const credential of spec.originCredentials) {
      const name = `cluster.${credentialCluster(credential)}.upstream_cx_total`;
      expect(excluded.some(({ prefix }) => prefix !== undefined && name.startsWith(prefix))).toBe(true);
    }
  });

  it('have routes of their own', () => {
    const routes = valuesOf(bootstrap, 'routes').find((list) => JSON.stringify(list).includes('origin-tls'));
    const targets = (routes as unknown[]).map(
      (route) => at(route, 'route', 'cluster_header') ?? at(route, 'route', 'cluster'),
    );
    expect(targets).toEqual(['x-leafgate-http1-cluster', 'x-leafgate-cluster', 'origin-tls-http1', 'origin-tls']);
  });

  it('are led to by headers that the gateway writes over whatever a client says, and that no origin sees', () => {
    const written = valuesOf(at(bootstrap, 'static_resources', 'listeners', 'inner'), 'request_mutations').flat();
    expect(
      written.map((mutation) => [at(mutation, 'append', 'header', 'key'), at(mutation, 'append', 'append_action')]),
    ).toEqual([
      ['x-leafgate-cluster', 'OVERWRITE_IF_EXISTS_OR_ADD'],
      ['x-leafgate-http1-cluster', 'OVERWRITE_IF_EXISTS_OR_ADD'],
    ]);
    for (const removed of valuesOf(bootstrap, 'request_headers_to_remove')) {
      expect(removed).toEqual(expect.arrayContaining(['x-leafgate-cluster', 'x-leafgate-http1-cluster']));
    }
  });

  it('verify as others do, allow TLS 1.3, and keep no session', () => {
    for (const context of typedIn(clusters, upstreamTls)) {
      expect(context).toMatchObject({ max_session_keys: 0 });
      expect(valuesOf(context, 'tls_maximum_protocol_version')).toEqual(['TLSv1_3']);
    }
  });
});

describe('without any', () => {
  const plain = generateEnvoyFiles(gatewaySpec(), readableFiles);
  const json = (file: string): unknown => JSON.parse(plain.files.get(file) ?? '{}');

  it('nothing is picked and no cluster has a choice', () => {
    expect(
      objectsIn(bootstrapDocument(gatewaySpec())).filter(({ value }) => 'transport_socket_matches' in value),
    ).toEqual([]);
    expect(at(json('clusters.json'), 'resources')).toEqual([]);
    expect(JSON.stringify(json('origin-choice.json'))).not.toContain('matcher');
  });

  it('a running Envoy is told of the first one by files that it follows: the bootstrap is the same', () => {
    const some = generateEnvoyFiles(gatewaySpec({ originCredentials: spec.originCredentials }), readableFiles);
    expect(some.files.get('bootstrap.yaml')).toBe(plain.files.get('bootstrap.yaml'));
  });
});

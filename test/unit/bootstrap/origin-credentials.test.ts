// Client certificates for chosen origins, as they are generated: who picks one, what a connection then shows, and that
// nothing of it is there for anybody else.
import { describe, expect, it } from 'vitest';
import { bootstrapDocument, generateEnvoyFiles } from '../../../src/bootstrap/generate-envoy-files.ts';
import type { HostPattern } from '../../../src/names/name-types.ts';
import { parseHostPattern } from '../../../src/names/host-pattern.ts';
import type { OriginCredential } from '../../../src/settings/gateway-spec.ts';
import { gatewaySpec } from '../../support/gateway-spec.ts';
import { at, objectsIn, typedIn, valuesOf } from '../../support/json-walk.ts';

function credential(name: string, hosts: readonly string[], caFile?: string): OriginCredential {
  const patterns = hosts.flatMap((text): HostPattern[] => {
    const pattern = parseHostPattern(text);
    return pattern === undefined ? [] : [pattern];
  });
  return { name, hosts: patterns, certificateFile: `/${name}/tls.crt`, keyFile: `/${name}/tls.key`, caFile };
}

const spec = gatewaySpec({
  originCredentials: [
    credential('a_b', ['mtls.test', '*.partner.test'], '/a_b/ca.crt'),
    credential('a-b', ['mtls.test', 'other.test']),
  ],
});
const bootstrap = bootstrapDocument(spec);
const clusters = at(bootstrap, 'static_resources', 'clusters');
const upstreamTls = 'envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext';

describe('the origins that see a client certificate', () => {
  it('are picked by host, the most specific pattern first, and a host of two by the first that lists it', () => {
    expect(valuesOf(bootstrap, 'domain_matchers').at(-1)).toEqual([
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

  it.each(['origin-tls', 'origin-tls-http1'])('see it on connections of %s, each by its own name', (name) => {
    const cluster = at(clusters, name);
    const sockets = at(cluster, 'transport_socket_matches') as { name: string; transport_socket: unknown }[];
    expect(sockets.map((socket) => socket.name)).toEqual(['credential:a_b', 'credential:a-b']);
    expect(valuesOf(cluster, 'exact_match_map')).toEqual([
      { map: { 'credential:a_b': expect.anything() as unknown, 'credential:a-b': expect.anything() as unknown } },
    ]);
    const roots = sockets.map((socket) => {
      return at(typedIn(socket, upstreamTls)[0], 'common_tls_context', 'validation_context_sds_secret_config', 'name');
    });
    expect(roots).toEqual(['origin_roots_a_b', 'origin_roots']);
    expect(typedIn(at(cluster, 'transport_socket'), upstreamTls)).toHaveLength(1);
    expect(valuesOf(at(cluster, 'transport_socket'), 'tls_certificate_sds_secret_configs')).toEqual([]);
  });

  it('have a file for each secret, under a name of its own', () => {
    const names = [...generateEnvoyFiles(spec).files.keys()].filter((name) => name.includes('credential'));
    expect(names).toEqual(['credential-a_b.json', 'roots-of-credential-a_b.json', 'credential-a-b.json']);
    const used = valuesOf(clusters, 'path_config_source').map((source) => at(source, 'path'));
    for (const name of names) expect(used).toContain(`${spec.paths.renderedDir}/${name}`);
  });

  it('verify as others do, allow TLS 1.3, and keep no session', () => {
    for (const context of typedIn(clusters, upstreamTls)) {
      expect(context).toMatchObject({ max_session_keys: 0 });
      expect(valuesOf(context, 'tls_maximum_protocol_version')).toEqual(['TLSv1_3']);
    }
  });
});

describe('without any', () => {
  it('nothing is picked and no cluster has a choice', () => {
    const plain = bootstrapDocument(gatewaySpec());
    expect(JSON.stringify(plain)).not.toContain('credential');
    expect(objectsIn(plain).filter(({ value }) => 'transport_socket_matches' in value)).toEqual([]);
  });
});

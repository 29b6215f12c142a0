// TLS to the proxy, as it is generated: which listener speaks what to whom, and where an actor's name may come from.
import { describe, expect, it } from 'vitest';
import { bootstrapDocument, generateEnvoyFiles } from '../../../src/bootstrap/generate-envoy-files.ts';
import { readableFiles } from '../../../src/bootstrap/readable-files.ts';
import type { GatewaySpec } from '../../../src/settings/gateway-spec.ts';
import { parseListenAddress } from '../../../src/settings/parse-listen.ts';
import { parseCidrSetting } from '../../../src/settings/parse-targets.ts';
import { gatewaySpec } from '../../support/gateway-spec.ts';
import { at, objectsIn, typedIn, valuesOf } from '../../support/json-walk.ts';

const front = { listen: undefined, certificateDir: '/etc/proxy', clientCaFile: '/etc/clients.pem' };
const tlsContext = 'envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext';

function listeners(changes: Partial<GatewaySpec>): unknown {
  return at(bootstrapDocument(gatewaySpec(changes)), 'static_resources', 'listeners');
}

describe('a proxy with a certificate and one address', () => {
  const listen = parseListenAddress('10.0.0.5:3128');
  const allowFrom = [parseCidrSetting('10.0.0.0/8', '--allow-from')];
  const explicit = at(listeners({ listen, allowFrom, front }), 'explicit');

  it('tells TLS and clear HTTP apart by the first byte', () => {
    expect(valuesOf(explicit, 'listener_filters')).toEqual([
      [expect.objectContaining({ name: 'envoy.filters.listener.tls_inspector' })],
    ]);
    expect(valuesOf(explicit, 'transport_protocol')).toEqual(['tls', 'raw_buffer']);
  });

  it('speaks TLS to all who may connect, and clear only to its own machine', () => {
    const [tls, clear] = valuesOf(explicit, 'direct_source_prefix_ranges');
    expect(tls).toEqual([{ address_prefix: '10.0.0.0', prefix_len: 8 }]);
    expect(clear).toEqual([
      { address_prefix: '127.0.0.0', prefix_len: 8 },
      { address_prefix: '::1', prefix_len: 128 },
      { address_prefix: '10.0.0.5', prefix_len: 32 },
    ]);
  });

  it('has no default chain, so that whoever fits none is closed', () => {
    expect(valuesOf(explicit, 'default_filter_chain')).toEqual([]);
  });
});

describe('a proxy with an address of its own for TLS', () => {
  const listen = parseListenAddress('0.0.0.0:3129');
  const both = { front: { ...front, listen }, ownAddresses: [parseListenAddress('10.0.0.5:0').address] };

  it('has two listeners, one clear and one TLS', () => {
    const built = listeners(both);
    expect(typedIn(at(built, 'explicit'), tlsContext)).toEqual([]);
    expect(typedIn(at(built, 'explicit-tls'), tlsContext)).toHaveLength(1);
    expect(valuesOf(at(built, 'explicit-tls'), 'port_value')).toEqual([3129]);
    expect(valuesOf([at(built, 'explicit'), at(built, 'explicit-tls')], 'transport_protocol')).toEqual([]);
  });

  it('refuses requests to itself at either', () => {
    const text = JSON.stringify(listeners(both));
    expect(text).toMatch(/in \['3128', '3129'\] && \([^|]*'10\.0\.0\.5'/);
  });
});

describe('the certificates of clients', () => {
  it('are asked for where a CA is given, verified by it, and never needed', () => {
    const [context] = typedIn(listeners({ front }), tlsContext);
    expect(context).toMatchObject({ require_client_certificate: false });
    expect(at(context, 'common_tls_context', 'validation_context_sds_secret_config', 'name')).toBe('client_roots');
  });

  it('are not asked for where no CA is given, and nobody is an actor', () => {
    const built = listeners({ front: { ...front, clientCaFile: undefined } });
    expect(valuesOf(built, 'validation_context_sds_secret_config')).toEqual([]);
    expect(JSON.stringify(built)).not.toMatch(/PEER_URI_SAN|uri_san_peer/);
    expect(
      generateEnvoyFiles(gatewaySpec({ front: { ...front, clientCaFile: undefined } }), readableFiles).files.keys(),
    ).not.toContain('client-roots.json');
  });

  it('are verified anew in every connection: no session is resumed', () => {
    const contexts = typedIn(listeners({ front }), tlsContext);
    expect(contexts).toHaveLength(2);
    for (const context of contexts) {
      expect(context).toMatchObject({
        disable_stateless_session_resumption: true,
        disable_stateful_session_resumption: true,
      });
    }
  });

  it('name an actor in HTTP only: no listener’s log shows a certificate that may not have been verified', () => {
    const built = listeners({ front });
    for (const { path, value } of objectsIn(built)) {
      if ('json_format' in value) expect(JSON.stringify(value), path).not.toContain('DOWNSTREAM_PEER');
    }
    const shared = objectsIn(built).filter(({ value }) => value['object_key'] === 'leafgate.actor');
    expect(shared.length).toBeGreaterThan(0);
    for (const { path, value } of shared) {
      expect(value['factory_key'], path).toBe('envoy.hashable_string');
      expect(path).toMatch(/\/(?:http_filters|typed_per_filter_config)\//);
    }
  });
});

describe('the files of others', () => {
  it('are only pointed to, and read again when something is moved into the reload folder', () => {
    const spec = gatewaySpec({ front });
    const { files } = generateEnvoyFiles(spec, readableFiles);
    const secretIn = (name: string): unknown => at(JSON.parse(files.get(name) ?? ''), 'resources', 0);
    expect(secretIn('front-certificate.json')).toMatchObject({
      tls_certificate: {
        certificate_chain: { filename: '/etc/proxy/tls.crt' },
        private_key: { filename: '/etc/proxy/tls.key' },
        watched_directory: { path: spec.paths.reloadDir },
      },
    });
    expect(secretIn('client-roots.json')).toMatchObject({
      validation_context: {
        trusted_ca: { filename: '/etc/clients.pem' },
        watched_directory: { path: spec.paths.reloadDir },
      },
    });
  });
});

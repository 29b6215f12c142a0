// The cluster that Envoy asks for leaves.
import { describe, expect, test } from 'vitest';
import { generateEnvoyFiles } from '../../../src/bootstrap/generate-envoy-files.ts';
import { readableFiles } from '../../../src/bootstrap/readable-files.ts';
import { sdsCluster, sdsDocuments } from '../../../src/bootstrap/sds-cluster.ts';
import type { HostName } from '../../../src/names/name-types.ts';
import type { RemoteSds } from '../../../src/settings/gateway-spec.ts';
import { parseServerName } from '../../../src/transport/server-name.ts';
import { gatewaySpec } from '../../support/gateway-spec.ts';

function remote(hosts: readonly string[], changes: Partial<RemoteSds['tls']> = {}): RemoteSds {
  const endpoints = hosts.map((text) => {
    const host = parseServerName(text);
    if (host === undefined) throw new Error(`no host: ${text}`);
    return { host, port: 8443 };
  });
  const serverName = 'sds.example.com' as HostName;
  return { endpoints, tls: { serverName, verifiesServer: true, certificateDir: '/certs', ...changes } };
}

const clusterOf = (remoteSds?: RemoteSds): string => JSON.stringify(sdsCluster('sds', gatewaySpec({ remoteSds })));

describe('an SDS server beside Envoy', () => {
  test('is a unix socket without TLS, and has no files', () => {
    expect(clusterOf()).toContain('"pipe":{"path":"/run/leafgate-test/sds.sock"}');
    expect(clusterOf()).not.toContain('tls');
    expect(sdsDocuments(gatewaySpec())).toEqual([]);
  });
});

describe('an SDS server on another machine', () => {
  test('is looked up by name, and not where all endpoints are addresses', () => {
    expect(clusterOf(remote(['a.example.com', '192.0.2.1']))).toContain('"type":"STRICT_DNS"');
    expect(clusterOf(remote(['192.0.2.1', '2001:db8::1']))).toContain('"type":"STATIC"');
    expect(clusterOf(remote(['192.0.2.1', '2001:db8::1']))).toContain('"address":"2001:db8::1","port_value":8443');
  });

  test('is asked for by the name that is verified, whatever its endpoints are called', () => {
    const remoteSds = remote(['192.0.2.1']);
    expect(clusterOf(remoteSds)).toContain('"sni":"sds.example.com"');
    const roots = JSON.stringify(Object.fromEntries(sdsDocuments(gatewaySpec({ remoteSds })))['sds-roots.json']);
    expect(roots).toContain(
      '"match_typed_subject_alt_names":[{"san_type":"DNS","matcher":{"exact":"sds.example.com"}}]',
    );
  });

  test('is spoken to by TLS 1.3 and HTTP/2 alone', () => {
    expect(clusterOf(remote(['192.0.2.1']))).toContain(
      '"tls_params":{"tls_minimum_protocol_version":"TLSv1_3","tls_maximum_protocol_version":"TLSv1_3"},"alpn_protocols":["h2"]',
    );
  });

  test('sees a certificate, and is not verified only where somebody wants that', () => {
    const remoteSds = remote(['192.0.2.1'], { verifiesServer: false });
    expect(clusterOf(remoteSds)).toContain('tls_certificate_sds_secret_configs');
    expect(clusterOf(remoteSds)).not.toContain('validation_context');
    expect(sdsDocuments(gatewaySpec({ remoteSds })).map(([file]) => file)).toEqual(['sds-certificate.json']);
  });

  test('is asked in clear only where somebody wants that, and then needs no files', () => {
    const remoteSds = { ...remote(['192.0.2.1']), tls: undefined };
    expect(clusterOf(remoteSds)).not.toContain('transport_socket"');
    expect(clusterOf(remoteSds)).toContain('"http2_protocol_options"');
    expect(sdsDocuments(gatewaySpec({ remoteSds }))).toEqual([]);
  });

  test('has its files watched in their own folder, and rendered with the others', () => {
    const { files } = generateEnvoyFiles(gatewaySpec({ remoteSds: remote(['192.0.2.1']) }), readableFiles);
    for (const name of ['sds-certificate.json', 'sds-roots.json']) {
      expect(files.get(name)).toMatch(/"watched_directory": \{\s+"path": "\/certs"/);
    }
  });
});

import { describe, expect, test } from 'vitest';
import { actorEnvironment, actorVariables, sendsAllAround } from '../../../src/projection/actor-environment.ts';

const trust = {
  proxyUrl: 'http://127.0.0.1:3128',
  caFile: '/t/ca.pem',
  mergedFile: '/t/ca-and-system.pem',
  wgetrcFile: '/t/wgetrc',
};

describe('the environment of an actor', () => {
  test('is the minimal set that covers every client that can be reached by variables', () => {
    expect(actorEnvironment(trust, {})).toEqual({
      HTTPS_PROXY: trust.proxyUrl,
      https_proxy: trust.proxyUrl,
      HTTP_PROXY: trust.proxyUrl,
      http_proxy: trust.proxyUrl,
      NO_PROXY: 'localhost,127.0.0.1,::1',
      no_proxy: 'localhost,127.0.0.1,::1',
      NODE_USE_ENV_PROXY: '1',
      NODE_EXTRA_CA_CERTS: trust.caFile,
      SSL_CERT_FILE: trust.mergedFile,
      CURL_CA_BUNDLE: trust.mergedFile,
      REQUESTS_CA_BUNDLE: trust.mergedFile,
      PIP_CERT: trust.mergedFile,
      WGETRC: trust.wgetrcFile,
      GIT_SSL_CAINFO: trust.mergedFile,
      CARGO_HTTP_CAINFO: trust.mergedFile,
      npm_config_cafile: trust.mergedFile,
      DENO_CERT: trust.mergedFile,
      AWS_CA_BUNDLE: trust.mergedFile,
      CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE: trust.mergedFile,
      GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: trust.mergedFile,
      HTTPLIB2_CA_CERTS: trust.mergedFile,
      NIX_SSL_CERT_FILE: trust.mergedFile,
      PERL_LWP_SSL_CA_FILE: trust.mergedFile,
      BUNDLE_SSL_CA_CERT: trust.mergedFile,
    });
  });

  test.each<[Record<string, string>, string]>([
    [{ NO_PROXY: 'db.corp,.svc' }, 'db.corp,.svc,localhost,127.0.0.1,::1'],
    [{ no_proxy: 'db.corp' }, 'db.corp,localhost,127.0.0.1,::1'],
    [{ no_proxy: 'a.test', NO_PROXY: 'b.test, a.test' }, 'a.test,b.test,localhost,127.0.0.1,::1'],
    [{ NO_PROXY: 'localhost, ,10.0.0.0/8' }, 'localhost,10.0.0.0/8,127.0.0.1,::1'],
    [{ NO_PROXY: '' }, 'localhost,127.0.0.1,::1'],
  ])('keeps what its owner keeps off proxies and adds loopback: %j', (own, expected) => {
    const { NO_PROXY, no_proxy } = actorEnvironment(trust, own);
    expect([NO_PROXY, no_proxy]).toEqual([expected, expected]);
  });

  test('tells when an entry of its owner lets everything go around the gateway', () => {
    expect(sendsAllAround({ no_proxy: 'a.test, *' })).toBe(true);
    expect(sendsAllAround({ NO_PROXY: '*.a.test' })).toBe(false);
  });

  test('only the one variable that is known to add gets the anchors alone; all others may replace', () => {
    const alone = actorVariables.filter(({ value }) => value === 'anchors').map(({ name }) => name);
    expect(alone).toEqual(['NODE_EXTRA_CA_CERTS']);
  });

  test('each variable is named once and says who reads it and why', () => {
    expect(new Set(actorVariables.map(({ name }) => name)).size).toBe(actorVariables.length);
    for (const { readBy, reason } of actorVariables) expect(readBy !== '' && reason !== '').toBe(true);
  });
});

import { describe, expect, test } from 'vitest';
import { actorEnvironment } from '../../../src/projection/actor-environment.ts';
import { actorRuntimes, actorVariables } from '../../../src/projection/actor-runtimes.ts';
import { trustFilePaths } from '../../../src/projection/trust-files.ts';

const proxyUrl = 'http://127.0.0.1:3128';

type Wish = {
  readonly own?: Record<string, string>;
  readonly without?: string[];
  readonly left?: string[];
  readonly dir?: string;
};

const build = ({ own = {}, without = [], left = [], dir = '/t' }: Wish = {}) => {
  const trust = { proxyUrl, ...trustFilePaths(dir) };
  return actorEnvironment({ trust, own, without: new Set(without), left: new Set(left) });
};

describe('the environment of an actor', () => {
  test('covers every client that variables can reach', () => {
    const merged = '/t/ca-and-system.pem';
    expect(build()).toEqual({
      variables: {
        HTTPS_PROXY: proxyUrl,
        https_proxy: proxyUrl,
        HTTP_PROXY: proxyUrl,
        http_proxy: proxyUrl,
        NO_PROXY: 'localhost,127.0.0.1,::1',
        no_proxy: 'localhost,127.0.0.1,::1',
        NODE_USE_ENV_PROXY: '1',
        NODE_EXTRA_CA_CERTS: '/t/ca.pem',
        SSL_CERT_FILE: merged,
        CURL_CA_BUNDLE: merged,
        REQUESTS_CA_BUNDLE: merged,
        PIP_CERT: merged,
        WGETRC: '/t/wgetrc',
        APT_CONFIG: '/t/apt.conf',
        PHP_INI_SCAN_DIR: ':/t/php',
        GIT_SSL_CAINFO: merged,
        CARGO_HTTP_CAINFO: merged,
        npm_config_cafile: merged,
        NPM_CONFIG_CAFILE: merged,
        DENO_CERT: merged,
        AWS_CA_BUNDLE: merged,
        CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE: merged,
        GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: merged,
        grpc_proxy: proxyUrl,
        HTTPLIB2_CA_CERTS: merged,
        NIX_SSL_CERT_FILE: merged,
        PERL_LWP_SSL_CA_FILE: merged,
        PERL_LWP_ENV_PROXY: '1',
        BUNDLE_SSL_CA_CERT: merged,
        JAVA_TOOL_OPTIONS:
          '-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3128 -Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3128 -Dhttp.nonProxyHosts=localhost|127.*|[::1] -Djavax.net.ssl.trustStore=/t/ca-and-system.p12 -Djavax.net.ssl.trustStoreType=PKCS12',
      },
      warnings: [],
    });
  });

  test.each<[Record<string, string>, string]>([
    [{ NO_PROXY: 'db.corp,.svc' }, 'db.corp,.svc,localhost,127.0.0.1,::1'],
    [{ no_proxy: 'db.corp' }, 'db.corp,localhost,127.0.0.1,::1'],
    [{ no_proxy: 'a.test', NO_PROXY: 'b.test, a.test' }, 'a.test,b.test,localhost,127.0.0.1,::1'],
    [{ NO_PROXY: 'localhost, ,10.0.0.0/8' }, 'localhost,10.0.0.0/8,127.0.0.1,::1'],
    [{ NO_PROXY: '' }, 'localhost,127.0.0.1,::1'],
  ])('keeps what its owner keeps off proxies and adds loopback: %j', (own, expected) => {
    const { NO_PROXY, no_proxy } = build({ own }).variables;
    expect([NO_PROXY, no_proxy]).toEqual([expected, expected]);
  });

  test('keeps the folders that its owner has PHP read, before ours', () => {
    expect(build({ own: { PHP_INI_SCAN_DIR: '/a:' } }).variables['PHP_INI_SCAN_DIR']).toBe('/a::/t/php');
  });

  test('is the same in a shell that has it already', () => {
    const { variables } = build({ own: { NO_PROXY: 'a.test', JAVA_TOOL_OPTIONS: '-ea', PHP_INI_SCAN_DIR: '/a' } });
    expect(build({ own: variables })).toEqual({ variables, warnings: [] });
    expect(build({ own: build().variables })).toEqual(build());
  });

  test.each<[Record<string, string>, readonly RegExp[]]>([
    [{ no_proxy: 'a.test, *' }, [/NO_PROXY is \*/]],
    [{ NO_PROXY: '*.a.test' }, []],
    [
      { HTTPS_PROXY: 'http://user:secret@corp:8080', http_proxy: 'http://corp:8080' },
      [/^the gateway takes the place of the proxy in HTTPS_PROXY, http_proxy$/],
    ],
    [{ HTTPS_PROXY: proxyUrl, https_proxy: '' }, []],
    [{ ALL_PROXY: 'socks5://corp', PIP_PROXY: proxyUrl }, [/^ALL_PROXY stays/]],
    [{ NO_PROXY: '10.1.0.0/20' }, [/Java has no form for 10\.1\.0\.0\/20/]],
    [{ JAVA_TOOL_OPTIONS: "'-Dx=y" }, [/quote that does not end/]],
  ])('warns of what its owner has set otherwise: %j', (own, expected) => {
    const { warnings } = build({ own });
    expect(warnings).toHaveLength(expected.length);
    for (const [index, warning] of warnings.entries()) expect(warning).toMatch(expected[index] ?? /^$/);
    expect(warnings.join()).not.toContain('secret');
  });

  test('leaves a runtime out with everything that is its own, and says nothing of it', () => {
    const own = { JAVA_TOOL_OPTIONS: "'open", HTTPS_PROXY: 'http://corp:8080' };
    const { variables, warnings } = build({ own, without: ['java', 'node', 'proxy'] });
    const names = Object.keys(variables);
    expect(names).not.toContain('JAVA_TOOL_OPTIONS');
    expect(names).not.toContain('NODE_EXTRA_CA_CERTS');
    expect(names).not.toContain('HTTPS_PROXY');
    expect(names).toContain('SSL_CERT_FILE');
    expect(warnings).toEqual([]);
  });

  test('names no proxy to Java where there is to be none', () => {
    expect(build({ without: ['proxy'], own: { JAVA_TOOL_OPTIONS: '-Xmx1g' } }).variables['JAVA_TOOL_OPTIONS']).toBe(
      '-Xmx1g -Djavax.net.ssl.trustStore=/t/ca-and-system.p12 -Djavax.net.ssl.trustStoreType=PKCS12',
    );
  });

  test('leaves single variables to their owner', () => {
    expect(build({ left: ['SSL_CERT_FILE'] }).variables).not.toHaveProperty('SSL_CERT_FILE');
  });

  test.each(['/a\nb', '/a"b\tc'])('names no settings file whose path cannot stand in it: %j', (dir) => {
    const { variables, warnings } = build({ dir });
    for (const name of ['WGETRC', 'APT_CONFIG', 'PHP_INI_SCAN_DIR']) expect(variables).not.toHaveProperty(name);
    expect(warnings).toHaveLength(3);
    expect(build({ dir, without: ['wget', 'apt', 'php'] }).warnings).toEqual([]);
  });

  test('names no folder to PHP whose path would be two', () => {
    const { variables, warnings } = build({ dir: '/a:b' });
    expect(variables).not.toHaveProperty('PHP_INI_SCAN_DIR');
    expect(variables).toHaveProperty('WGETRC');
    expect(warnings).toHaveLength(1);
  });
});

describe('the table of runtimes', () => {
  test('gives the anchors alone only to the one variable that is known to add; all others may replace', () => {
    const alone = actorVariables.filter(({ value }) => value === 'anchors').map(({ name }) => name);
    expect(alone).toEqual(['NODE_EXTRA_CA_CERTS']);
  });

  test('has each variable and each runtime once, and says who reads it and why', () => {
    expect(new Set(actorVariables.map(({ name }) => name)).size).toBe(actorVariables.length);
    expect(new Set(actorRuntimes.map(({ key }) => key)).size).toBe(actorRuntimes.length);
    for (const { readBy, reason } of actorVariables) expect(readBy !== '' && reason !== '').toBe(true);
    for (const { key, versions } of actorRuntimes) expect(/^[a-z]+$/.test(key) && versions !== '').toBe(true);
  });

  test('says of each variable that names roots whether it adds or replaces', () => {
    const roots = ['anchors', 'merged', 'java-options', 'wgetrc', 'apt-conf', 'php-folder'];
    expect(actorVariables.filter(({ value, effect }) => roots.includes(value) !== (effect !== undefined))).toEqual([]);
  });
});

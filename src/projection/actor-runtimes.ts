// What sends the common runtimes through the gateway and makes them trust it: one table, for each runtime its variables with
// who reads them and why they have this value. Pure; must not know how a process is started.

/** where a variable's value comes from; the last five are files or folders of the trust folder */
export type ActorValue =
  | 'proxy'
  | 'no-proxy'
  | 'on'
  | 'java-options'
  /** the gateway's anchors alone */
  | 'anchors'
  /** anchors and system roots in one file: right for variables that replace a client's own roots and for those that add */
  | 'merged'
  | 'wgetrc'
  | 'apt-conf'
  | 'php-folder';

/** what a client does with its own roots; `differs`: by client or system, which the reason tells */
export type TrustEffect = 'adds' | 'replaces' | 'differs';

export type ActorVariable = {
  readonly name: string;
  readonly value: ActorValue;
  /** absent where it has nothing to do with roots */
  readonly effect?: TrustEffect;
  readonly readBy: string;
  readonly reason: string;
};

/** What `--without KEY` leaves out together. */
export type ActorRuntime = {
  readonly key: string;
  readonly title: string;
  readonly variables: readonly ActorVariable[];
  /** where it was tried; `documentation` where nobody has */
  readonly versions: string;
  readonly caveat?: string;
};

const ownRoots = 'has roots of its own';

function merged(name: string, effect: TrustEffect, readBy: string, reason: string): ActorVariable {
  return { name, value: 'merged', effect, readBy, reason };
}

/** Measured with clients (docs/clients.md among them), each from an empty environment, unless `versions` says otherwise. */
export const actorRuntimes: readonly ActorRuntime[] = [
  {
    key: 'proxy',
    title: 'the way to the gateway',
    versions: 'all below',
    caveat:
      'not needed where connections are redirected to the gateway; aiohttp looks at them only with trust_env=True',
    variables: [
      {
        name: 'HTTPS_PROXY',
        value: 'proxy',
        readBy: 'Node, Deno, Bun, cargo, npm, PHP curl',
        reason: 'upper case only',
      },
      { name: 'https_proxy', value: 'proxy', readBy: 'wget, apt-get, Chromium, Firefox', reason: 'lower case only' },
      { name: 'HTTP_PROXY', value: 'proxy', readBy: 'Python, Go, Node', reason: 'plain HTTP is seen and limited too' },
      {
        name: 'http_proxy',
        value: 'proxy',
        readBy: 'curl, wget, Ruby',
        reason: 'curl ignores the upper-case form for HTTP; Ruby takes it for https too',
      },
      {
        name: 'NO_PROXY',
        value: 'no-proxy',
        readBy: 'most',
        reason: "loopback is the actor's own; what its owner has stays",
      },
      { name: 'no_proxy', value: 'no-proxy', readBy: 'curl, wget', reason: 'as NO_PROXY' },
    ],
  },
  {
    key: 'openssl',
    title: 'OpenSSL and whatever reads its variable',
    versions: 'Go 1.26, Ruby 3.1, CPython 3.11, httpx 0.28, aiohttp 3.14, reqwest 0.13, Bun 1.4',
    caveat:
      'on Debian the roots in /etc/ssl/certs stay trusted beside the file; Go on macOS reads no variable; SSL_CERT_DIR is left to its owner',
    variables: [
      merged(
        'SSL_CERT_FILE',
        'differs',
        'Go, Ruby, Python (ssl, httpx, aiohttp), rustls (reqwest, uv), Bun, PHP streams, .NET, curl',
        'replaces in httpx and rustls, adds in the others on Debian',
      ),
    ],
  },
  {
    key: 'curl',
    title: 'curl',
    versions: 'curl 7.88 with OpenSSL',
    variables: [
      merged(
        'CURL_CA_BUNDLE',
        'differs',
        'curl, Python requests',
        "wins over SSL_CERT_FILE; Debian's folder of roots stays",
      ),
    ],
  },
  {
    key: 'wget',
    title: 'wget',
    versions: 'wget 1.21 with GnuTLS; wget2 gets through no proxy by CONNECT',
    variables: [
      {
        name: 'WGETRC',
        value: 'wgetrc',
        effect: 'adds',
        readBy: 'wget',
        reason: 'has no variable for roots; takes the place of ~/.wgetrc, whose lines are kept',
      },
    ],
  },
  {
    key: 'git',
    title: 'git',
    versions: 'git 2.39 with GnuTLS',
    variables: [merged('GIT_SSL_CAINFO', 'adds', 'git', 'with GnuTLS it ignores the others')],
  },
  {
    key: 'python',
    title: 'Python requests, pip, httplib2',
    versions: 'requests 2.34, pip 23 and 26, httplib2 0.32',
    caveat: 'httplib2 takes a proxy only where PySocks is installed, and goes around without a word otherwise',
    variables: [
      merged('REQUESTS_CA_BUNDLE', 'replaces', 'Python requests, older pip', 'ignores SSL_CERT_FILE'),
      merged('PIP_CERT', 'differs', 'pip', 'older releases ignore SSL_CERT_FILE; replaces in pip 23, adds in pip 26'),
      merged('HTTPLIB2_CA_CERTS', 'replaces', 'Python httplib2', ownRoots),
    ],
  },
  {
    key: 'node',
    title: 'Node.js',
    versions: 'Node 24 and 26; not the fetch and https of Node 20',
    caveat: 'NODE_OPTIONS is left to its owner; code that gives `ca` itself trusts that alone',
    variables: [
      {
        name: 'NODE_USE_ENV_PROXY',
        value: 'on',
        readBy: 'Node 24 and later',
        reason: 'else fetch ignores HTTPS_PROXY',
      },
      {
        name: 'NODE_EXTRA_CA_CERTS',
        value: 'anchors',
        effect: 'adds',
        readBy: 'Node, npm, Bun, Deno',
        reason: "adds to Node's own roots",
      },
    ],
  },
  {
    key: 'npm',
    title: 'npm',
    versions: 'npm 11',
    variables: [
      merged('npm_config_cafile', 'replaces', 'npm, pnpm', 'wins over a cafile in npmrc, which replaces'),
      merged('NPM_CONFIG_CAFILE', 'replaces', 'npm, pnpm', 'the same setting: npm takes either case'),
    ],
  },
  {
    key: 'deno',
    title: 'Deno',
    versions: 'Deno 2.9',
    variables: [merged('DENO_CERT', 'adds', 'Deno', 'adds in 2.9, replaced in others')],
  },
  {
    key: 'cargo',
    title: 'cargo',
    versions: 'cargo 1.95',
    variables: [merged('CARGO_HTTP_CAINFO', 'adds', 'cargo', 'wins over a setting in its configuration')],
  },
  {
    key: 'java',
    title: 'Java',
    versions: 'Java 17 and 25 (HttpClient, HttpURLConnection)',
    caveat:
      'each JVM prints one line about it on stderr; the trust store takes the place of its cacerts; Maven and Gradle take proxies from settings of their own too; native images do not read it',
    variables: [
      {
        name: 'JAVA_TOOL_OPTIONS',
        value: 'java-options',
        effect: 'replaces',
        readBy: 'every JVM',
        reason: 'ignores HTTPS_PROXY; the part of NO_PROXY that Java can say goes along',
      },
    ],
  },
  {
    key: 'php',
    title: 'PHP',
    versions: 'PHP 8.2 (curl)',
    caveat: 'wins over curl.cainfo and openssl.cafile in php.ini; streams know of no proxy',
    variables: [
      {
        name: 'PHP_INI_SCAN_DIR',
        value: 'php-folder',
        effect: 'adds',
        readBy: 'PHP curl, PHP streams',
        reason: 'ignores SSL_CERT_FILE; the folders that PHP reads anyway stay',
      },
    ],
  },
  {
    key: 'apt',
    title: 'apt',
    versions: 'apt 2.6',
    caveat:
      'a CAInfo in /etc/apt/apt.conf.d wins; root fetches as the user _apt, or as root where that user cannot read the trust folder',
    variables: [
      {
        name: 'APT_CONFIG',
        value: 'apt-conf',
        effect: 'replaces',
        readBy: 'apt-get, apt',
        reason: 'has no variable for roots',
      },
    ],
  },
  {
    key: 'ruby',
    title: 'Ruby Bundler',
    versions: 'its documentation',
    variables: [merged('BUNDLE_SSL_CA_CERT', 'replaces', 'Ruby Bundler', 'has a setting of its own')],
  },
  {
    key: 'perl',
    title: 'Perl LWP',
    versions: 'LWP 6.68',
    variables: [
      merged('PERL_LWP_SSL_CA_FILE', 'replaces', 'Perl LWP', ownRoots),
      { name: 'PERL_LWP_ENV_PROXY', value: 'on', readBy: 'Perl LWP', reason: 'else it ignores the proxy variables' },
    ],
  },
  {
    key: 'aws',
    title: 'AWS',
    versions: 'its documentation',
    variables: [merged('AWS_CA_BUNDLE', 'replaces', 'AWS CLI and SDKs', 'wins over REQUESTS_CA_BUNDLE')],
  },
  {
    key: 'gcloud',
    title: 'gcloud',
    versions: 'its documentation',
    variables: [merged('CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE', 'replaces', 'gcloud', ownRoots)],
  },
  {
    key: 'grpc',
    title: 'gRPC',
    versions: 'its documentation',
    variables: [
      merged('GRPC_DEFAULT_SSL_ROOTS_FILE_PATH', 'replaces', 'gRPC in C++, Python, Ruby, PHP', ownRoots),
      { name: 'grpc_proxy', value: 'proxy', readBy: 'gRPC', reason: 'wins over https_proxy' },
    ],
  },
  {
    key: 'nix',
    title: 'Nix',
    versions: 'its documentation',
    variables: [merged('NIX_SSL_CERT_FILE', 'replaces', 'Nix, and curl and git from it', 'wins there')],
  },
];

export const actorVariables: readonly ActorVariable[] = actorRuntimes.flatMap(({ variables }) => variables);

// The environment that sends the common runtimes through the gateway and makes them trust it: one table, each variable
// with who reads it and why it has this value. Pure; must not know how a process is started.

export type ActorVariable = {
  readonly name: string;
  readonly value: 'proxy' | 'no-proxy' | 'on' | 'anchors' | 'merged' | 'wgetrc';
  readonly readBy: string;
  readonly reason: string;
};

/**
 * Measured with 22 clients. `merged` is the gateway's anchors and the system roots in one file: about half of these
 * variables replace a client's own roots and half add to them, and the merged file is right for both. Those from
 * AWS_CA_BUNDLE on are from their clients' documentation.
 */
export const actorVariables: readonly ActorVariable[] = [
  { name: 'HTTPS_PROXY', value: 'proxy', readBy: 'Node, Deno, Bun, cargo, npm, PHP curl', reason: 'upper case only' },
  { name: 'https_proxy', value: 'proxy', readBy: 'wget, apt-get', reason: 'lower case only' },
  { name: 'HTTP_PROXY', value: 'proxy', readBy: 'Python, Go, Node', reason: 'plain HTTP is seen and limited too' },
  { name: 'http_proxy', value: 'proxy', readBy: 'curl, wget', reason: 'curl ignores the upper-case form for HTTP' },
  {
    name: 'NO_PROXY',
    value: 'no-proxy',
    readBy: 'most',
    reason: "loopback is the actor's own; its owner's entries stay",
  },
  { name: 'no_proxy', value: 'no-proxy', readBy: 'curl, wget', reason: 'as NO_PROXY' },
  { name: 'NODE_USE_ENV_PROXY', value: 'on', readBy: 'Node 24 and later', reason: 'else fetch ignores HTTPS_PROXY' },
  { name: 'NODE_EXTRA_CA_CERTS', value: 'anchors', readBy: 'Node, npm, Bun, Deno', reason: "adds to Node's own roots" },
  { name: 'SSL_CERT_FILE', value: 'merged', readBy: 'OpenSSL, Go, Ruby, httpx, rustls', reason: 'replaces in some' },
  { name: 'CURL_CA_BUNDLE', value: 'merged', readBy: 'curl', reason: 'wins over SSL_CERT_FILE' },
  { name: 'REQUESTS_CA_BUNDLE', value: 'merged', readBy: 'Python requests', reason: 'ignores SSL_CERT_FILE' },
  { name: 'PIP_CERT', value: 'merged', readBy: 'pip', reason: 'older releases ignore SSL_CERT_FILE' },
  { name: 'GIT_SSL_CAINFO', value: 'merged', readBy: 'git', reason: 'with GnuTLS it ignores the others' },
  { name: 'CARGO_HTTP_CAINFO', value: 'merged', readBy: 'cargo', reason: 'wins over a setting in its configuration' },
  { name: 'npm_config_cafile', value: 'merged', readBy: 'npm', reason: 'wins over a cafile in npmrc, which replaces' },
  { name: 'WGETRC', value: 'wgetrc', readBy: 'wget', reason: 'has no variable for roots; replaces ~/.wgetrc' },
  { name: 'DENO_CERT', value: 'merged', readBy: 'Deno', reason: 'adds in 2.9, replaced in others' },
  { name: 'AWS_CA_BUNDLE', value: 'merged', readBy: 'AWS CLI and SDKs', reason: 'wins over REQUESTS_CA_BUNDLE' },
  { name: 'CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE', value: 'merged', readBy: 'gcloud', reason: 'has roots of its own' },
  {
    name: 'GRPC_DEFAULT_SSL_ROOTS_FILE_PATH',
    value: 'merged',
    readBy: 'gRPC in C++, Python, Ruby, PHP',
    reason: 'has roots of its own',
  },
  { name: 'HTTPLIB2_CA_CERTS', value: 'merged', readBy: 'Python httplib2', reason: 'has roots of its own' },
  { name: 'NIX_SSL_CERT_FILE', value: 'merged', readBy: 'Nix, and curl and git from it', reason: 'wins there' },
  { name: 'PERL_LWP_SSL_CA_FILE', value: 'merged', readBy: 'Perl LWP', reason: 'has roots of its own' },
  { name: 'BUNDLE_SSL_CA_CERT', value: 'merged', readBy: 'Ruby Bundler', reason: 'has a setting of its own' },
];

export type ActorTrust = {
  /** `http://127.0.0.1:3128` */
  readonly proxyUrl: string;
  /** absolute path of the anchors */
  readonly caFile: string;
  /** absolute path of anchors and system roots */
  readonly mergedFile: string;
  /** absolute path of the settings file for wget */
  readonly wgetrcFile: string;
};

export type InheritedEnvironment = { readonly [name: string]: string | undefined };

/** The variables for a command that would inherit `own`: what its owner keeps off proxies stays off. */
export function actorEnvironment(trust: ActorTrust, own: InheritedEnvironment): Readonly<Record<string, string>> {
  const noProxy = unproxiedHosts(own).join(',');
  return Object.fromEntries(actorVariables.map(({ name, value }) => [name, valueOf(value, trust, noProxy)]));
}

/** written as is in `NO_PROXY`, this entry keeps everything off the proxy (curl, Python, Go) */
const everyHost = '*';

/** whether the owner's own variables let everything go around the gateway */
export function sendsAllAround(own: InheritedEnvironment): boolean {
  return ownEntries(own).includes(everyHost);
}

const loopback = ['localhost', '127.0.0.1', '::1'];

/** clients read one of the two spellings or the other, so that each gets the entries of both */
function unproxiedHosts(own: InheritedEnvironment): readonly string[] {
  return [...new Set([...ownEntries(own), ...loopback])];
}

function ownEntries(own: InheritedEnvironment): readonly string[] {
  const given = [own['no_proxy'], own['NO_PROXY']].flatMap((list) => (list ?? '').split(','));
  return given.map((entry) => entry.trim()).filter((entry) => entry !== '');
}

function valueOf(value: ActorVariable['value'], trust: ActorTrust, noProxy: string): string {
  switch (value) {
    case 'proxy':
      return trust.proxyUrl;
    case 'no-proxy':
      return noProxy;
    case 'on':
      return '1';
    case 'anchors':
      return trust.caFile;
    case 'merged':
      return trust.mergedFile;
    case 'wgetrc':
      return trust.wgetrcFile;
    default:
      return value satisfies never;
  }
}

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
 * variables replace a client's own roots and half add to them, and the merged file is right for both.
 */
export const actorVariables: readonly ActorVariable[] = [
  { name: 'HTTPS_PROXY', value: 'proxy', readBy: 'Node, Deno, Bun, cargo, npm, PHP curl', reason: 'upper case only' },
  { name: 'https_proxy', value: 'proxy', readBy: 'wget, apt-get', reason: 'lower case only' },
  { name: 'HTTP_PROXY', value: 'proxy', readBy: 'Python, Go, Node', reason: 'plain HTTP is seen and limited too' },
  { name: 'http_proxy', value: 'proxy', readBy: 'curl, wget', reason: 'curl ignores the upper-case form for HTTP' },
  { name: 'NO_PROXY', value: 'no-proxy', readBy: 'most', reason: "loopback is the actor's own and needs no gateway" },
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

const loopback = 'localhost,127.0.0.1,::1';

export function actorEnvironment(trust: ActorTrust): Readonly<Record<string, string>> {
  return Object.fromEntries(actorVariables.map(({ name, value }) => [name, valueOf(value, trust)]));
}

function valueOf(value: ActorVariable['value'], trust: ActorTrust): string {
  switch (value) {
    case 'proxy':
      return trust.proxyUrl;
    case 'no-proxy':
      return loopback;
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

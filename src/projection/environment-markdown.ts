// docs/environment.md, made from the tables of runtimes and of clients that no variable reaches; a test holds the file equal
// to it. Pure.
import { actorRuntimes, type ActorRuntime, type ActorValue, type TrustEffect } from './actor-runtimes.ts';
import { clientFileNames } from './client-files.ts';
import { trustFilePaths } from './trust-files.ts';
import { unreachedClients } from './unreached-clients.ts';

const files = trustFilePaths('.');

const valueTexts: Readonly<Record<ActorValue, string>> = {
  proxy: "the gateway's URL",
  'no-proxy': 'loopback, and what was in it',
  on: '`1`',
  'java-options': `what was in it, then proxy host and port for http and https, \`http.nonProxyHosts\`, and \`javax.net.ssl.trustStore\` with \`${files.p12File}\``,
  anchors: `\`${files.caFile}\``,
  merged: `\`${files.mergedFile}\``,
  wgetrc: `\`${files.wgetrcFile}\``,
  'apt-conf': `\`${files.aptConfFile}\``,
  'php-folder': `what was in it, then \`:${files.phpFolder}\``,
};

const effectTexts: Readonly<Record<TrustEffect, string>> = { adds: 'adds', replaces: 'replaces', differs: 'either' };

const opening = [
  '# The environment of an actor',
  '',
  'What `leafgate run` sets for its command, and `leafgate env` prints: for this shell (`eval "$(leafgate env)"`, beside a running gateway), or for another place, whose trust folder and',
  'way to the gateway are named: `leafgate env --format k8s --dir /run/leafgate/trust --proxy http://gateway.egress.svc:3128 --around .cluster.local` prints the `env:` list of a container.',
  '`--format dotenv` is for `node --env-file` and its like, `--format json` for programs. `--without RUNTIME` (as `--without java,node`) leaves out what belongs to a runtime of the table;',
  '`--without proxy` leaves trust alone, for connections that are redirected to the gateway.',
  '',
  'Values that are files stand in the trust folder of the gateway (`gateway/trust` in the state folder):',
  '',
  '| file | what it is |',
  '|---|---|',
  `| \`${files.caFile}\` | the gateway's CAs alone, for variables that add to a client's own roots |`,
  `| \`${files.mergedFile}\` | the same with the roots of the system: right for variables that replace a client's roots and for those that add |`,
  `| \`${files.p12File}\` | the same as a trust store of Java's (PKCS#12), which opens with any password and with none |`,
  `| \`${clientFileNames.wgetrc}\`, \`${clientFileNames.aptConf}\`, \`${clientFileNames.phpIni}\` | settings for clients that read no variable for their roots; each names \`${files.mergedFile}\` |`,
  '',
  'A client that *replaces* its roots by a file trusts nothing else; one that *adds* keeps its own. About half do either, some differ by release and system, so that the merged file is given wherever one file must do.',
  '[clients.md](clients.md) shows clients at work with them, each with the least that it needs.',
  'A variable stays in force for a process until it ends: roots and proxies are read once, at the start.',
  '',
  '## Variables by runtime',
  '',
  '| runtime | variable | value | roots | read by | why |',
  '|---|---|---|---|---|---|',
];

const ownValues = [
  '',
  '## What you have set yourself',
  '',
  '- Proxy variables: the gateway takes their place, and `run` and `env` say so. `ALL_PROXY` and proxies that only one client reads stay, with a warning.',
  '- `NO_PROXY`: your entries stay, in both spellings, and loopback is added. Java gets those of them that it has a form for.',
  '- Variables that name a file of roots (`SSL_CERT_FILE`, `CURL_CA_BUNDLE`, `REQUESTS_CA_BUNDLE`, `NODE_EXTRA_CA_CERTS` and the others above): its certificates are folded into files for you alone,',
  '  in a folder for each set of own certificates beside the trust folder (`gateway/trust-with`), so that a command trusts what it did before, and no other command does. A gateway that gets a new CA renews them, but for those of a command beside a gateway whose folder is read-only, which stand in a temporary folder.',
  '  The files of `run` go when its command has ended, unless a process that it left behind was started with them; what a killed `run` left is swept by the next `up`, `run` or `env`. Those that `env` printed stay for 30 days after it was last asked for them.',
  '  Where the file cannot be read, or holds no certificate, the variable stays as it is, with a warning that names it: its clients do not trust the gateway then.',
  '- `~/.wgetrc` or the file in `WGETRC`: its lines are kept in a copy (mode 0600), a `ca_certificate` is folded in, a proxy is replaced with a warning. The file in `APT_CONFIG` is included.',
  '- `JAVA_TOOL_OPTIONS`: your options stay; the way to a proxy is replaced. A trust store of your own stays in force, with a warning: import the CA there.',
  '- `PHP_INI_SCAN_DIR`: your folders stay, before ours.',
  '- `NODE_OPTIONS`, `SSL_CERT_DIR`, `GIT_SSL_CAPATH`: not touched. Nothing is ever unset.',
];

const unreachedOpening = [
  '',
  '## What no variable reaches',
  '',
  'Clients that know of a CA file but have no variable for it are in the table above. These need something else:',
  '',
  '| client | why | what to do |',
  '|---|---|---|',
];

export function environmentMarkdown(): string {
  return [
    ...opening,
    ...actorRuntimes.flatMap(runtimeRows),
    '',
    '| runtime | tried with | to know |',
    '|---|---|---|',
    ...actorRuntimes.map(
      ({ key, title, versions, caveat }) => `| \`${key}\` ${title} | ${versions} | ${caveat ?? ''} |`,
    ),
    ...ownValues,
    ...unreachedOpening,
    ...unreachedClients.map(({ client, because, remedy }) => `| ${client} | ${because} | ${remedy} |`),
    '',
  ].join('\n');
}

function runtimeRows({ key, variables }: ActorRuntime): readonly string[] {
  return variables.map(({ name, value, effect, readBy, reason }) => {
    const roots = effect === undefined ? '' : effectTexts[effect];
    return `| \`${key}\` | \`${name}\` | ${valueTexts[value]} | ${roots} | ${readBy} | ${reason} |`;
  });
}

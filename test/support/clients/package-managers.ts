// Package managers and git, each bringing one small thing from a registry, index or repository that the origin serves: more
// than one request, and to addresses that the origin itself names.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from './client.ts';
import { goModule, shelfPaths as shelf } from './shelf.ts';

/** runs the first command, then shows what it brought */
const thenShow = (file: string, ...words: readonly string[]): readonly string[] => [
  ...['sh', '-c', 'shown=$1; shift; "$@" >&2 && cat "$shown"', 'sh', file],
  ...words,
];

const cargoProject = `[package]
name = "project"
version = "1.0.0"
edition = "2021"

[lib]
path = "lib.rs"

[dependencies]
tiny = { version = "1.0.0", registry = "origin" }
`;

/** everything in the client's home, and none of the hooks that the machine has for its own apt */
const aptConfiguration = (home: string): string => `
Dir::State "${home}/state";
Dir::State::status "${home}/status";
Dir::Cache "${home}/cache";
Dir::Etc::SourceList "${home}/sources.list";
Dir::Etc::SourceParts "/dev/null";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
Acquire::Retries "0";
Acquire::Languages "none";
`;

export const packageManagers: readonly Client[] = [
  {
    name: 'git (libcurl with GnuTLS)',
    tools: ['git'],
    version: (tool) => [tool('git'), '--version'],
    words: ({ base, home, tool }) => {
      const copy = join(home, 'copy');
      return [
        'sh',
        '-c',
        '"$1" clone --quiet "$2" "$3" && "$1" -C "$3" log',
        'sh',
        tool('git'),
        `${base}/${shelf.git}`,
        copy,
      ];
    },
    distrust: /certificate verification failed|certificate signer not trusted/i,
    reach: { kind: 'variables', proxy: ['HTTPS_PROXY'], trust: ['GIT_SSL_CAINFO'] },
  },
  {
    name: 'pip',
    tools: ['python'],
    version: (tool) => [tool('python'), '-m', 'pip', '--version'],
    words: ({ base, home, tool }) => {
      const to = ['--target', home, '--no-deps', '--retries', '0', '--index-url', `${base}/${shelf.pythonIndex}`];
      return thenShow(join(home, 'tiny.py'), tool('python'), '-m', 'pip', 'install', ...to, 'tiny');
    },
    settings: () => ({ PIP_CONFIG_FILE: '/dev/null', PIP_DISABLE_PIP_VERSION_CHECK: '1' }),
    distrust: /CERTIFICATE_VERIFY_FAILED|certificate verify failed|could not be verified|UnknownIssuer/i,
    reach: { kind: 'variables', proxy: ['HTTPS_PROXY'], trust: ['PIP_CERT'] },
  },
  {
    name: 'uv (rustls)',
    tools: ['uv', 'python'],
    version: (tool) => [tool('uv'), '--version'],
    words: ({ base, home, tool }) => {
      const to = ['--target', home, '--no-deps', '--python', tool('python')];
      const from = ['--default-index', `${base}/${shelf.pythonIndex}`, '--no-config'];
      return thenShow(join(home, 'tiny.py'), tool('uv'), 'pip', 'install', ...to, ...from, 'tiny');
    },
    settings: () => ({ UV_HTTP_RETRIES: '0' }),
    distrust: /UnknownIssuer/,
    reach: { kind: 'variables', proxy: ['HTTPS_PROXY'], trust: ['SSL_CERT_FILE'] },
  },
  {
    name: 'npm',
    tools: ['npm', 'node-24'],
    version: (tool) => [tool('node-24'), tool('npm'), '--version'],
    words: ({ base, home, tool }) => {
      const how = ['--prefix', home, '--registry', `${base}/${shelf.npmRegistry}/`, '--fetch-retries=0'];
      const quiet = ['--no-audit', '--no-fund', '--no-update-notifier'];
      const file = join(home, 'node_modules', 'tiny', 'index.js');
      return thenShow(file, tool('node-24'), tool('npm'), 'install', ...how, ...quiet, 'tiny');
    },
    distrust: /UNABLE_TO_GET_ISSUER_CERT_LOCALLY|UNABLE_TO_VERIFY_LEAF_SIGNATURE/,
    reach: { kind: 'variables', proxy: ['HTTPS_PROXY'], trust: ['npm_config_cafile'] },
  },
  {
    name: 'go mod download',
    tools: ['go'],
    version: (tool) => [tool('go'), 'version'],
    words: ({ home, tool }) => {
      const file = join(home, 'go', 'pkg', 'mod', `${goModule}@v1.0.0`, 'tiny.go');
      return thenShow(file, tool('go'), 'mod', 'download', '-modcacherw', `${goModule}@v1.0.0`);
    },
    settings: ({ base }) => ({ GOPROXY: `${base}/${shelf.goProxy}`, GOSUMDB: 'off', GOTOOLCHAIN: 'local' }),
    distrust: /certificate signed by unknown authority/,
    reach: { kind: 'variables', proxy: ['HTTPS_PROXY'], trust: ['SSL_CERT_FILE'] },
  },
  {
    name: 'cargo',
    tools: ['cargo'],
    version: (tool) => [tool('cargo'), '--version'],
    prepare: ({ home, base }) => {
      mkdirSync(join(home, '.cargo'));
      const index = `[registries.origin]\nindex = "sparse+${base}/${shelf.cargoIndex}/"\n`;
      writeFileSync(join(home, '.cargo', 'config.toml'), `${index}[net]\nretry = 0\n`);
      writeFileSync(join(home, 'Cargo.toml'), cargoProject);
      writeFileSync(join(home, 'lib.rs'), '');
    },
    words: ({ home, tool }) => thenShow(join(home, 'vendor', 'tiny', 'lib.rs'), tool('cargo'), 'vendor', '--quiet'),
    distrust: /SSL peer certificate|unable to get local issuer|SSL certificate/i,
    reach: { kind: 'variables', proxy: ['HTTPS_PROXY'], trust: ['CARGO_HTTP_CAINFO'] },
  },
  {
    name: 'apt-get',
    tools: ['apt-get', 'dpkg-deb'],
    version: (tool) => [tool('apt-get'), '--version'],
    prepare: ({ home, base }) => {
      for (const folder of ['state/lists/partial', 'cache/archives/partial']) {
        mkdirSync(join(home, folder), { recursive: true });
      }
      writeFileSync(join(home, 'status'), '');
      writeFileSync(join(home, 'own.conf'), aptConfiguration(home));
      writeFileSync(join(home, 'sources.list'), `deb [trusted=yes] ${base}/${shelf.aptRepository} ./\n`);
    },
    words: ({ home, tool }) => {
      const commands = '"$1" -c "$2" update >&2 && "$1" -c "$2" download tiny >&2 && "$3" --field tiny_1.0_all.deb';
      return ['sh', '-c', commands, 'sh', tool('apt-get'), join(home, 'own.conf'), tool('dpkg-deb')];
    },
    distrust: /certificate verification failed|certificate issuer is unknown/i,
    reach: { kind: 'variables', proxy: ['https_proxy'], trust: ['APT_CONFIG'] },
  },
];

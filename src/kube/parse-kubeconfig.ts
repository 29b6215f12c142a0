// Reads what kubeconfig files say of the current context. What leafgate cannot do, or will not, is refused in words: a
// setting that is passed over would open the wrong door. Pure.
import { resolve } from 'node:path';
import { parseDocument } from 'yaml';
import { SecretBytes } from '../secret-bytes.ts';
import { isRecord } from '../is-record.ts';
import type { Material } from './access-material.ts';
import type { AccessDescription } from './followed-access.ts';
import { kubeErrors } from './kube-errors.ts';

export type KubeconfigText = {
  readonly path: string;
  /** relative paths in the file start here */
  readonly folder: string;
  readonly text: string;
};

type Fields = Readonly<Record<string, unknown>>;
/** a named entry, and the file that it stands in */
type Entry = { readonly fields: Fields; readonly file: KubeconfigText };
type Parsed = { readonly file: KubeconfigText; readonly content: Fields };

/** Of several files the first that has an entry wins, as for kubectl. Throws `kubeconfig-…`. */
export function parseKubeconfig(files: readonly [KubeconfigText, ...KubeconfigText[]]): AccessDescription {
  const parsed = files.map(parseFile);
  const [first] = files;
  const current = parsed.map(({ content }) => content['current-context']).find((name) => isText(name));
  if (!isText(current)) throw malformed(first, 'it has no current-context');
  const context = find(parsed, { list: 'contexts', member: 'context', name: current }, first);
  const clusterName = textOf(context, 'cluster');
  if (clusterName === undefined) throw malformed(context.file, `context "${current}" names no cluster`);
  const cluster = find(parsed, { list: 'clusters', member: 'cluster', name: clusterName }, context.file);
  const userName = textOf(context, 'user');
  const user =
    userName === undefined ? undefined : find(parsed, { list: 'users', member: 'user', name: userName }, context.file);
  return {
    ...describeCluster(cluster, clusterName),
    ...(user === undefined ? { token: undefined, credential: undefined } : describeUser(user, userName ?? '')),
    namespace: textOf(context, 'namespace'),
  };
}

function parseFile(file: KubeconfigText): Parsed {
  const document = parseDocument(file.text, { prettyErrors: false });
  const [problem] = document.errors;
  // the code alone: the parser's text may quote a token
  if (problem !== undefined) throw malformed(file, `it is no YAML (${problem.code})`);
  const content: unknown = contentOf(file, () => document.toJS({ maxAliasCount: 100 }) as unknown);
  if (!isRecord(content)) throw malformed(file, 'it is no mapping');
  return { file, content };
}

function contentOf(file: KubeconfigText, read: () => unknown): unknown {
  try {
    return read();
  } catch {
    throw malformed(file, 'it has too many aliases');
  }
}

type Wanted = { readonly list: string; readonly member: string; readonly name: string };

function find(parsed: readonly Parsed[], { list, member, name }: Wanted, named: KubeconfigText): Entry {
  for (const { file, content } of parsed) {
    const entries: unknown = content[list] ?? [];
    if (!Array.isArray(entries)) throw malformed(file, `${list} is no list`);
    const found = entries.filter(isRecord).find((entry) => entry['name'] === name)?.[member];
    if (isRecord(found)) return { fields: found, file };
  }
  throw malformed(named, `it names the ${member} "${name}", which is not in it`);
}

function describeCluster(entry: Entry, name: string): Pick<AccessDescription, 'server' | 'authority' | 'serverName'> {
  const { fields, file } = entry;
  if (fields['insecure-skip-tls-verify'] === true) {
    throw kubeErrors.error('kubeconfig-insecure', { path: file.path, cluster: name });
  }
  if (isText(fields['proxy-url'])) throw unsupported(file, `a proxy for cluster "${name}"`);
  const server = textOf(entry, 'server');
  if (server === undefined) throw malformed(file, `cluster "${name}" has no server`);
  return {
    server: serverUrl(server, file, name),
    authority: materialOf(entry, 'certificate-authority'),
    serverName: textOf(entry, 'tls-server-name'),
  };
}

/** https only; a path before the API's own is kept */
function serverUrl(text: string, file: KubeconfigText, name: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (
    url?.protocol !== 'https:' ||
    url.username !== '' ||
    url.password !== '' ||
    url.search !== '' ||
    url.hash !== ''
  ) {
    throw malformed(file, `the server of cluster "${name}" is no plain https:// URL`);
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

const unsupportedOfUsers: readonly (readonly [string, string])[] = [
  ['exec', 'an exec plugin'],
  ['auth-provider', 'an auth-provider plugin'],
  ['username', 'a password'],
  ['password', 'a password'],
  ['as', 'impersonation'],
  ['as-uid', 'impersonation'],
  ['as-groups', 'impersonation'],
];

function describeUser(entry: Entry, name: string): Pick<AccessDescription, 'token' | 'credential'> {
  const { fields, file } = entry;
  const [, what] = unsupportedOfUsers.find(([member]) => (fields[member] ?? '') !== '') ?? [];
  if (what !== undefined) throw unsupported(file, `${what} for user "${name}"`);
  const certificate = materialOf(entry, 'client-certificate');
  const key = materialOf(entry, 'client-key');
  if ((certificate === undefined) !== (key === undefined)) {
    throw malformed(file, `user "${name}" has only one of client-certificate and client-key`);
  }
  const credential = certificate === undefined || key === undefined ? undefined : { certificate, key };
  return { token: tokenOf(entry, name), credential };
}

/** the file wins over the text, as for kubectl: it is the one that is renewed */
function tokenOf(entry: Entry, name: string): Material | undefined {
  const path = textOf(entry, 'tokenFile');
  if (path !== undefined) return { kind: 'file', path: resolve(entry.file.folder, path) };
  const token = textOf(entry, 'token');
  return token === undefined ? undefined : given(Buffer.from(token), `${entry.file.path}, user "${name}"`);
}

/** the -data member wins over the file, as for kubectl */
function materialOf(entry: Entry, member: string): Material | undefined {
  const data = textOf(entry, `${member}-data`);
  if (data !== undefined) {
    const bytes = Buffer.from(data, 'base64');
    if (bytes.length === 0 || !/^[A-Za-z0-9+/=\s]+$/.test(data))
      throw malformed(entry.file, `${member}-data is no base64`);
    return given(bytes, `${entry.file.path}, ${member}-data`);
  }
  const path = textOf(entry, member);
  return path === undefined ? undefined : { kind: 'file', path: resolve(entry.file.folder, path) };
}

function given(bytes: Uint8Array, source: string): Material {
  return { kind: 'given', bytes: new SecretBytes(bytes), source };
}

function textOf({ fields, file }: Entry, member: string): string | undefined {
  const value = fields[member] ?? undefined;
  if (value === undefined || value === '') return undefined;
  if (typeof value !== 'string') throw malformed(file, `${member} is no text`);
  return value;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function malformed({ path }: KubeconfigText, reason: string): Error {
  return kubeErrors.error('kubeconfig-malformed', { path, reason });
}

function unsupported({ path }: KubeconfigText, what: string): Error {
  return kubeErrors.error('kubeconfig-unsupported', { path, what });
}

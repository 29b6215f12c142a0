// What a command would trust without the gateway: the files of roots that its owner's variables name, and his settings for
// wget and apt. What can be read is folded into files of its own; a variable whose file cannot be read stays as it is. Must
// not know where the files are written.
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readRegularFile } from '../read-regular-file.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { actorRuntimes } from './actor-runtimes.ts';
import { canStandIn } from './client-files.ts';
import type { InheritedEnvironment } from './no-proxy.ts';
import { readOwnWgetrc } from './own-wgetrc.ts';
import { parseRoots } from './system-roots.ts';
import { aptConfOfOwner, type OwnTrust } from './write-own-trust.ts';

export type OwnTrustRequest = {
  readonly own: InheritedEnvironment;
  /** keys of runtimes whose variables stay as they are anyway */
  readonly without: ReadonlySet<string>;
  /** the gateway's: a variable that names a file of ours already is no own one */
  readonly trustDir: string;
};

export type ReadOwnTrust = {
  readonly trust: OwnTrust;
  /** variables that stay as their owner has them */
  readonly left: ReadonlySet<string>;
  readonly warnings: readonly string[];
};

/** Never rejects. */
export async function readOwnTrust(request: OwnTrustRequest): Promise<ReadOwnTrust> {
  const found = createFindings();
  const variables = actorRuntimes
    .filter(({ key }) => !request.without.has(key))
    .flatMap(({ variables: all }) => all)
    .map(({ name, value }) => ({ name, value, path: request.own[name] ?? '' }));
  for (const { name, value, path } of variables) {
    if (path === '') continue;
    if (value === 'anchors') found.addAnchors(await found.readRoots(name, path));
    if (value === 'merged') found.addMerged(await found.readRoots(name, path));
  }
  const has = (runtime: string): boolean => !request.without.has(runtime);
  const wgetrc = has('wget') ? await readWgetrc(request, found) : '';
  const aptConf = has('apt') ? await findAptConf(request, found) : undefined;
  return {
    trust: {
      anchors: found.anchors(),
      merged: found.merged(),
      wgetrc,
      ...(aptConf === undefined ? {} : { aptConf }),
    },
    left: found.left,
    warnings: found.warnings,
  };
}

type Findings = {
  readonly left: Set<string>;
  readonly warnings: string[];
  anchors(): readonly Certificate[];
  merged(): readonly Certificate[];
  addAnchors(certificates: readonly Certificate[]): void;
  addMerged(certificates: readonly Certificate[]): void;
  readRoots(name: string, path: string): Promise<readonly Certificate[]>;
};

/** larger than any bundle of roots seen, by far */
const maxRootsBytes = 16 * 1024 * 1024;

function createFindings(): Findings {
  const left = new Set<string>();
  const warnings: string[] = [];
  const anchors = new Map<string, Certificate>();
  const merged = new Map<string, Certificate>();
  // many variables name one and the same file
  const read = new Map<string, ReturnType<typeof readRootsFile>>();
  const addTo = (all: Map<string, Certificate>, certificates: readonly Certificate[]): void => {
    for (const certificate of certificates) all.set(certificate.sha256, certificate);
  };
  return {
    left,
    warnings,
    anchors: () => [...anchors.values()],
    merged: () => [...merged.values()],
    addAnchors: (certificates) => {
      addTo(anchors, certificates);
      addTo(merged, certificates);
    },
    addMerged: (certificates) => addTo(merged, certificates),
    readRoots: async (name, path) => {
      const isFirst = !read.has(path);
      const reading = read.get(path) ?? readRootsFile(path);
      read.set(path, reading);
      const { certificates, skipped, reason } = await reading;
      if (reason !== undefined) {
        left.add(name);
        warnings.push(`${name} stays as it is, without the gateway's CA: ${path}: ${reason}`);
      } else if (skipped > 0 && isFirst) {
        warnings.push(`${skipped} of the certificates in ${path} (${name}) cannot be read, and are left out`);
      }
      return certificates;
    },
  };
}

type RootsFile = ReturnType<typeof parseRoots> & { readonly reason?: string };

async function readRootsFile(path: string): Promise<RootsFile> {
  const nothing = { certificates: [], skipped: 0 };
  const content = await readRegularFile(path, maxRootsBytes);
  switch (content.kind) {
    case 'unreadable':
      return { ...nothing, reason: content.reason };
    case 'too-large':
      return { ...nothing, reason: `it has more than ${maxRootsBytes} bytes` };
    case 'bytes': {
      const roots = parseRoots(Buffer.from(content.bytes).toString('latin1'));
      return roots.certificates.length > 0 ? roots : { ...nothing, reason: 'it holds no certificate' };
    }
    default:
      return content satisfies never;
  }
}

const maxWgetrcBytes = 256 * 1024;

/** the file of the variable, else the one in the home folder, as wget looks for it */
async function readWgetrc({ own, without }: OwnTrustRequest, found: Findings): Promise<string> {
  const named = own['WGETRC'] ?? '';
  const path = named === '' ? join(own['HOME'] ?? '/', '.wgetrc') : named;
  if (named === '' && !existsSync(path)) return '';
  const content = await readRegularFile(path, maxWgetrcBytes);
  if (content.kind !== 'bytes') {
    found.left.add('WGETRC');
    const reason = content.kind === 'unreadable' ? content.reason : 'it is too large';
    found.warnings.push(`wget keeps its settings, without the gateway's CA: ${path}: ${reason}`);
    return '';
  }
  const text = Buffer.from(content.bytes).toString('utf8');
  const { kept, caFile, proxies } = readOwnWgetrc(text, without.has('proxy'));
  if (proxies.length > 0) found.warnings.push(`the gateway takes the place of ${proxies.join(', ')} in ${path}`);
  if (caFile !== undefined) found.addMerged(await found.readRoots('WGETRC', caFile));
  return kept;
}

async function findAptConf(
  { own, trustDir }: OwnTrustRequest,
  { left, warnings }: Findings,
): Promise<string | undefined> {
  const named = own['APT_CONFIG'] ?? '';
  if (named === '') return undefined;
  const path = resolve(named);
  const written = await aptConfOfOwner(path, trustDir);
  if (written !== undefined) return written === '' ? undefined : written;
  if (existsSync(path) && canStandIn.aptConf(path)) return path;
  left.add('APT_CONFIG');
  warnings.push(`APT_CONFIG stays as it is, without the gateway's CA: ${path} cannot be included`);
  return undefined;
}

// What the origin has for package managers, each thing as small as its client accepts: a git repository, a Python index, an
// npm registry, a Go module proxy, a sparse cargo index, an apt repository. Made with the tools' own packers.
import { createHash } from 'node:crypto';
import { createReadStream, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { dirname, join, normalize } from 'node:path';
import { runCommand } from '../run-command.ts';
import { scrubbedEnvironment } from '../scrubbed-environment.ts';
import type { ToolName } from '../tools.ts';
import { originMark } from './client.ts';

export const goModule = 'origin.test/tiny';

/** below the folder of the shelf, and below the path of each run of a client */
export const shelfPaths = {
  git: 'project.git',
  pythonIndex: 'python',
  npmRegistry: 'npm',
  goProxy: 'go',
  cargoIndex: 'cargo',
  aptRepository: 'apt',
} as const;

/** stands in JSON for the address under which the origin was asked */
const base = '{{base}}';

type Shelf = { readonly root: string; readonly work: string; readonly tool: (name: ToolName) => string };

export const shelfTools = ['dpkg-deb', 'git', 'python', 'tar'] as const;

export async function stockShelf(shelf: Shelf): Promise<void> {
  await stockGit(shelf);
  await stockPython(shelf);
  await stockNpm(shelf);
  await stockGo(shelf);
  await stockCargo(shelf);
  await stockApt(shelf);
}

/** `/RUN/CLIENT/mark` is the mark, `/RUN/CLIENT/…` is from the shelf */
export function answerFromShelf(root: string, request: IncomingMessage, response: ServerResponse): void {
  const { pathname } = new URL(request.url ?? '/', 'https://any.invalid');
  const [, run = '', client = '', ...rest] = pathname.split('/');
  const path = normalize(`/${rest.map(decodeURIComponent).join('/')}`);
  const found = ['', '.json', '/index.html']
    .map((end) => join(root, path + end))
    .find((file) => statSync(file, { throwIfNoEntry: false })?.isFile() ?? false);
  if (path === '/mark') {
    response.end(`${originMark}\n`);
  } else if (found === undefined) {
    response.writeHead(404).end();
  } else if (found.endsWith('.json')) {
    const asked = `https://${request.headers.host ?? ''}/${run}/${client}`;
    response.setHeader('content-type', 'application/json').end(readFileSync(found, 'utf8').replaceAll(base, asked));
  } else {
    if (found.endsWith('.html')) response.setHeader('content-type', 'text/html');
    createReadStream(found).pipe(response);
  }
}

async function stockGit({ root, work, tool }: Shelf): Promise<void> {
  const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.invalid'];
  const bare = join(root, shelfPaths.git);
  const git = (...args: readonly string[]) => pack(work, [tool('git'), ...args]);
  await git('init', '--quiet', '--initial-branch=main', 'repository');
  await git('-C', 'repository', ...identity, 'commit', '--quiet', '--allow-empty', '-m', originMark);
  await git('clone', '--quiet', '--bare', 'repository', bare);
  // for the protocol that needs files alone (gitprotocol-http(5), dumb clients)
  await git('-C', bare, 'update-server-info');
}

/** a simple index (PEP 503) and a wheel (PEP 427) */
async function stockPython({ root, work, tool }: Shelf): Promise<void> {
  const wheel = 'tiny-1.0-py3-none-any.whl';
  const about = 'tiny-1.0.dist-info';
  write(work, 'wheel/tiny.py', `# ${originMark}\n`);
  write(work, `wheel/${about}/METADATA`, 'Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n');
  write(
    work,
    `wheel/${about}/WHEEL`,
    'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
  );
  write(work, `wheel/${about}/RECORD`, `tiny.py,,\n${about}/METADATA,,\n${about}/WHEEL,,\n${about}/RECORD,,\n`);
  write(root, `${shelfPaths.pythonIndex}/tiny/index.html`, `<!doctype html><a href="${wheel}">${wheel}</a>\n`);
  const target = join(root, shelfPaths.pythonIndex, 'tiny', wheel);
  await pack(join(work, 'wheel'), [tool('python'), '-m', 'zipfile', '-c', target, 'tiny.py', about]);
}

async function stockNpm({ root, work, tool }: Shelf): Promise<void> {
  const manifest = { name: 'tiny', version: '1.0.0', main: 'index.js' };
  write(work, 'npm/package/package.json', JSON.stringify(manifest));
  write(work, 'npm/package/index.js', `// ${originMark}\n`);
  const archive = `${shelfPaths.npmRegistry}/tiny-1.0.0.tgz`;
  write(root, archive, '');
  await pack(join(work, 'npm'), [tool('tar'), '-czf', join(root, archive), 'package']);
  const integrity = `sha512-${digest('sha512', join(root, archive), 'base64')}`;
  const version = { ...manifest, dist: { tarball: `${base}/${archive}`, integrity } };
  const document = { name: 'tiny', 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': version } };
  write(root, `${shelfPaths.npmRegistry}/tiny.json`, JSON.stringify(document));
}

/** the protocol of module proxies: https://go.dev/ref/mod#goproxy-protocol */
async function stockGo({ root, work, tool }: Shelf): Promise<void> {
  const inside = `${goModule}@v1.0.0`;
  const at = `${shelfPaths.goProxy}/${goModule}/@v/v1.0.0`;
  const goMod = `module ${goModule}\n\ngo 1.20\n`;
  write(work, `go/${inside}/go.mod`, goMod);
  write(work, `go/${inside}/tiny.go`, `// ${originMark}\npackage tiny\n`);
  write(root, `${at}.info`, JSON.stringify({ Version: 'v1.0.0', Time: '2026-01-01T00:00:00Z' }));
  write(root, `${at}.mod`, goMod);
  // Python's zipfile writes entries for folders, which Go refuses
  const files = ['go.mod', 'tiny.go'].map((name) => `${inside}/${name}`);
  const code = 'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1], "w"); [z.write(name) for name in sys.argv[2:]]';
  await pack(join(work, 'go'), [tool('python'), '-c', code, join(root, `${at}.zip`), ...files]);
}

/** a sparse index: https://doc.rust-lang.org/cargo/reference/registry-index.html */
async function stockCargo({ root, work, tool }: Shelf): Promise<void> {
  const at = shelfPaths.cargoIndex;
  write(work, 'cargo/tiny-1.0.0/Cargo.toml', '[package]\nname = "tiny"\nversion = "1.0.0"\n[lib]\npath = "lib.rs"\n');
  write(work, 'cargo/tiny-1.0.0/lib.rs', `// ${originMark}\n`);
  write(root, `${at}/crates/tiny/1.0.0/download`, '');
  const archive = join(root, at, 'crates', 'tiny', '1.0.0', 'download');
  await pack(join(work, 'cargo'), [tool('tar'), '-czf', archive, 'tiny-1.0.0']);
  write(root, `${at}/config.json`, JSON.stringify({ dl: `${base}/${at}/crates` }));
  const entry = { name: 'tiny', vers: '1.0.0', deps: [], features: {}, yanked: false };
  write(root, `${at}/ti/ny/tiny`, `${JSON.stringify({ ...entry, cksum: digest('sha256', archive, 'hex') })}\n`);
}

/** a flat repository: https://wiki.debian.org/DebianRepository/Format */
async function stockApt({ root, work, tool }: Shelf): Promise<void> {
  const control = `Package: tiny\nVersion: 1.0\nArchitecture: all\nMaintainer: Test\nDescription: ${originMark}\n`;
  write(work, 'apt/DEBIAN/control', control);
  const archive = join(root, shelfPaths.aptRepository, 'tiny_1.0_all.deb');
  write(root, `${shelfPaths.aptRepository}/tiny_1.0_all.deb`, '');
  await pack(work, [tool('dpkg-deb'), '--root-owner-group', '--build', 'apt', archive]);
  const size = statSync(archive).size;
  const about = `Filename: ./tiny_1.0_all.deb\nSize: ${size}\nSHA256: ${digest('sha256', archive, 'hex')}\n`;
  write(root, `${shelfPaths.aptRepository}/Packages`, control + about);
  const packages = join(root, shelfPaths.aptRepository, 'Packages');
  const sum = ` ${digest('sha256', packages, 'hex')} ${statSync(packages).size} Packages`;
  const release = `Date: ${new Date().toUTCString()}\nArchitectures: all\nSHA256:\n${sum}\n`;
  write(root, `${shelfPaths.aptRepository}/Release`, release);
}

function write(folder: string, name: string, text: string): void {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function digest(algorithm: string, path: string, encoding: 'hex' | 'base64'): string {
  return createHash(algorithm).update(readFileSync(path)).digest(encoding);
}

async function pack(cwd: string, [command = '', ...args]: readonly string[]): Promise<void> {
  mkdirSync(cwd, { recursive: true });
  const { status, stderr } = await runCommand(command, args, { env: scrubbedEnvironment(cwd), cwd });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`);
}

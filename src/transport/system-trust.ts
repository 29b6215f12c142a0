// The roots of the machine, as a file: what a process that was told nothing trusts. Not the roots built into Node, which
// are a second set of their own, and not SSL_CERT_FILE, which in an actor names the gateway's own bundle.
import { access, constants } from 'node:fs/promises';
import { systemRootFiles } from '../x509/system-root-files.ts';
import { createTrustFile } from './trust-file.ts';
import type { TrustFile } from './trust-file.ts';
import { transportErrors } from './transport-errors.ts';

export type SystemTrustOptions = {
  /** a file that stands for the system's roots because a person said so */
  readonly rootsFile?: string;
  readonly serverName?: string;
  /** for tests; else the files above */
  readonly candidates?: readonly string[];
};

/** The file is found once, its content read at each use; `path` says which it is. Throws `trust-no-system-roots`. */
export async function systemTrust(options: SystemTrustOptions = {}): Promise<TrustFile> {
  const path = options.rootsFile ?? (await firstReadable(options.candidates ?? systemRootFiles));
  return createTrustFile({ path, ...(options.serverName === undefined ? {} : { serverName: options.serverName }) });
}

async function firstReadable(paths: readonly string[]): Promise<string> {
  for (const path of paths) {
    if (await isReadable(path)) return path;
  }
  throw transportErrors.error('trust-no-system-roots', { paths: paths.join(', ') });
}

async function isReadable(path: string): Promise<boolean> {
  try {
    await access(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

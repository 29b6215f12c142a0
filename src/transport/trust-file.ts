// A server trust that lives in a file: read again at each use, parsed again only when its bytes have changed, so that a
// rotated bundle takes effect without a restart. A file that went bad is an error, never an older trust: whoever asks
// wants to know what a process that starts now would trust.
import { readFile } from 'node:fs/promises';
import { systemReason } from '../system-error.ts';
import { parseServerTrust } from './server-trust.ts';
import type { ServerTrust } from './server-trust.ts';
import { transportErrors } from './transport-errors.ts';

export interface TrustFile {
  readonly path: string;
  /** throws `trust-file-unreadable` and what parseServerTrust throws */
  current(): Promise<ServerTrust>;
}

export type TrustFileOptions = { readonly path: string; readonly serverName?: string };

export function createTrustFile({ path, serverName }: TrustFileOptions): TrustFile {
  let last: { readonly bytes: Uint8Array; readonly trust: ServerTrust } | undefined;
  return {
    path,
    current: async () => {
      const bytes = await readTrustFile(path);
      if (last !== undefined && Buffer.compare(last.bytes, bytes) === 0) return last.trust;
      const name = serverName === undefined ? {} : { serverName };
      last = { bytes, trust: parseServerTrust({ bundle: bytes, source: path, ...name }) };
      return last.trust;
    },
  };
}

async function readTrustFile(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw transportErrors.error('trust-file-unreadable', { path, detail: systemReason(cause) }, cause);
  }
}

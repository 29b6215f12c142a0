// Where one running gateway keeps its files. Sockets stand apart when the folder's path is too long for a socket.
// Must not know what is written there.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeFolder } from '../make-folder.ts';
import { maxSocketPathBytes } from '../socket-path.ts';

export type GatewayFolder = {
  readonly dir: string;
  readonly socketDir: string;
  readonly sdsSocket: string;
  readonly adminSocket: string;
  readonly healthSocket: string;
  readonly selfCheckSocket: string;
  readonly selfCheckCaFile: string;
  readonly renderedDir: string;
  /** what origins are verified with, in a folder of its own, which Envoy watches */
  readonly originRoots: string;
  /** moves into it tell Envoy to read certificates anew */
  readonly reloadDir: string;
  /** the files that clients use: a path here stays the same for as long as the state folder lives */
  readonly trustDir: string;
  readonly accessLog: string;
  /** the rules that decide now, as a policy file */
  readonly policyInForce: string;
  /** removes the sockets' folder where that is a temporary one */
  readonly removeTemporary: () => void;
};

export const longestSocketName = 'self-check.sock';

/** Makes the folders, all 0700. */
export function makeGatewayFolder(dir: string): GatewayFolder {
  const folders = {
    renderedDir: join(dir, 'envoy'),
    reloadDir: join(dir, 'reload'),
    trustDir: gatewayTrustDir(dir),
  };
  const originRootsDir = join(dir, 'origin-roots');
  for (const folder of [dir, originRootsDir, ...Object.values(folders)]) makeFolder(folder, 0o700);
  const isTooLong = Buffer.byteLength(join(dir, longestSocketName)) > maxSocketPathBytes;
  const socketDir = isTooLong ? mkdtempSync(join(tmpdir(), 'leafgate-')) : dir;
  return {
    dir,
    socketDir,
    ...folders,
    originRoots: join(originRootsDir, 'roots.pem'),
    sdsSocket: join(socketDir, 'sds.sock'),
    adminSocket: join(socketDir, 'admin.sock'),
    healthSocket: join(socketDir, 'health.sock'),
    selfCheckSocket: join(socketDir, longestSocketName),
    selfCheckCaFile: join(dir, 'self-check-ca.pem'),
    accessLog: accessLogPath(dir),
    policyInForce: join(dir, 'policy-in-force.json'),
    removeTemporary: () => {
      if (isTooLong) rmSync(socketDir, { recursive: true, force: true });
    },
  };
}

export function accessLogPath(dir: string): string {
  return join(dir, 'access.json');
}

export function gatewayTrustDir(dir: string): string {
  return join(dir, 'trust');
}

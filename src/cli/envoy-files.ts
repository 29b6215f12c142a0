// Writes what the generator made for Envoy, and the roots that origins are verified with, into the gateway's folder.
import { join } from 'node:path';
import { generateEnvoyFiles } from '../bootstrap/generate-envoy-files.ts';
import type { Pool } from '../pool/pool-types.ts';
import type { GatewaySpec } from '../settings/gateway-spec.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { encodeCertificatesPem } from '../x509/pem.ts';
import { makeFolder } from '../make-folder.ts';
import { replaceFile } from '../replace-file.ts';
import { cliErrors } from './cli-errors.ts';

/** Writes all rendered files and returns the path of the bootstrap. */
export async function writeEnvoyFiles(spec: GatewaySpec): Promise<string> {
  const { files, bootstrapFile } = generateEnvoyFiles(spec);
  const { renderedDir } = spec.paths;
  makeFolder(renderedDir, 0o700);
  for (const [name, text] of files) await replaceFile(join(renderedDir, name), text, 0o600);
  return join(renderedDir, bootstrapFile);
}

/**
 * The roots for origins: the system's and the given ones, without any CA of this pool. Whoever installed the gateway's
 * CA in the system must not make the gateway accept an origin that somebody signed with it.
 */
export function originRoots(
  system: readonly Certificate[],
  given: readonly Certificate[],
  pool: Pool,
): readonly Certificate[] {
  const own = ownCertificates(pool);
  const roots = new Map<string, Certificate>();
  for (const root of [...system, ...given]) if (!own.has(root.sha256)) roots.set(root.sha256, root);
  return [...roots.values()];
}

/** @throws origin-ca-is-gateway */
export function checkOriginCas(given: readonly Certificate[], file: string, pool: Pool): void {
  const own = ownCertificates(pool);
  if (given.some((root) => own.has(root.sha256))) throw cliErrors.error('origin-ca-is-gateway', { file });
}

/** an empty file would be no roots at all to Envoy, which refuses it: origins then fail closed, each with its reason */
export async function writeOriginRoots(dir: string, roots: readonly Certificate[]): Promise<void> {
  await replaceFile(join(dir, 'roots.pem'), encodeCertificatesPem(roots), 0o600);
}

function ownCertificates(pool: Pool): ReadonlySet<string> {
  return new Set(pool.cas.flatMap((ca) => [ca.anchor, ...ca.intermediates].map((certificate) => certificate.sha256)));
}

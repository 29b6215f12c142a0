// Writes what the generator made for Envoy, and the roots that origins are verified with, into the gateway's folder.
import { join } from 'node:path';
import { generateEnvoyFiles } from '../bootstrap/generate-envoy-files.ts';
import { readableFiles } from '../bootstrap/readable-files.ts';
import { ownCertificates, publicKeyDigest } from '../pool/origin-roots.ts';
import type { Pool } from '../pool/pool-types.ts';
import type { GatewaySpec } from '../settings/gateway-spec.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { encodeCertificatesPem } from '../x509/pem.ts';
import { makeFolder } from '../make-folder.ts';
import { replaceFile } from '../replace-file.ts';
import { cliErrors } from './cli-errors.ts';

/** Writes all rendered files and returns the path of the bootstrap. */
export async function writeEnvoyFiles(spec: GatewaySpec): Promise<string> {
  const { files, bootstrapFile } = generateEnvoyFiles(spec, readableFiles);
  const { renderedDir } = spec.paths;
  makeFolder(renderedDir, 0o700);
  for (const [name, text] of files) await replaceFile(join(renderedDir, name), text, 0o600);
  return join(renderedDir, bootstrapFile);
}

/** @throws origin-ca-is-gateway */
export function checkOriginCas(given: readonly Certificate[], file: string, pool: Pool): void {
  const own = new Set(ownCertificates(pool).map(publicKeyDigest));
  if (given.some((root) => own.has(publicKeyDigest(root)))) throw cliErrors.error('origin-ca-is-gateway', { file });
}

/** an empty file would be no roots at all to Envoy, which refuses it: origins then fail closed, each with its reason */
export async function writeOriginRoots(path: string, roots: readonly Certificate[]): Promise<void> {
  await replaceFile(path, encodeCertificatesPem(roots), 0o600);
}

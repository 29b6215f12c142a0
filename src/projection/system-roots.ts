// The root certificates of this machine, read leniently: distributions ship what a strict reader refuses (comments,
// negative serials), and one odd root must not cost all others. Must not know what they are merged with.
import { readFile } from 'node:fs/promises';
import { rootCertificates } from 'node:tls';
import { systemReason } from '../system-error.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { readCertificate } from '../x509/read-certificate.ts';
import { systemRootFiles } from '../x509/system-root-files.ts';
import { projectionErrors } from './projection-errors.ts';

export type SystemRoots = {
  /** the file, or undefined when the roots built into Node were taken because no file was found */
  readonly path: string | undefined;
  readonly certificates: readonly Certificate[];
  /** blocks that could not be read and were left out */
  readonly skipped: number;
};

export type ReadSystemRootsOptions = {
  /** when given, its SSL_CERT_FILE comes first; leave it out where a gateway's own CA might be in that file */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly files?: readonly string[];
};

/** Never fails for want of a file: a machine without one (a slim image) gets Node's own copy of Mozilla's roots. */
export async function readSystemRoots(options: ReadSystemRootsOptions = {}): Promise<SystemRoots> {
  const chosen = options.env?.['SSL_CERT_FILE'] ?? '';
  if (chosen !== '') return readChosen(chosen);
  for (const path of options.files ?? systemRootFiles) {
    const text = await readFile(path, 'latin1').catch(() => '');
    const roots = parseRoots(text);
    if (roots.certificates.length > 0) return { path, ...roots };
  }
  return { path: undefined, ...parseRoots(rootCertificates.join('\n')) };
}

const certificateBlock = /-----BEGIN ((?:X509 |TRUSTED )?CERTIFICATE)-----([\s\S]*?)-----END \1-----/g;

/** Every certificate that can be read; a duplicate (by DER) is kept once. */
export function parseRoots(text: string): Pick<SystemRoots, 'certificates' | 'skipped'> {
  const bySha256 = new Map<string, Certificate>();
  let skipped = 0;
  for (const [, label, body = ''] of text.matchAll(certificateBlock)) {
    const certificate = label === 'TRUSTED CERTIFICATE' ? undefined : tryRead(body);
    if (certificate === undefined) skipped += 1;
    else bySha256.set(certificate.sha256, certificate);
  }
  return { certificates: [...bySha256.values()], skipped };
}

function tryRead(body: string): Certificate | undefined {
  try {
    return readCertificate(new Uint8Array(Buffer.from(body, 'base64')));
  } catch {
    return undefined;
  }
}

async function readChosen(path: string): Promise<SystemRoots> {
  const text = await readFile(path, 'latin1').catch((thrown: unknown) => {
    throw projectionErrors.error('roots-file-unusable', { path, detail: systemReason(thrown) }, thrown);
  });
  const roots = parseRoots(text);
  if (roots.certificates.length > 0) return { path, ...roots };
  throw projectionErrors.error('roots-file-unusable', { path, detail: `${roots.skipped} blocks could not be read` });
}

// The pieces of an access as they stand in files or in a kubeconfig, read and checked: a token, a trust, a client
// certificate. No error carries their bytes.
import type { EpochMs } from '../clock.ts';
import { readRegularFile } from '../read-regular-file.ts';
import { SecretBytes } from '../secret-bytes.ts';
import { parseClientCredential } from '../transport/client-credential.ts';
import type { ClientCredential } from '../transport/client-credential.ts';
import { parseServerTrust } from '../transport/server-trust.ts';
import type { ServerTrust } from '../transport/server-trust.ts';
import { kubeErrors } from './kube-errors.ts';

/** bytes that are given, or a file that may change; `source` is what errors call them */
export type Material =
  | { readonly kind: 'given'; readonly bytes: SecretBytes; readonly source: string }
  | { readonly kind: 'file'; readonly path: string };

/** a token has about 1 KiB, a bundle of CAs a few hundred */
const maxFileBytes = 4 * 1024 * 1024;

type Content = { readonly bytes: Uint8Array; readonly source: string };

export async function readToken(material: Material): Promise<SecretBytes> {
  const { bytes, source } = await contentOf(material);
  const text = Buffer.from(bytes).toString('latin1').trim();
  if (text === '') throw kubeErrors.error('kube-token-invalid', { source, reason: 'is empty' });
  // what else an HTTP header cannot carry is no token (RFC 6750 2.1)
  if (!/^[\x21-\x7e]+$/.test(text)) {
    throw kubeErrors.error('kube-token-invalid', { source, reason: 'has characters that no token has' });
  }
  return new SecretBytes(Buffer.from(text, 'latin1'));
}

export async function readTrust(material: Material, serverName: string | undefined): Promise<ServerTrust> {
  const { bytes, source } = await contentOf(material);
  return parseServerTrust({ bundle: bytes, source, ...(serverName === undefined ? {} : { serverName }) });
}

export async function readCredential(certificate: Material, key: Material, now: EpochMs): Promise<ClientCredential> {
  const [shown, secret] = await Promise.all([contentOf(certificate), contentOf(key)]);
  const texts = {
    certificate: { text: shown.bytes, source: shown.source },
    key: { text: secret.bytes, source: secret.source },
  };
  return parseClientCredential(texts, now);
}

async function contentOf(material: Material): Promise<Content> {
  if (material.kind === 'given') return { bytes: material.bytes.reveal(), source: material.source };
  const { path } = material;
  const content = await readRegularFile(path, maxFileBytes);
  switch (content.kind) {
    case 'bytes':
      return { bytes: content.bytes, source: path };
    case 'too-large':
      throw kubeErrors.error('kube-file-unreadable', { path, reason: `it has more than ${maxFileBytes} bytes` });
    case 'unreadable':
      throw kubeErrors.error('kube-file-unreadable', { path, reason: content.reason });
    default:
      return content satisfies never;
  }
}

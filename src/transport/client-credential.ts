// What we show a server that asks who we are: a certificate with its chain and the key, checked once. Connections that
// show one are kept apart from those that show another, or none. Must not know sockets.
import { createHash } from 'node:crypto';
import type { EpochMs } from '../clock.ts';
import { SecretBytes } from '../secret-bytes.ts';
import { examineCredential } from '../x509/examine-credential.ts';
import type { CredentialTexts } from '../x509/examine-credential.ts';

export class ClientCredential {
  /** leaf first, then its chain */
  readonly certificatePem: string;
  readonly keyPem: SecretBytes;
  /** lower-case hex over certificate and key: equal credentials may share a connection */
  readonly sha256: string;

  constructor(certificatePem: string, keyPem: SecretBytes) {
    this.certificatePem = certificatePem;
    this.keyPem = keyPem;
    const certificateSha256 = createHash('sha256').update(certificatePem).digest('hex');
    // the first digest has a fixed length, so no two pairs hash the same bytes
    this.sha256 = createHash('sha256').update(`${certificateSha256}\n`).update(keyPem.reveal()).digest('hex');
    Object.freeze(this);
  }
}

/** Throws one error with every fault: unreadable, expired, not for clients, a key that belongs to another certificate. */
export function parseClientCredential(texts: CredentialTexts, now: EpochMs): ClientCredential {
  examineCredential(texts, { purpose: 'clientAuth', now });
  const certificatePem = Buffer.from(texts.certificate.text).toString('latin1');
  return new ClientCredential(certificatePem, new SecretBytes(Uint8Array.from(texts.key.text)));
}

// Reads private keys. Neither the bytes nor OpenSSL's text about them ever reach an error: a parser's message may quote
// what it read.
import { createPrivateKey, type KeyObject } from 'node:crypto';
import { LeafgateError } from '../errors.ts';
import type { SecretBytes } from '../secret-bytes.ts';
import { parseDer } from './der-reader.ts';
import { x509Errors } from './x509-errors.ts';

/** An RSA-4096 key in PKCS#8 has about 2.4 KiB. */
const maxKeyBytes = 16 * 1024;

export type PrivateKeyEncoding = 'pkcs8' | 'pkcs1' | 'sec1';

/** Throws `private-key-unreadable`; the key is one strict DER value with nothing after it. */
export function privateKeyFromPkcs8(secret: SecretBytes): KeyObject {
  return privateKeyFromDer(secret, 'pkcs8');
}

export function privateKeyFromDer(secret: SecretBytes, encoding: PrivateKeyEncoding): KeyObject {
  const bytes = secret.reveal();
  if (bytes.length > maxKeyBytes) throw unreadable(`it is larger than ${maxKeyBytes} bytes`);
  try {
    parseDer(bytes);
  } catch (thrown) {
    throw unreadable(LeafgateError.from(thrown).message);
  }
  try {
    return createPrivateKey({ key: Buffer.from(bytes), format: 'der', type: encoding });
  } catch {
    throw unreadable(`OpenSSL does not accept it as ${encoding.toUpperCase()}`);
  }
}

const encodings: readonly PrivateKeyEncoding[] = ['pkcs8', 'pkcs1', 'sec1'];

/** Whether the bytes are a private key, in any encoding: they must then go nowhere. */
export function isPrivateKey(bytes: Uint8Array): boolean {
  return bytes.length <= maxKeyBytes && encodings.some((type) => isReadable(bytes, type));
}

/** the shortest, an Ed25519 key, has 48 bytes */
const shortestKeyText = 64;

/** what is left of a key from which some characters were lost: nobody can read it, and most of it is there */
const longBase64 = new RegExp(`[A-Za-z0-9+/]{${shortestKeyText},}`, 'g');

/** Whether a short text is a private key in PEM or base64, whole or torn: such as in a field beside the one where it belongs. */
export function holdsPrivateKey(text: string): boolean {
  if (text.includes('PRIVATE KEY')) return true;
  if (text.length >= shortestKeyText && isPrivateKey(Buffer.from(text, 'base64'))) return true;
  // a digest in hex is as long, and has letters of one case
  return (text.match(longBase64) ?? []).some((run) => /[a-z]/.test(run) && /[A-Z]/.test(run));
}

function isReadable(bytes: Uint8Array, type: PrivateKeyEncoding): boolean {
  try {
    createPrivateKey({ key: Buffer.from(bytes), format: 'der', type });
    return true;
  } catch {
    return false;
  }
}

function unreadable(reason: string): LeafgateError {
  return x509Errors.error('private-key-unreadable', { reason });
}

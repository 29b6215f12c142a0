// Finds a private key wherever it hides in what should be certificates: under its own label, whole or torn, as base64
// without one, in a block that calls itself a certificate, encrypted too. Gives its line and nothing else of it. Must not
// know what becomes of the text.
import { derTags, DerReader, objectIdText } from './der-reader.ts';
import { isPrivateKey } from './private-key.ts';

/** The line of the first sign of a key; one character a byte (latin1). */
export function findPrivateKey(text: string): number | undefined {
  // UTF-16 has a NUL beside each letter
  const plain = text.replaceAll('\0', '');
  const found = [plain.search(marker), findEncodedKey(plain)].filter((offset) => offset >= 0);
  return found.length === 0 ? undefined : lineAt(plain, Math.min(...found));
}

/** BEGIN and END lines alike, those of PuTTY, SSH and PGP too */
const marker = /--\s?(?:BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY|PuTTY-User-Key-File/;

/** Whether bytes are DER values one after the other, and one of them is a private key. */
export function holdsDerPrivateKey(bytes: Uint8Array): boolean {
  const reader = new DerReader(bytes);
  let candidates = 0;
  try {
    while (!reader.isAtEnd && candidates < maxCandidates) {
      const { raw } = reader.any();
      if (!keyHead.test(Buffer.from(raw.subarray(0, headBytes)).toString('hex'))) continue;
      candidates += 1;
      if (isPrivateKey(raw) || isEncryptedKey(raw)) return true;
    }
  } catch {
    // what comes after is no DER
  }
  return false;
}

/** EncryptedPrivateKeyInfo (RFC 5958 3): only its algorithm tells it from other things */
function isEncryptedKey(der: Uint8Array): boolean {
  try {
    const info = new DerReader(der).enter(derTags.sequence);
    const algorithm = objectIdText(info.enter(derTags.sequence).next(derTags.objectId).content);
    info.next(derTags.octetString);
    return encryptions.some((prefix) => algorithm.startsWith(prefix)) && info.isAtEnd;
  } catch {
    return false;
  }
}

/** PKCS#5 and PKCS#12 (RFC 8018, RFC 7292) */
const encryptions = ['1.2.840.113549.1.5.', '1.2.840.113549.1.12.1.'];

/** enough for two headers of DER and an object identifier */
const headBytes = 24;
/** INTEGER 0 or 1, the version of PKCS#8, PKCS#1 and SEC 1; or an algorithm of PKCS#5 or PKCS#12 */
const keyHead = /^30(?:[0-7].|81..|82....)(?:02010[01]|30(?:[0-7].|81..|82....)06..2a864886f70d01(?:05|0c))/;
/** no text of certificates has one; each costs 0.16 ms, and more than these are chaff */
const maxCandidates = 100;

type Token = { readonly text: string; readonly at: number };

/** what may stand between lines of base64: in comments, quotations, lists of strings */
const joint = /^[\s#>|"',\\]*$/;
/** an RSA-16384 key has 9 KiB */
const maxKeyBase64 = 16 * 1024;

/** offset of base64 that is a key; -1 without one */
function findEncodedKey(text: string): number {
  let candidates = 0;
  for (const run of runsOfBase64(text)) {
    for (const [index, token] of run.entries()) {
      if (!mayBeginKey(joined(run, index, (headBytes / 3) * 4))) continue;
      candidates += 1;
      if (candidates > maxCandidates) return -1;
      if (holdsDerPrivateKey(Buffer.from(joined(run, index, maxKeyBase64), 'base64'))) return token.at;
    }
  }
  return -1;
}

function* runsOfBase64(text: string): Generator<readonly Token[]> {
  let run: Token[] = [];
  let endOfLast = 0;
  for (const { 0: token, index } of text.matchAll(/[A-Za-z0-9+/]+={0,2}/g)) {
    const isJoined = joint.test(text.slice(endOfLast, index)) && run.at(-1)?.text.endsWith('=') !== true;
    if (!isJoined && run.length > 0) {
      yield run;
      run = [];
    }
    run.push({ text: token, at: index });
    endOfLast = index + token.length;
  }
  yield run;
}

function joined(run: readonly Token[], from: number, length: number): string {
  let text = '';
  for (let index = from; index < run.length && text.length < length; index += 1) text += run[index]?.text ?? '';
  return text.slice(0, length);
}

function mayBeginKey(base64: string): boolean {
  // the first letter of 30, the tag of a SEQUENCE
  return base64.startsWith('M') && keyHead.test(Buffer.from(base64, 'base64').toString('hex'));
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

// The bundles of test/unit/projection/bundle-cases: texts with places for certificates and keys, which are made for the
// run. `{{A}}` is a CA certificate in PEM, `\x00` a byte, `\end` cuts the file's own last line end off.
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hours, minus } from '../../src/clock.ts';
import type { Certificate } from '../../src/x509/certificate-types.ts';
import { encodeCertificatesPem, encodePem } from '../../src/x509/pem.ts';
import { makeCa, makeKey, testNow } from './ca-workshop.ts';

const folder = join(import.meta.dirname, '../unit/projection/bundle-cases');

export const bundleCaseNames: readonly string[] = readdirSync(folder).sort();

export type BundleCases = {
  readonly a: Certificate;
  readonly b: Certificate;
  readonly expired: Certificate;
  readonly many: readonly Certificate[];
  readonly bytesOf: (name: string) => Uint8Array;
  /** what no output may have: base64 of each key, in pieces */
  readonly keyTraces: readonly string[];
};

type Place = () => string;

export function createBundleCases(): BundleCases {
  const [ca, cb] = [makeCa({ name: 'A' }), makeCa({ name: 'B' })];
  const [a, b] = [ca.certificate, cb.certificate];
  const expired = makeCa({ name: 'expired', notBefore: minus(testNow, hours(2)), notAfter: minus(testNow, hours(1)) });
  const leaf = makeCa({ name: 'leaf', issuer: ca, extensions: ({ keyUsage }) => [keyUsage] });
  const manyKey = makeKey();
  const many = Array.from({ length: 300 }, (_, index) => makeCa({ name: `root ${index}`, key: manyKey }).certificate);
  const keys = keyForms();
  const places: Readonly<Record<string, Place>> = {
    ...certificatePlaces('A', a),
    ...certificatePlaces('B', b),
    ...keys.places,
    'A and B in one block': () => encodePem('CERTIFICATE', Buffer.concat([a.der, b.der])),
    'key in DER': () => Buffer.from(keys.pkcs8).toString('latin1'),
    'A and key in one block': () => encodePem('CERTIFICATE', Buffer.concat([a.der, keys.pkcs8])),
    leaf: () => encodeCertificatesPem([leaf.certificate]),
    'version 1': () => encodeCertificatesPem([makeCa({ version: 1 }).certificate]),
    expired: () => encodeCertificatesPem([expired.certificate]),
    '300 roots': () => encodeCertificatesPem(many),
    'filled to 1048576 bytes': () => filled(encodeCertificatesPem([a, b]), 1024 * 1024),
    'filled to 1048577 bytes': () => filled(encodeCertificatesPem([a, b]), 1024 * 1024 + 1),
  };
  return {
    ...{ a, b, many, expired: expired.certificate, keyTraces: keys.traces },
    bytesOf: (name) => filledIn(readFileSync(join(folder, name), 'utf8'), places),
  };
}

function filledIn(template: string, places: Readonly<Record<string, Place>>): Uint8Array {
  const cut = template.split('\\end')[0] ?? '';
  // the place alone in the file is the whole file
  const text = cut.trimEnd().replace(/^\{\{(filled to [^}]*)\}\}$/, (_, name: string) => fillPlace(name, places));
  const whole = text === cut.trimEnd() ? cut : text;
  const bytes = whole
    .replace(/\\x([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    .replace(/\{\{([^}]*)\}\}/g, (_, name: string) => fillPlace(name, places));
  return Buffer.from(bytes, 'latin1');
}

function fillPlace(name: string, places: Readonly<Record<string, Place>>): string {
  const place = places[name];
  if (place === undefined) throw new Error(`no place is called ${name}`);
  return place();
}

function certificatePlaces(name: string, certificate: Certificate): Readonly<Record<string, Place>> {
  const pem = encodeCertificatesPem([certificate]);
  return {
    [name]: () => pem,
    [`${name} without line end`]: () => pem.trimEnd(),
    [`${name} with CRLF`]: () => pem.replaceAll('\n', '\r\n'),
    [`${name} with CR`]: () => pem.replaceAll('\n', '\r'),
    [`body of ${name}`]: () => bodyOf(pem),
  };
}

/** without BEGIN and END, and without the last line end */
function bodyOf(pem: string): string {
  return pem.split('\n').slice(1, -2).join('\n');
}

function keyForms(): { places: Readonly<Record<string, Place>>; pkcs8: Uint8Array; traces: readonly string[] } {
  const ec = makeKey();
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  const pem = exported(ec, 'pkcs8');
  const encrypted = ec.export({ format: 'pem', type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: 'x' }).toString();
  const all = [pem, exported(ec, 'sec1'), exported(rsa, 'pkcs1'), encrypted];
  const asCertificate = (text: string): string => text.replaceAll(/(?:ENCRYPTED )?PRIVATE KEY/g, 'CERTIFICATE');
  const places: Readonly<Record<string, Place>> = {
    key: () => pem,
    'RSA key': () => exported(rsa, 'pkcs1'),
    'EC key': () => exported(ec, 'sec1'),
    'encrypted key': () => encrypted,
    'key without END': () => pem.split('\n').slice(0, -2).join('\n'),
    'key as CERTIFICATE': () => asCertificate(pem),
    'encrypted key as CERTIFICATE': () => asCertificate(encrypted),
    'body of key': () => bodyOf(pem),
    'body of key tail': () => bodyOf(pem).split('\n').slice(1).join('\n'),
    'key in UTF-16': () => Buffer.from(pem, 'utf16le').toString('latin1'),
  };
  const traces = all.flatMap((text) =>
    bodyOf(text)
      .split('\n')
      .filter((line) => line.length >= 16),
  );
  return { places, traces, pkcs8: createPrivateKey(pem).export({ format: 'der', type: 'pkcs8' }) };
}

function exported(key: KeyObject, type: 'pkcs8' | 'sec1' | 'pkcs1'): string {
  return key.export({ format: 'pem', type }).toString();
}

function filled(text: string, size: number): string {
  return `${text}#${' '.repeat(size - text.length - 2)}\n`;
}

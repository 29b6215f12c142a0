import { describe, expect, test } from 'vitest';
import { encodeCertificatesPem, encodePem, leafChainPem, parseCertificateBundle } from '../../../src/x509/pem.ts';
import { makeCa } from '../../support/ca-workshop.ts';

const a = makeCa({ name: 'a' });
const b = makeCa({ name: 'b' });
const pemA = encodePem('CERTIFICATE', a.certificate.der);
const pemB = encodePem('CERTIFICATE', b.certificate.der);
const keyPem = a.key.export({ format: 'pem', type: 'pkcs8' }) as string;
const sec1Pem = a.key.export({ format: 'pem', type: 'sec1' }) as string;
const subjects = (text: string | Uint8Array) => parseCertificateBundle(text, 'ca.pem').map(({ subject }) => subject);

describe('a bundle of certificates', () => {
  test.each<[string, string | Uint8Array]>([
    ['as text', pemA + pemB],
    ['as bytes', Buffer.from(pemA + pemB)],
    ['with CRLF', (pemA + pemB).replaceAll('\n', '\r\n')],
    ['without a newline at the end', (pemA + pemB).trimEnd()],
    ['with empty lines and comments', `# roots\n\n${pemA}\n# the other\n${pemB}\n`],
    ['with a comment in Latin-1', Buffer.from(`# Zürich\n${pemA}${pemB}`, 'latin1')],
    ['with lines of 76 columns', rewrap(pemA, 76) + rewrap(pemB, 76)],
    ['with a whole block on one line', rewrap(pemA, 100_000) + pemB],
  ])('is read in its order %s', (_, text) => {
    expect(subjects(text)).toEqual(['O=test, CN=a', 'O=test, CN=b']);
  });

  test('keeps duplicates: whoever publishes it decides about them', () => {
    expect(subjects(pemA + pemB + pemA)).toHaveLength(3);
  });

  test.each<[string, string, string, number | undefined]>([
    ['nothing', '', 'pem-empty', undefined],
    ['only comments', '# no CA here\n', 'pem-empty', undefined],
    ['a private key before the certificates', keyPem + pemA, 'pem-private-key', 1],
    ['a private key between the certificates', pemA + keyPem + pemB, 'pem-private-key', pemA.split('\n').length],
    ['a SEC 1 private key', pemA + sec1Pem, 'pem-private-key', pemA.split('\n').length],
    ['an encrypted private key', keyPem.replaceAll('PRIVATE', 'ENCRYPTED PRIVATE') + pemA, 'pem-private-key', 1],
    ['a public key', pemA.replaceAll('CERTIFICATE', 'PUBLIC KEY'), 'pem-wrong-label', 1],
    ['a TRUSTED CERTIFICATE', pemA.replaceAll('CERTIFICATE', 'TRUSTED CERTIFICATE'), 'pem-wrong-label', 1],
    ['a certificate cut off after a whole one', pemA + pemB.slice(0, -40), 'pem-broken-block', undefined],
    ['a block without its END line', pemA.replace(/-----END.*\n/, ''), 'pem-broken-block', 1],
    ['two blocks joined without a newline', pemA.trimEnd() + pemB, 'pem-broken-block', undefined],
    ['an END line alone', `-----END CERTIFICATE-----\n${pemA}`, 'pem-broken-block', 1],
    ['an END line of another kind', pemA.replace('END CERTIFICATE', 'END X509 CRL'), 'pem-broken-block', undefined],
    ['a second BEGIN line inside', pemA.replace('\n', '\n-----BEGIN CERTIFICATE-----\n'), 'pem-broken-block', 2],
    ['a BEGIN line with too few hyphens', pemA.replace('-----BEGIN', '----BEGIN'), 'pem-trailing-data', 1],
    ['junk in the base64', pemA.replace('\nMII', '\nM!I'), 'pem-broken-block', 2],
    ['an empty line inside a block', pemA.replace('\nMII', '\n\nMII'), 'pem-broken-block', 2],
    ['base64 with a char too few', dropBodyChar(pemA), 'pem-broken-block', 1],
    ['an empty block', '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n', 'pem-broken-block', 1],
    ['headers inside a block', pemA.replace('\n', '\nProc-Type: 4,ENCRYPTED\n\n'), 'pem-has-headers', 2],
    ['text before', `ca:\n${pemA}`, 'pem-trailing-data', 1],
    ['text after', `${pemA}trailing\n`, 'pem-trailing-data', pemA.split('\n').length],
    ['a byte order mark', `\ufeff${pemA}`, 'pem-trailing-data', 1],
    ['base64 of something else', encodePem('CERTIFICATE', Buffer.from('hello')), 'pem-bad-certificate', 1],
    [
      'a byte after the certificate',
      encodePem('CERTIFICATE', Buffer.concat([a.certificate.der, Buffer.alloc(1)])),
      'pem-bad-certificate',
      1,
    ],
  ])('is refused with its place: %s', (_, text, code, line) => {
    expect(() => subjects(text)).toThrow(
      expect.objectContaining({
        code,
        fields: expect.objectContaining({ source: 'ca.pem', ...(line === undefined ? {} : { line }) }),
      }),
    );
  });

  test('of more than 4 MiB, or of more than 2,000 blocks, is refused before anything is parsed', () => {
    const tooMany = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'.repeat(2001);
    expect(() => subjects(' '.repeat(4 * 1024 * 1024 + 1))).toThrow(expect.objectContaining({ code: 'pem-too-large' }));
    expect(() => subjects(tooMany)).toThrow(expect.objectContaining({ code: 'pem-too-large' }));
  });

  describe('where text is allowed anywhere, as other tools allow it', () => {
    const read = (text: string) => parseCertificateBundle(text, 'ca.pem', 'anywhere').map(({ subject }) => subject);

    test.each([
      ['names of roots, underlined', `Corp Root\n=========\n${pemA}\nOther\n-----\n${pemB}`],
      ['what openssl x509 -text prints', `Certificate:\n    Data:\n        Version: 3 (0x2)\n${pemA}${pemB}`],
      [
        'bag attributes of a PKCS#12 export',
        `Bag Attributes\n    friendlyName: x\n${pemA}subject=CN = b\n${pemB}end\n`,
      ],
    ])('reads certificates between %s', (_, text) => {
      expect(read(text)).toEqual(['O=test, CN=a', 'O=test, CN=b']);
    });

    test.each<[string, string, string, number]>([
      ['a private key', `Corp\n${keyPem}${pemA}`, 'pem-private-key', 2],
      [
        'a block that is cut off',
        `Corp\n${pemA}Other\n${pemB.slice(0, 60)}`,
        'pem-broken-block',
        pemA.split('\n').length + 2,
      ],
      ['text inside a block', `Corp\n${pemA.replace('\nMII', '\nOther root\nMII')}`, 'pem-broken-block', 3],
      [
        'a BEGIN line with too few hyphens',
        `${pemA}----BEGIN CERTIFICATE-----\n`,
        'pem-broken-block',
        pemA.split('\n').length,
      ],
      ['a BEGIN line after other text', `Corp ${pemA}${pemB}`, 'pem-broken-block', 1],
      ['an END line alone', `Corp\n-----END CERTIFICATE-----\n${pemA}`, 'pem-broken-block', 2],
      ['a request', `Corp\n${pemA.replaceAll('CERTIFICATE', 'CERTIFICATE REQUEST')}`, 'pem-wrong-label', 2],
    ])('still refuses, with its line, %s', (_, text, code, line) => {
      expect(() => read(text)).toThrow(expect.objectContaining({ code, fields: expect.objectContaining({ line }) }));
    });

    test('still refuses a file without a certificate', () => {
      expect(() => read('Corp Root\nand nothing else\n')).toThrow(expect.objectContaining({ code: 'pem-empty' }));
    });
  });

  test('never shows key bytes in the error it gives', () => {
    const secret = keyPem.split('\n')[1]!;
    for (const text of [keyPem + pemA, pemA + secret, pemA.replace('\n', `\n${secret}!\n`)]) {
      expect(describeThrown(() => subjects(text))).not.toContain(secret.slice(0, 12));
    }
  });
});

describe('PEM that we write', () => {
  test('has LF, at most 64 columns, one final newline, and nothing but blocks', () => {
    const text = encodeCertificatesPem([a.certificate, b.certificate]);
    expect(text).toMatch(/^(-----BEGIN CERTIFICATE-----\n([A-Za-z0-9+/=]{1,64}\n)+-----END CERTIFICATE-----\n){2}$/);
    expect(
      text
        .split('\n')
        .slice(1, -3)
        .filter((line) => line.length === 64).length,
    ).toBeGreaterThan(5);
  });

  test.each([0, 1, 47, 48, 49, 95, 96, 97])('holds %i bytes without an empty or a short line too many', (length) => {
    const lines = encodePem('X', Buffer.alloc(length, 0xaa)).split('\n');
    expect(lines.slice(1, -2)).toHaveLength(Math.ceil((Math.ceil(length / 3) * 4) / 64));
    expect(lines.slice(1, -3).every((line) => line.length === 64)).toBe(true);
  });

  test.each([0, 1, 2, 3, 46, 47, 48, 49, 50, 500])('writes %i bytes as Node writes their base64', (length) => {
    const bytes = Uint8Array.from({ length }, (_, index) => (index * 151 + length) & 0xff);
    expect(encodePem('X', bytes).split('\n').slice(1, -2).join('')).toBe(Buffer.from(bytes).toString('base64'));
  });

  test('takes only its own part of a larger buffer', () => {
    const large = Buffer.from('xxhelloxx');
    expect(encodePem('X', large.subarray(2, 7))).toContain(Buffer.from('hello').toString('base64'));
  });

  test('puts the leaf first and the chain after it, in its order', () => {
    const bytes = leafChainPem(a.certificate.der, [b.certificate]);
    expect(subjects(bytes)).toEqual(['O=test, CN=a', 'O=test, CN=b']);
    expect(Buffer.from(bytes).toString()).toBe(pemA + pemB);
    // a slice of a shared buffer would keep all of that alive as long as the leaf
    expect(bytes.buffer.byteLength).toBe(bytes.length);
  });
});

function rewrap(pem: string, columns: number): string {
  const [begin, ...body] = pem.trimEnd().split('\n');
  const end = body.pop();
  const lines = body.join('').match(new RegExp(`.{1,${columns}}`, 'g')) ?? [];
  return [begin, ...lines, end, ''].join('\n');
}

function dropBodyChar(pem: string): string {
  const lines = pem.split('\n');
  lines[1] = lines[1]!.slice(1);
  return lines.join('\n');
}

function describeThrown(run: () => unknown): string {
  try {
    run();
  } catch (thrown) {
    return thrown instanceof Error
      ? `${thrown.message} ${thrown.stack} ${JSON.stringify(thrown)} ${String(thrown.cause)}`
      : '';
  }
  throw new Error('nothing was thrown');
}

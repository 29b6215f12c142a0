// Each way in which a bundle can be wrong is a file in bundle-cases; what becomes of each stands here.
import { describe, expect, it, test } from 'vitest';
import { bundleText } from '../../../src/x509/bundle-text.ts';
import { encodeCertificatesPem } from '../../../src/x509/pem.ts';
import { maxBackingBytes, sanitiseBundle, type SanitisedBundle } from '../../../src/projection/sanitise-bundle.ts';
import { plus, millis } from '../../../src/clock.ts';
import { makeCa, testNow } from '../../support/ca-workshop.ts';
import { bundleCaseNames, createBundleCases } from '../../support/bundle-cases.ts';

const cases = createBundleCases();
const { a, b, expired, many } = cases;
const both = [a, b];
const source = 'the file ca.pem';

function sanitised(name: string): SanitisedBundle {
  return sanitiseBundle([{ source, text: cases.bytesOf(`${name}.pem`) }], testNow);
}

/** name of the file, what it is sanitised to */
const clean: readonly (readonly [string, readonly (typeof a)[]])[] = [
  ['B1-no-line-end-between-two-files', both],
  ['B1-no-line-end-at-the-end', both],
  ['B1-comment-right-after-the-end', both],
  ['B4-crlf', both],
  ['B4-cr-alone', both],
  ['B4-spaces-and-empty-lines-within', both],
  ['B7-comments-in-utf-8', both],
  ['B7-comments-in-latin-1', both],
  ['B7-nul-bytes-around', both],
  ['B7-byte-order-mark', both],
  ['B7-a-list-of-revoked-ones', both],
  ['B10-headers-within', both],
  ['B11-twice', both],
  ['B11-other-order', both],
  ['B15-expired-among-others', [a, b, expired]],
  ['B20-300-roots', many],
  ['B20-one-mebibyte', both],
];

const key = 'a private key among certificates';
/** name of the file, why it is refused, and the message */
const refused: readonly (readonly [string, string, string])[] = [
  ['B2-junk-in-base64', 'unreadable', 'a block whose base64 is not whole'],
  ['B2-base64-that-is-no-certificate', 'unreadable', 'not a certificate that can be read'],
  ['B2-a-letter-too-many', 'unreadable', 'a block whose base64 is not whole'],
  ['B2-cut-off', 'unreadable', 'a block that is cut off before its END line'],
  ['B2-end-without-begin', 'unreadable', 'a BEGIN or END line that is broken or out of place'],
  ['B2-begin-within-a-block', 'unreadable', 'a BEGIN or END line that does not fit the open block'],
  ['B2-marker-with-four-hyphens', 'unreadable', 'a BEGIN or END line that is broken or out of place'],
  ['B2-commented-out', 'unreadable', 'a BEGIN or END line that is broken or out of place'],
  ['B2-two-certificates-in-one-block', 'unreadable', 'bytes after the value'],
  ['B2-trusted-certificate', 'unreadable', 'a block of the kind TRUSTED CERTIFICATE, expected CERTIFICATE'],
  ['B2-x509-certificate', 'unreadable', 'a block of the kind X509 CERTIFICATE, expected CERTIFICATE'],
  ['B7-nul-bytes-within', 'unreadable', 'a block whose base64 is not whole'],
  ['B8-key-before', 'private-key', `the file ca.pem, line 1: ${key}`],
  ['B8-key-between', 'private-key', key],
  ['B8-key-at-the-end-cut-off', 'private-key', key],
  ['B8-rsa-key-in-pkcs1', 'private-key', key],
  ['B8-ec-key-in-sec1', 'private-key', key],
  ['B8-encrypted-key', 'private-key', key],
  ['B8-key-that-calls-itself-a-certificate', 'private-key', key],
  ['B8-encrypted-key-that-calls-itself-a-certificate', 'private-key', key],
  ['B8-key-behind-a-certificate-in-one-block', 'private-key', key],
  ['B8-key-in-a-comment', 'private-key', key],
  ['B8-key-without-its-lines', 'private-key', key],
  ['B8-key-in-a-block-of-another-kind', 'private-key', key],
  ['B8-key-in-utf-16', 'private-key', key],
  ['B8-key-behind-a-broken-block', 'private-key', 'the file ca.pem, line 4: a private key'],
  ['B8-key-in-der', 'private-key', key],
  ['B8-key-of-putty', 'private-key', key],
  ['B8-end-of-a-key-alone', 'private-key', key],
  ['B10-header-in-the-middle', 'unreadable', 'a block whose base64 is not whole'],
  ['B12-leaf', 'not-a-ca', 'CN=leaf is no CA certificate'],
  ['B12-version-1-root', 'not-a-ca', 'is no CA certificate'],
  ['B15-empty', 'empty', 'the file ca.pem has no certificate'],
  ['B15-only-comments', 'empty', 'the file ca.pem has no certificate'],
  ['B15-only-expired', 'expired', 'the file ca.pem has expired certificates only, 1 of them'],
  ['B20-one-mebibyte-and-a-byte', 'too-large', `has more than ${maxBackingBytes} bytes`],
];

describe('sanitising a bundle', () => {
  it('has an answer to every case that there is', () => {
    const known = [...clean, ...refused].map(([name]) => `${name}.pem`);
    expect(known.toSorted()).toEqual(bundleCaseNames);
  });

  test.each(clean)('%s: gives exactly the bytes of its set', (name, certificates) => {
    const bundle = sanitised(name);
    if (bundle.kind === 'refused') throw bundle.error;
    expect(encodeCertificatesPem(bundle.certificates)).toBe(bundleText(certificates));
  });

  test.each(refused)('%s: is refused as %s', (name, fault, message) => {
    const bundle = sanitised(name);
    if (bundle.kind === 'clean') throw new Error(`was taken: ${bundle.certificates.length}`);
    expect(bundle.fault).toBe(fault);
    expect(bundle.error.message).toContain(message);
  });

  it('shows nothing of a private key', () => {
    for (const name of bundleCaseNames.filter((one) => one.startsWith('B8'))) {
      const bundle = sanitised(name.replace(/\.pem$/, ''));
      const shown =
        bundle.kind === 'refused'
          ? [bundle.error.message, bundle.error.remedy, bundle.error.stack, bundle.error.fields, bundle.error.cause]
          : [];
      for (const trace of cases.keyTraces) expect(JSON.stringify(shown)).not.toContain(trace.slice(0, 16));
    }
  });

  it('is LF, 64 columns, ordered by digest, with one final line end', () => {
    const bundle = sanitised('B11-other-order');
    if (bundle.kind === 'refused') throw bundle.error;
    const text = encodeCertificatesPem(bundle.certificates);
    expect(text).toMatch(/^(?:-----BEGIN CERTIFICATE-----\n(?:[A-Za-z0-9+/=]{1,64}\n)+-----END CERTIFICATE-----\n)+$/);
    const digests = bundle.certificates.map(({ sha256 }) => sha256);
    expect(digests).toEqual(digests.toSorted());
  });

  it('names the blocks that are no certificates', () => {
    expect(sanitised('B7-a-list-of-revoked-ones')).toMatchObject({ leftOut: ['X509 CRL'] });
  });

  it('joins the texts of several objects, and is refused for one of them', () => {
    const one = { source: 'one', text: encodeCertificatesPem([a]) };
    const other = { source: 'other', text: encodeCertificatesPem([b, a]) };
    expect(sanitiseBundle([one, other], testNow)).toMatchObject({ certificates: { length: 2 } });
    expect(sanitiseBundle([other, one], testNow)).toEqual(sanitiseBundle([one, other], testNow));
    expect(sanitiseBundle([one, { source: 'other', text: '' }], testNow)).toMatchObject({ kind: 'clean' });
    const bad = { source: 'other', text: cases.bytesOf('B12-leaf.pem') };
    expect(sanitiseBundle([one, bad], testNow)).toMatchObject({
      fault: 'not-a-ca',
      error: { message: expect.stringMatching(/^other, /) as unknown },
    });
    expect(sanitiseBundle([], testNow)).toMatchObject({ fault: 'empty' });
  });

  it('takes a certificate up to and with the last instant of its validity', () => {
    const { certificate } = makeCa();
    const texts = [{ source, text: encodeCertificatesPem([certificate]) }];
    expect(sanitiseBundle(texts, certificate.notAfter)).toMatchObject({ kind: 'clean' });
    expect(sanitiseBundle(texts, plus(certificate.notAfter, millis(1)))).toMatchObject({ fault: 'expired' });
  });

  test.each([
    ['hyphens', '-'.repeat(maxBackingBytes)],
    ['BEGIN lines', '-----BEGIN CERTIFICATE-----\n'.repeat(37_000)],
    ['spaces behind hyphens', `${'-----\t'.repeat(10)}${' '.repeat(900_000)}`],
    ['what looks like keys', 'MDACAQAwMDACAQAw '.repeat(60_000)],
    ['colons in a block', `-----BEGIN CERTIFICATE-----\n${':\n'.repeat(500_000)}`],
    [
      'empty sequences in a block',
      encodeCertificatesPem([{ ...a, der: Buffer.alloc(300_000, '3000', 'hex') as unknown as typeof a.der }]),
    ],
  ])('comes to an end with a mebibyte of %s', (_, text) => {
    expect(sanitiseBundle([{ source, text }], testNow).kind).toBe('refused');
  });
});

// A bundle is a function of its set of certificates: however its texts are shuffled, repeated and decorated, the bytes are
// the same; and no text makes the sanitiser throw or lets through what is no certificate of a CA.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxBackingBytes, sanitiseBundle } from '../../src/projection/sanitise-bundle.ts';
import { bundleText } from '../../src/x509/bundle-text.ts';
import { encodeCertificatesPem } from '../../src/x509/pem.ts';
import { makeCa, makeKey, testNow } from '../support/ca-workshop.ts';
import { decoratedBundles } from '../support/decorated-bundles.ts';

const known = Array.from({ length: 6 }, () => makeCa().certificate);
const key = makeKey().export({ format: 'pem', type: 'pkcs8' }).toString();
const keyBody = key.split('\n').slice(1, -2).join('');

function sanitisedText(texts: readonly string[]): string {
  const bundle = sanitiseBundle(
    texts.map((text, index) => ({ source: `text ${index}`, text })),
    testNow,
  );
  if (bundle.kind === 'refused') throw bundle.error;
  return encodeCertificatesPem(bundle.certificates);
}

describe('sanitising a bundle', () => {
  it('gives the same bytes for the same set, and its own result again', () => {
    fc.assert(
      fc.property(decoratedBundles(known), ({ certificates, texts }) => {
        const text = sanitisedText(texts);
        expect(text).toBe(bundleText(certificates));
        expect(sanitisedText([text])).toBe(text);
      }),
      { numRuns: 300 },
    );
  });

  it('refuses every text with a key in it, wherever it stands and however it is wrapped', () => {
    const wrapped = fc.oneof(
      fc.constant(key),
      fc.constantFrom('CERTIFICATE', 'X', 'EC PRIVATE KEY').map((label) => {
        return `-----BEGIN ${label}-----\n${keyBody}\n-----END ${label}-----\n`;
      }),
      fc
        .record({ width: fc.integer({ min: 1, max: 200 }), lead: fc.constantFrom('', '# ', '> ', '  ', '"') })
        .map(({ width, lead }) => keyBody.replaceAll(new RegExp(`.{1,${width}}`, 'g'), (line) => `${lead}${line}\n`)),
    );
    fc.assert(
      fc.property(decoratedBundles(known), wrapped, fc.nat(), ({ texts }, hidden, at) => {
        const index = at % texts.length;
        const parts = (texts[index] ?? '').split(/(?<=-----END CERTIFICATE-----\s*\n)/);
        const with_ = parts.toSpliced(at % (parts.length + 1), 0, `\n${hidden}`).join('');
        const bundle = sanitiseBundle(
          texts.with(index, with_).map((text) => ({ source: 's', text })),
          testNow,
        );
        expect(bundle).toMatchObject({ kind: 'refused', fault: 'private-key' });
      }),
      { numRuns: 300 },
    );
  });

  it('takes nothing but certificates of CAs out of any bytes, and never throws', () => {
    const pem: string = encodeCertificatesPem(known);
    const damaged = fc
      .array(fc.tuple(fc.nat(pem.length), fc.integer({ min: 0, max: 3 }), fc.string({ maxLength: 4 })), {
        maxLength: 4,
      })
      .map((edits) =>
        edits.reduce((text, [at, length, put]) => text.slice(0, at) + put + text.slice(at + length), pem),
      );
    const bytes = fc.oneof(
      damaged.map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 300 }),
      fc.string({ unit: 'binary', maxLength: 300 }).map((text) => Buffer.from(text)),
    );
    const own = new Set(known.map(({ sha256 }) => sha256));
    fc.assert(
      fc.property(bytes, (text) => {
        expect(text.length).toBeLessThan(maxBackingBytes);
        const bundle = sanitiseBundle([{ source: 's', text }], testNow);
        if (bundle.kind === 'refused') return;
        expect(bundle.certificates.length).toBeGreaterThan(0);
        // a bit of the signature may be another one, in which case it is another certificate, of a CA all the same
        for (const certificate of bundle.certificates) {
          expect(own.has(certificate.sha256) || certificate.basicConstraints?.isCa === true).toBe(true);
        }
      }),
      { numRuns: 500 },
    );
  });
});

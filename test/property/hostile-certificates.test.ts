import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LeafgateError } from '../../src/errors.ts';
import { parsePool, verifyPool } from '../../src/pool/parse-pool.ts';
import { extension } from '../../src/x509/encode-extensions.ts';
import { contextConstructed, contextPrimitive, objectId, sequence } from '../../src/x509/forge-asn1.ts';
import { encodePem, parseCertificateBundle } from '../../src/x509/pem.ts';
import { readCertificate } from '../../src/x509/read-certificate.ts';
import { goodList, makeCa } from '../support/ca-workshop.ts';
import { base64, caFields, chainFields, poolBytes, testTerms } from '../support/pool-workshop.ts';

/** one certificate with every extension that we read */
const rich = makeCa({
  extensions: (good) => [
    ...goodList(good),
    extension('2.5.29.37', 'plain', sequence(objectId('1.3.6.1.5.5.7.3.1'))),
    extension(
      '2.5.29.17',
      'plain',
      sequence(contextPrimitive(2, Buffer.from('a.example')), contextPrimitive(7, Uint8Array.of(10, 0, 0, 1))),
    ),
    extension(
      '2.5.29.30',
      'critical',
      sequence(contextConstructed(0, sequence(contextPrimitive(7, new Uint8Array(8))))),
    ),
  ],
});
const below = makeCa({ issuer: rich });
const good: readonly Uint8Array[] = [rich.certificate.der, below.certificate.der];

type Change = {
  readonly at: number;
  readonly how: 'set' | 'drop' | 'insert' | 'cut' | 'repeat';
  readonly octet: number;
};

const change = fc.record<Change>({
  at: fc.nat({ max: 1_000_000 }),
  how: fc.constantFrom('set', 'set', 'set', 'drop', 'insert', 'cut', 'repeat'),
  octet: fc.integer({ min: 0, max: 255 }),
});
const changes = fc.array(change, { minLength: 1, maxLength: 4 });

function apply(bytes: Uint8Array, list: readonly Change[]): Uint8Array {
  return list.reduce<Uint8Array>((current, { at, how, octet }) => {
    const index = current.length === 0 ? 0 : at % current.length;
    const [head, tail] = [current.subarray(0, index), current.subarray(index)];
    switch (how) {
      case 'set':
        return Buffer.concat([head, Uint8Array.of(octet), tail.subarray(1)]);
      case 'drop':
        return Buffer.concat([head, tail.subarray(1)]);
      case 'insert':
        return Buffer.concat([head, Uint8Array.of(octet), tail]);
      case 'cut':
        return head;
      case 'repeat':
        return Buffer.concat([head, tail.subarray(0, octet), tail]);
      default:
        return how satisfies never;
    }
  }, bytes);
}

/** what `run` threw; anything but an error of ours fails the test, a RangeError above all */
function ourError(run: () => unknown): LeafgateError | undefined {
  try {
    run();
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof LeafgateError) || thrown.code === 'internal') throw thrown;
    return thrown;
  }
}

describe('hostile bytes end in a certificate or in an error of ours', () => {
  test('when a good certificate is bent at random', () => {
    let refused = 0;
    fc.assert(
      fc.property(fc.constantFrom(...good), changes, (der, list) => {
        if (ourError(() => readCertificate(apply(der, list))) !== undefined) refused += 1;
      }),
      { numRuns: 5000 },
    );
    expect(refused).toBeGreaterThan(1000);
  }, 60_000);

  test('when they are random', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(ourError(() => readCertificate(bytes))?.code).toBe('certificate-unreadable');
      }),
      { numRuns: 2000 },
    );
  }, 60_000);

  test('when they are headers that promise more than there is', () => {
    const header = fc.tuple(
      fc.constantFrom(0x30, 0x31, 0xa0, 0xa3, 0x04, 0x03),
      fc.constantFrom('80', '8400ffffff', '84ffffffff', '85', '820400', '7f'),
    );
    fc.assert(
      fc.property(fc.array(header, { maxLength: 60 }), (headers) => {
        const bytes = Buffer.concat(
          headers.flatMap(([tag, length]) => [Uint8Array.of(tag), Buffer.from(length, 'hex')]),
        );
        expect(ourError(() => readCertificate(bytes))?.code).toBe('certificate-unreadable');
      }),
      { numRuns: 2000 },
    );
  }, 60_000);

  test('when PEM is bent at random, and what is left of it was whole', () => {
    const pem = Buffer.from(good.map((der) => encodePem('CERTIFICATE', der)).join('# next\n'));
    fc.assert(
      fc.property(changes, (list) => {
        const bent = apply(pem, list);
        if (ourError(() => parseCertificateBundle(bent, 'x')) !== undefined) return;
        // accepted: every block that stands in it has been read
        const begun = Buffer.from(bent)
          .toString('latin1')
          .match(/^-----BEGIN/gm)?.length;
        expect(parseCertificateBundle(bent, 'x')).toHaveLength(begun ?? 0);
      }),
      { numRuns: 3000 },
    );
  }, 60_000);
});

describe('hostile pools end in a pool or in faults of ours, without a byte of a key', () => {
  const root = makeCa({ name: 'root' });
  const issuing = makeCa({ name: 'issuing', issuer: root });
  const bytes = poolBytes([caFields('a', root), chainFields('b', root, issuing)], 'b');
  const secrets = [root, issuing].map(({ key }) => base64(key.export({ format: 'der', type: 'pkcs8' })).slice(48, 72));

  test('when a good pool is bent at random', () => {
    let refused = 0;
    fc.assert(
      fc.property(changes, (list) => {
        const bent = apply(bytes, list);
        const thrown = ourError(() => parsePool(bent, testTerms()));
        const faults = verifyPool(bent, testTerms());
        if (thrown !== undefined) refused += 1;
        expect(faults.every(({ code }) => code.startsWith('pool-'))).toBe(true);
        const shown = [thrown, ...(thrown?.problems ?? []), ...faults]
          .map((fault) => `${fault?.message} ${fault?.stack} ${String(fault?.cause)}`)
          .join();
        for (const secret of secrets) expect(shown).not.toContain(secret);
      }),
      { numRuns: 1500 },
    );
    expect(refused).toBeGreaterThan(300);
  }, 60_000);

  test('when its members are of any JSON type', () => {
    const fields = {
      ...caFields('a', root),
      SigningKeyPEM: '',
      RootCertificatePEM: '',
      IntermediateCertificatesDER: [],
      AddedAt: '',
      ActivatedAt: '',
    };
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(fields)), fc.jsonValue(), (field, value) => {
        ourError(() => parsePool(poolBytes([{ ...fields, [field]: value }]), testTerms()));
      }),
      { numRuns: 1000 },
    );
  }, 60_000);
});

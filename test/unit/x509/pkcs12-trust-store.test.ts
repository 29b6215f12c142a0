import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { encodePkcs12TrustStore } from '../../../src/x509/pkcs12-trust-store.ts';
import { DerReader } from '../../../src/x509/der-reader.ts';
import { makeCa } from '../../support/ca-workshop.ts';

const ders = [makeCa(), makeCa(), makeCa()].map(({ certificate }) => certificate.der);
const digest = (der: Uint8Array): string => createHash('sha256').update(der).digest('hex');

/** reads one value and what is in it */
const inside = (bytes: Uint8Array): DerReader => new DerReader(new DerReader(bytes).any().content);

/** the SafeBags of a file, by what RFC 7292 says of its layers */
function bagsOf(store: Uint8Array): readonly Uint8Array[] {
  const pfx = inside(store);
  pfx.any();
  const authSafe = pfx.any();
  expect(pfx.isAtEnd, 'there is no MAC').toBe(true);
  const contents = inside(contentOf(authSafe.raw));
  const bags = inside(contentOf(contents.any().raw));
  expect(contents.isAtEnd).toBe(true);
  const found: Uint8Array[] = [];
  while (!bags.isAtEnd) found.push(bags.any().raw);
  return found;
}

function contentOf(info: Uint8Array): Uint8Array {
  const reader = inside(info);
  reader.any();
  return new DerReader(reader.any().content).any().content;
}

describe('a PKCS#12 trust store', () => {
  test('is the same bytes for the same certificates, whatever their order and however often each is given', () => {
    const [one, other, third] = ders;
    if (one === undefined || other === undefined || third === undefined) throw new Error();
    expect(encodePkcs12TrustStore([third, one, other, one])).toEqual(encodePkcs12TrustStore(ders));
    expect(encodePkcs12TrustStore([one])).not.toEqual(encodePkcs12TrustStore([other]));
  });

  test('has one entry a certificate, ordered by digest, with the digest as its alias', () => {
    const bags = bagsOf(encodePkcs12TrustStore(ders)).map((bag) => Buffer.from(bag));
    const sorted = [...ders].sort((one, other) => (digest(one) < digest(other) ? -1 : 1));
    expect(bags).toHaveLength(sorted.length);
    for (const [index, der] of sorted.entries()) {
      expect(bags[index]?.includes(Buffer.from(der))).toBe(true);
      expect(bags[index]?.includes(Buffer.from(digest(der), 'utf16le').swap16())).toBe(true);
    }
  });

  test('orders the attributes of an entry as DER wants a SET', () => {
    for (const bag of bagsOf(encodePkcs12TrustStore(ders))) {
      const parts = inside(bag);
      parts.any();
      parts.any();
      const attributes = new DerReader(parts.any().content);
      const [first, second] = [attributes.any().raw, attributes.any().raw];
      expect(Buffer.compare(first, second)).toBe(-1);
      expect(attributes.isAtEnd).toBe(true);
    }
  });
});

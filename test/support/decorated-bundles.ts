// One set of certificates in any of the texts that a kubelet reads it from: shuffled, repeated, split over objects, with
// comments, headers, other line ends and spaces.
import fc from 'fast-check';
import type { Certificate } from '../../src/x509/certificate-types.ts';
import { encodeCertificatesPem } from '../../src/x509/pem.ts';

export type DecoratedBundle = {
  readonly certificates: readonly Certificate[];
  /** together they have each certificate at least once */
  readonly texts: readonly string[];
};

/** text outside of blocks; what looks like a marker is not among it */
const comment = fc
  .string({ unit: 'grapheme', maxLength: 30 })
  .map((text) => text.replaceAll(/[-\r\n\0]/g, ' '))
  .chain((text) => fc.constantFrom('', `# ${text}\n`, `${text}\n`, '\n\n', '-----\n', '=====\n', '\0\n'));
const headerLine = fc.stringMatching(/^X-[A-Za-z]{1,8}: [A-Za-z0-9 /+=]{0,60}$/);
const lineEnd = fc.constantFrom('\n', '\r\n', ' \n', '\t\r\n');

const decoration = fc.record({
  comment,
  headers: fc.array(headerLine, { maxLength: 3 }),
  lineEnd,
  split: fc.boolean(),
});

type Decoration = { readonly comment: string; readonly headers: readonly string[]; readonly lineEnd: string };

function decorated(certificate: Certificate, { comment: text, headers, lineEnd: end }: Decoration): string {
  const [begin = '', ...lines] = encodeCertificatesPem([certificate]).trimEnd().split('\n');
  const head = headers.length === 0 ? [] : [...headers, ''];
  return text + [begin, ...head, ...lines, ''].join(end);
}

/** Sets of at least one of `known`. */
export function decoratedBundles(known: readonly Certificate[]): fc.Arbitrary<DecoratedBundle> {
  return fc
    .subarray([...known], { minLength: 1 })
    .chain((certificates) => {
      const more = fc.array(fc.constantFrom(...certificates), { maxLength: 3 });
      return more.chain((repeated) => {
        const all = [...certificates, ...repeated];
        const order = fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length });
        const looks = fc.array(decoration, { minLength: all.length, maxLength: all.length });
        return fc.record({ certificates: fc.constant(certificates), order, looks, tail: comment });
      });
    })
    .map(({ certificates, order, looks, tail }) => {
      const pieces = order.flatMap((certificate, index) => {
        const look = looks[index];
        return look === undefined ? [] : [{ text: decorated(certificate, look), isFirst: look.split }];
      });
      const texts: string[] = [];
      for (const { text, isFirst } of pieces) {
        const last = texts.at(-1);
        if (last === undefined || isFirst) texts.push(text);
        else texts[texts.length - 1] = last + text;
      }
      texts.push(tail);
      return { certificates, texts };
    });
}

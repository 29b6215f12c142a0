import { describe, expect, test } from 'vitest';
import {
  derTags,
  DerReader,
  objectIdText,
  parseDer,
  readBitString,
  readBoolean,
  readSmallInteger,
} from '../../../src/x509/der-reader.ts';

const bytes = (hex: string): Uint8Array => Buffer.from(hex.replaceAll(' ', ''), 'hex');
const value = (hex: string) => new DerReader(bytes(hex)).any();

describe('one DER value', () => {
  test.each([
    ['a short one', '04 01 aa'],
    ['an empty sequence', '30 00'],
    ['a length in one octet at its limit', `04 7f ${'aa'.repeat(127)}`],
    ['a length in two octets', `04 81 80 ${'aa'.repeat(128)}`],
    ['a nested one', '30 05 30 03 04 01 aa'],
  ])('is taken as it is: %s', (_, hex) => {
    expect(Buffer.from(parseDer(bytes(hex)))).toEqual(bytes(hex));
  });

  test.each([
    ['nothing at all', '', /ends too early/],
    ['a tag alone', '30', /ends too early/],
    ['a length cut off', '30 82 01', /ends too early/],
    ['content cut off', '04 02 aa', /beyond the end/],
    ['bytes after it', '04 01 aa 00', /bytes after the value/],
    ['an indefinite length', '30 80 04 01 aa 00 00', /indefinite/],
    ['a length that one octet could hold, in two', '04 81 01 aa', /not the shortest/],
    ['a length with a leading zero octet', `04 82 00 80 ${'aa'.repeat(128)}`, /not the shortest/],
    ['a length of five octets', '04 85 01 00 00 00 00', /four octets/],
    ['a length that claims 4 GiB', '04 84 ff ff ff ff', /beyond the end/],
    ['a tag of several octets', '1f 81 01 00', /several octets/],
    ['a fault inside a sequence', '30 04 04 03 aa bb', /beyond the end/],
    ['a fault inside a context-specific value', 'a0 02 04 01', /beyond the end/],
  ])('is refused: %s', (_, hex, reason) => {
    expect(() => parseDer(bytes(hex))).toThrow(
      expect.objectContaining({ code: 'der-malformed', message: expect.stringMatching(reason) }),
    );
  });

  test('may nest 32 deep and no deeper', () => {
    const nested = (depth: number): Uint8Array => {
      let inner = bytes('04 00');
      for (let level = 1; level < depth; level += 1) {
        const { length } = inner;
        inner = Buffer.concat([
          Uint8Array.of(0x30),
          length < 128 ? Uint8Array.of(length) : Uint8Array.of(0x81, length),
          inner,
        ]);
      }
      return inner;
    };
    expect(() => parseDer(nested(32))).not.toThrow();
    expect(() => parseDer(nested(34))).toThrow(/nested deeper than 32/);
  });

  test('that nests a hundred thousand deep ends in an error of ours, not in a stack overflow', () => {
    const hostile = Buffer.alloc(200_000, '3080', 'hex');
    expect(() => parseDer(hostile)).toThrow(expect.objectContaining({ code: 'der-malformed' }));
  });
});

describe('a reader', () => {
  test('refuses a tag that is not the expected one', () => {
    expect(() => new DerReader(bytes('04 00')).next(derTags.integer)).toThrow(/tag 04 where 02 is expected/);
  });

  test('leaves an optional value of another tag alone', () => {
    const reader = new DerReader(bytes('04 00'));
    expect(reader.optional(derTags.integer)).toBeUndefined();
    expect(reader.next(derTags.octetString).content).toHaveLength(0);
    expect(reader.optional(derTags.integer)).toBeUndefined();
  });

  test('refuses values that nobody asked for', () => {
    expect(() => new DerReader(bytes('04 00')).end()).toThrow(/more values/);
  });
});

describe('an object identifier', () => {
  test.each([
    ['55 04 05', '2.5.4.5'],
    ['2a 86 48 ce 3d 04 03 02', '1.2.840.10045.4.3.2'],
    ['2b 65 70', '1.3.101.112'],
    ['88 37', '2.999'],
    ['00', '0.0'],
  ])('%s reads as %s', (hex, text) => {
    expect(objectIdText(bytes(hex))).toBe(text);
  });

  test.each([
    ['empty', ''],
    ['cut off', '55 84'],
    ['with a padded arc', '55 80 01'],
    ['with an arc beyond 2^28', '55 ff ff ff ff 7f'],
  ])('that is %s is refused', (_, hex) => {
    expect(() => objectIdText(bytes(hex))).toThrow(expect.objectContaining({ code: 'der-malformed' }));
  });
});

describe('small values', () => {
  test('a boolean is 00 or ff and nothing else', () => {
    expect(readBoolean(value('01 01 ff'))).toBe(true);
    expect(readBoolean(value('01 01 00'))).toBe(false);
    expect(() => readBoolean(value('01 01 01'))).toThrow(/boolean/);
    expect(() => readBoolean(value('01 00'))).toThrow(/boolean/);
  });

  test.each([
    ['02 01 00', 0],
    ['02 01 7f', 127],
    ['02 02 00 80', 128],
    ['02 04 7f ff ff ff', 0x7fffffff],
  ])('the integer %s is %i', (hex, number) => {
    expect(readSmallInteger(value(hex))).toBe(number);
  });

  test.each(['02 00', '02 01 80', '02 02 00 7f', '02 05 01 00 00 00 00'])('the integer %s is refused', (hex) => {
    expect(() => readSmallInteger(value(hex))).toThrow(/integer/);
  });

  test('a bit string says how many bits do not count', () => {
    expect(readBitString(value('03 02 07 80'))).toEqual({ bits: bytes('80'), unused: 7 });
    for (const broken of ['03 00', '03 02 08 80', '03 01 01']) {
      expect(() => readBitString(value(broken))).toThrow(/bit string/);
    }
  });
});

import { describe, expect, test } from 'vitest';
import { epoch } from '../../../src/clock.ts';
import { derTags, type DerValue } from '../../../src/x509/der-reader.ts';
import { encodeTime, readTime } from '../../../src/x509/der-time.ts';

const timeValue = (tag: number, text: string): DerValue => ({
  tag,
  content: Buffer.from(text),
  raw: Buffer.from(text),
});
const at = (iso: string) => epoch(Date.parse(iso));

describe('a time in a certificate', () => {
  test.each([
    ['1950-01-01T00:00:00Z', derTags.utcTime, '500101000000Z'],
    ['1999-12-31T23:59:59Z', derTags.utcTime, '991231235959Z'],
    ['2026-11-30T10:20:30Z', derTags.utcTime, '261130102030Z'],
    ['2049-12-31T23:59:59Z', derTags.utcTime, '491231235959Z'],
    ['2050-01-01T00:00:00Z', derTags.generalizedTime, '20500101000000Z'],
    ['9999-12-31T23:59:59Z', derTags.generalizedTime, '99991231235959Z'],
  ])('%s is UTCTime through 2049 and GeneralizedTime from 2050, and reads back', (iso, tag, text) => {
    expect(encodeTime(at(iso))).toEqual({ tag, text });
    expect(readTime(timeValue(tag, text))).toBe(at(iso));
  });

  test('has no fraction: what is below a second is cut', () => {
    expect(encodeTime(at('2049-12-31T23:59:59.999Z')).text).toBe('491231235959Z');
  });

  test.each(['1949-12-31T23:59:59Z', '+010000-01-01T00:00:00Z'])(
    'that no certificate can carry is refused: %s',
    (iso) => {
      expect(() => encodeTime(at(iso))).toThrow(expect.objectContaining({ code: 'leaf-refused' }));
    },
  );

  test('that is no number is refused', () => {
    expect(() => encodeTime(epoch(Number.NaN))).toThrow(expect.objectContaining({ code: 'leaf-refused' }));
  });

  test.each([
    ['without seconds', derTags.utcTime, '2611301020Z'],
    ['with an offset', derTags.utcTime, '261130102030+0100'],
    ['with a fraction', derTags.generalizedTime, '20261130102030.5Z'],
    ['without Z', derTags.generalizedTime, '20261130102030'],
    ['on a day that does not exist', derTags.utcTime, '260230000000Z'],
    ['at an hour that does not exist', derTags.utcTime, '261130240000Z'],
    ['in a leap second', derTags.utcTime, '161231235960Z'],
    ['of another kind', derTags.printableString, '261130102030Z'],
    ['that is empty', derTags.utcTime, ''],
  ])('%s is refused', (_, tag, text) => {
    expect(() => readTime(timeValue(tag, text))).toThrow(expect.objectContaining({ code: 'der-malformed' }));
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLineSplitter } from '../../src/observe/line-splitter.ts';

const text = fc.array(fc.string({ unit: 'grapheme', maxLength: 12 }).map((line) => line.replaceAll('\n', ' ')));

describe('the line splitter', () => {
  test('gives the same lines however the bytes are cut, and counts those above the limit', () => {
    fc.assert(
      fc.property(text, fc.array(fc.nat({ max: 20 })), fc.integer({ min: 1, max: 20 }), (wanted, cuts, limit) => {
        const bytes = Buffer.from(wanted.map((line) => `${line}\n`).join(''));
        const lines: string[] = [];
        let tooLong = 0;
        const splitter = createLineSplitter(
          limit,
          (line) => void lines.push(line),
          () => (tooLong += 1),
        );
        let from = 0;
        for (const cut of [...cuts, bytes.length]) {
          splitter.take(bytes.subarray(from, from + cut));
          from += cut;
        }
        const isTooLong = (line: string): boolean => Buffer.byteLength(line) > limit;
        expect(lines).toEqual(wanted.filter((line) => line !== '' && !isTooLong(line)));
        expect(tooLong).toBe(wanted.filter(isTooLong).length);
      }),
    );
  });

  test('keeps nothing of a line that is too long already', () => {
    const splitter = createLineSplitter(
      1_000,
      () => undefined,
      () => undefined,
    );
    const before = process.memoryUsage().arrayBuffers;
    const chunk = new Uint8Array(1024 * 1024);
    for (let mebibytes = 0; mebibytes < 200; mebibytes += 1) splitter.take(chunk);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100 * 1024 * 1024);
  });
});

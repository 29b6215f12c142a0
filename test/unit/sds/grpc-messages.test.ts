// Messages out of chunks: however they are cut, whatever is declared.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { framed, KeptBytes, MessageReader, SharedKeptBytes } from '../../../src/sds/grpc-messages.ts';

const alone = (max: number): KeptBytes => new KeptBytes(max, new SharedKeptBytes(2 * max, 0));
const roomy = () => alone(1024 * 1024);

function readAll(reader: MessageReader): string[] {
  const messages: string[] = [];
  for (let message = reader.next(); message !== undefined; message = reader.next()) {
    messages.push(message.toString('latin1'));
  }
  return messages;
}

describe('a reader of gRPC messages', () => {
  it('finds the same messages however they are cut into chunks', () => {
    const text = fc.string({ unit: 'binary-ascii', maxLength: 700 });
    fc.assert(
      fc.property(fc.array(text, { maxLength: 12 }), fc.array(fc.integer({ min: 1, max: 900 })), (texts, sizes) => {
        const bytes = Buffer.concat(texts.map((one) => framed(Buffer.from(one, 'latin1'))));
        const reader = new MessageReader(700, roomy());
        const found: string[] = [];
        for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? bytes.length;
          reader.push(bytes.subarray(at, at + size));
          found.push(...readAll(reader));
          at += size;
        }
        expect(found).toEqual(texts);
        expect(reader.isEmpty).toBe(true);
      }),
    );
  });

  it('may be left in the middle of a chunk and goes on where it was', () => {
    const reader = new MessageReader(10, roomy());
    reader.push(Buffer.concat([framed(Buffer.from('one')), framed(Buffer.from('two')), framed(Buffer.from('three'))]));
    expect(reader.next()?.toString()).toBe('one');
    reader.push(framed(Buffer.from('four')));
    expect(readAll(reader)).toEqual(['two', 'three', 'four']);
  });

  it('refuses a message beyond the limit as soon as its length is known', () => {
    const atLimit = new MessageReader(4, roomy());
    atLimit.push(framed(Buffer.alloc(4)));
    expect(atLimit.next()).toHaveLength(4);
    const above = new MessageReader(4, roomy());
    above.push(Buffer.from([0, 0, 0, 0, 5]));
    expect(() => above.next()).toThrow(expect.objectContaining({ code: 'sds-request-too-large' }));
  });

  const flags = [
    [1, 'sds-request-compressed'],
    [2, 'sds-request-malformed'],
    [255, 'sds-request-malformed'],
  ] as const;

  it.each(flags)('refuses a message with flags %d: %s', (flag, code) => {
    const reader = new MessageReader(10, roomy());
    reader.push(Buffer.from([flag, 0, 0, 0, 0]));
    expect(() => reader.next()).toThrow(expect.objectContaining({ code }));
  });

  it('keeps no room for what is declared and not sent, and no more than twice what was sent', () => {
    const kept = alone(4096);
    const declared = new MessageReader(1024 * 1024, kept);
    declared.push(Buffer.from([0, 0, 0x10, 0, 0]));
    expect(declared.next()).toBeUndefined();
    for (let count = 0; count < 1500; count += 1) {
      declared.push(Buffer.alloc(1));
      expect(declared.next()).toBeUndefined();
    }
    kept.take(4096 - 2 * 1504);
  });

  it('is bounded together with the others of its connection, and gives back what it has read or dropped', () => {
    const kept = alone(4096);
    const half = (reader: MessageReader): MessageReader => {
      reader.push(Buffer.from([0, 0, 0, 4]));
      reader.push(Buffer.alloc(997));
      return reader;
    };
    const one = half(new MessageReader(2000, kept));
    const other = half(new MessageReader(2000, kept));
    expect(() => half(new MessageReader(2000, kept))).toThrow(
      expect.objectContaining({ code: 'sds-request-too-large' }),
    );
    one.push(Buffer.alloc(28));
    expect(one.next()).toHaveLength(1024);
    half(new MessageReader(2000, kept)).drop();
    other.drop();
    expect(() => kept.take(4096)).not.toThrow();
  });

  it('is bounded together with those of other connections: each gets what is left for the others, and a little of its own', () => {
    const shared = new SharedKeptBytes(1000, 10);
    const connection = (): KeptBytes => new KeptBytes(800, shared);
    const isTaken = (kept: KeptBytes, count: number): boolean => {
      try {
        kept.take(count);
        return true;
      } catch {
        return false;
      }
    };
    const [one, other, third] = [connection(), connection(), connection()];
    expect([isTaken(one, 511), isTaken(one, 510)]).toEqual([false, true]);
    expect([isTaken(other, 261), isTaken(other, 260)]).toEqual([false, true]);
    // greedy ones without number leave each its own
    const greedy = Array.from({ length: 100 }, () => connection());
    for (const size of [60, 11]) for (const each of greedy) isTaken(each, size);
    expect([isTaken(third, 11), isTaken(third, 10)]).toEqual([false, true]);
    // whose message is small is told of the others, and not of a limit
    expect(() => third.take(2)).toThrow(expect.objectContaining({ code: 'sds-room-taken' }));
    expect(() => third.take(801)).toThrow(expect.objectContaining({ code: 'sds-request-too-large' }));
    one.give(510);
    expect([isTaken(third, 600), isTaken(third, 200)]).toEqual([false, true]);
  });
});

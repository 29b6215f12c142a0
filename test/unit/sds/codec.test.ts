// The hand-written codec, held equal to protobufjs' reading of proto/*.proto, and fed with what is not a message.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { millis } from '../../../src/clock.ts';
import { LeafgateError } from '../../../src/errors.ts';
import type { SdsVersion } from '../../../src/mint/mint-types.ts';
import type { AskedName } from '../../../src/names/name-types.ts';
import { secretTypeUrl } from '../../../src/sds/delta-request.ts';
import { decodeDeltaRequest, DeltaRequestDecoder } from '../../../src/sds/request-codec.ts';
import { encodeEmpty, encodeRemoval, encodeSecret } from '../../../src/sds/response-codec.ts';
import { maxNamesPerStream } from '../../../src/sds/sds-settings.ts';
import { SecretBytes } from '../../../src/secret-bytes.ts';
import { decodeXdsResponse, encodeXdsRequest, requestType } from '../../harness/xds-messages.ts';

const latin1 = fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)) });
const ascii = fc.string({ unit: fc.integer({ min: 0, max: 127 }).map((code) => String.fromCharCode(code)) });
const request = fc.record({
  typeUrl: ascii,
  subscribe: fc.array(latin1),
  unsubscribe: fc.array(latin1),
  held: fc.dictionary(ascii, ascii),
  nonce: ascii,
  rejection: fc.option(fc.string(), { nil: undefined }),
});

function errorOf(bytes: Buffer): unknown {
  try {
    decodeDeltaRequest(bytes);
    return undefined;
  } catch (error) {
    return error;
  }
}

describe('a request', () => {
  it('is read as protobufjs wrote it', () => {
    fc.assert(
      fc.property(request, ({ rejection, ...fields }) => {
        const given = rejection === undefined ? fields : { ...fields, rejection };
        const read = decodeDeltaRequest(encodeXdsRequest(given));
        expect({ ...read, held: Object.fromEntries(read.heldVersions) }).toMatchObject({
          typeUrl: fields.typeUrl,
          subscribe: fields.subscribe,
          unsubscribe: fields.unsubscribe,
          nonce: fields.nonce,
          held: { ...fields.held },
        });
        expect(read.rejection).toBe(rejection);
      }),
      { numRuns: 500 },
    );
  });

  it('with an unknown field of every wire type, and 61 KB of node, is read without them', () => {
    const plain = encodeXdsRequest({ subscribe: ['a.test'] });
    const node = requestType.encode({ node: { id: 'n'.repeat(61_000) } }).finish();
    const unknown = Buffer.from([
      ...[0x98, 0x06, 0xff, 0x7f],
      ...[0x99, 0x06, 1, 2, 3, 4, 5, 6, 7, 8],
      ...[0x9a, 0x06, 2, 1, 2],
      ...[0x9d, 0x06, 1, 2, 3, 4],
      // a known field with another wire type is an unknown field
      ...[0x10, 0x01],
    ]);
    const read = decodeDeltaRequest(Buffer.concat([node, unknown, plain, unknown]));
    expect(read).toEqual(decodeDeltaRequest(plain));
  });

  const malformed: readonly (readonly [string, readonly number[]])[] = [
    ['a tag cut off', [0x80]],
    ['a length beyond the end', [0x12, 0x05, 0x61]],
    ['a length of ten bytes', [0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]],
    ['a varint of eleven bytes', [0x98, 0x06, ...Array<number>(11).fill(0x80)]],
    ['field number 0', [0x02, 0x00]],
    ['a group', [0x0b, 0x0c]],
    ['wire type 7', [0x0f]],
    ['a fixed value cut off', [0x99, 0x06, 1, 2]],
    ['a broken map entry', [0x2a, 0x02, 0x0a, 0x05]],
    ['a broken status', [0x3a, 0x01, 0x80]],
  ];

  it.each(malformed)('with %s is malformed', (_what, bytes) => {
    expect(errorOf(Buffer.from(bytes))).toMatchObject({ code: 'sds-request-malformed' });
  });

  it('holds tokens to their limit and names to their number, one above is refused', () => {
    expect(errorOf(encodeXdsRequest({ typeUrl: 'u'.repeat(256), nonce: 'n'.repeat(256) }))).toBeUndefined();
    expect(errorOf(encodeXdsRequest({ typeUrl: 'u'.repeat(257) }))).toMatchObject({ code: 'sds-request-malformed' });
    expect(errorOf(encodeXdsRequest({ nonce: 'n'.repeat(257) }))).toMatchObject({ code: 'sds-request-malformed' });
    const names = (count: number) => Buffer.alloc(2 * count, Buffer.from([0x1a, 0x00]));
    expect(errorOf(names(3 * maxNamesPerStream))).toBeUndefined();
    expect(errorOf(names(3 * maxNamesPerStream + 1))).toMatchObject({ code: 'sds-request-too-large' });
  });

  it('holds a name to the length that TLS can carry, one byte above is refused', () => {
    expect(errorOf(encodeXdsRequest({ subscribe: ['n'.repeat(65_535)] }))).toBeUndefined();
    for (const list of ['subscribe', 'unsubscribe'] as const) {
      const request = encodeXdsRequest({ [list]: ['n'.repeat(65_536)] });
      expect(errorOf(request)).toMatchObject({ code: 'sds-request-malformed' });
    }
  });

  const inner = [
    ['a map entry', 0x2a],
    ['a status', 0x3a],
  ] as const;

  it.each(inner)('with %s of 256 fields is read, of one more is malformed', (_what, tag) => {
    const message = (fields: number) =>
      Buffer.concat([Buffer.from([tag, 0x80 | ((2 * fields) & 0x7f), (2 * fields) >> 7]), Buffer.alloc(2 * fields, 8)]);
    expect(errorOf(message(256))).toBeUndefined();
    expect(errorOf(message(257))).toMatchObject({ code: 'sds-request-malformed' });
  });

  it('is read a part at a time, and then as it would be at once', () => {
    const bytes = encodeXdsRequest({ subscribe: Array.from({ length: 1500 }, (_, at) => `n${at}.test`), nonce: '7' });
    const decoder = new DeltaRequestDecoder(bytes);
    expect([decoder.readPart(), decoder.readPart()]).toEqual([undefined, undefined]);
    expect(decoder.readPart()).toEqual(decodeDeltaRequest(bytes));
  });

  it('takes a held version that is too long to be ours for none', () => {
    const { heldVersions } = decodeDeltaRequest(encodeXdsRequest({ held: { 'a.test': 'v'.repeat(257) } }));
    expect([...heldVersions]).toEqual([['a.test', '']]);
  });

  it('reads no more of a rejection than is ever shown', () => {
    const { rejection } = decodeDeltaRequest(encodeXdsRequest({ nonce: '1', rejection: 'x'.repeat(1_000_000) }));
    expect(rejection).toHaveLength(8192);
  });

  it('of random bytes throws its own error or nothing', () => {
    const check = (bytes: Uint8Array) => {
      const error = errorOf(Buffer.from(bytes));
      if (error !== undefined) expect(error).toBeInstanceOf(LeafgateError);
    };
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), check), { numRuns: 20_000 });
  });

  it('mutated in a few bytes throws its own error or nothing', () => {
    const mutation = fc.record({ at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }) });
    fc.assert(
      fc.property(
        request,
        fc.array(mutation, { minLength: 1, maxLength: 4 }),
        ({ rejection, ...fields }, mutations) => {
          const bytes = encodeXdsRequest(rejection === undefined ? fields : { ...fields, rejection });
          for (const { at, byte } of mutations) if (bytes.length > 0) bytes[at % bytes.length] = byte;
          const error = errorOf(bytes);
          if (error !== undefined) expect(error).toBeInstanceOf(LeafgateError);
        },
      ),
      { numRuns: 5000 },
    );
  });

  it('keeps no reference to the bytes it was read from', () => {
    const bytes = encodeXdsRequest({ subscribe: ['a.test'], nonce: '7' });
    const read = decodeDeltaRequest(bytes);
    bytes.fill(0);
    expect(read).toMatchObject({ subscribe: ['a.test'], nonce: '7' });
  });
});

describe('a response', () => {
  const lengths = fc.oneof(fc.nat(300), fc.constantFrom(0, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152));

  const secret = fc.record({ name: latin1, chain: lengths, key: lengths, ttlMs: fc.nat(100_000_000), nonce: ascii });

  it('with a secret is read by protobufjs as it was meant, at every length', () => {
    fc.assert(
      fc.property(secret, ({ name, chain, key, ttlMs, nonce }) => {
        const chainPem = Buffer.alloc(chain, 'c');
        const privateKeyPem = new SecretBytes(Buffer.alloc(key, 'k'));
        const version = '00112233.1800000000.0a' as SdsVersion;
        const leaf = { version, serialHex: '0a', notBefore: 0 as never, notAfter: 0 as never, chainPem, privateKeyPem };
        const bytes = encodeSecret({ name: name as AskedName, leaf, ttlMs: millis(ttlMs), nonce });
        const { resources, ...response } = decodeXdsResponse(bytes);
        expect(response).toEqual({ typeUrl: secretTypeUrl, nonce, removed: [] });
        expect(resources).toHaveLength(1);
        const { chain: sentChain, key: sentKey, ...resource } = resources[0]!;
        expect(resource).toEqual({
          name,
          version,
          ttlSeconds: Math.max(1, Math.floor(ttlMs / 1000)),
          bodyTypeUrl: secretTypeUrl,
          secretName: name,
        });
        expect([sentChain.length, sentKey.length]).toEqual([chain, key]);
        expect(/^c*$/.test(sentChain) && /^k*$/.test(sentKey)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('with a removal, or empty, is read by protobufjs as it was meant', () => {
    fc.assert(
      fc.property(latin1, ascii, (name, nonce) => {
        expect(decodeXdsResponse(encodeRemoval(name as AskedName, nonce))).toEqual({
          typeUrl: secretTypeUrl,
          nonce,
          resources: [],
          removed: [name],
        });
        expect(decodeXdsResponse(encodeEmpty('type.test/T', nonce))).toEqual({
          typeUrl: 'type.test/T',
          nonce,
          resources: [],
          removed: [],
        });
      }),
    );
  });
});

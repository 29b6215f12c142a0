// The two files of trust delivery: whatever is well formed is read as it was meant, no path leads out of its folder, and
// no bytes make a parser throw.
import { join, normalize } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseBundleAllowlist } from '../../src/settings/bundle-allowlist.ts';
import { parseTrustVolume, type TrustForm } from '../../src/settings/trust-volume.ts';

const name = fc.stringMatching(/^[a-zA-Z0-9]([-._a-zA-Z0-9]{0,20}[a-zA-Z0-9])?$/);
const segment = fc.stringMatching(/^[a-z0-9_-][a-z0-9._ -]{0,10}$/);
/** each in a folder of its own, so that none is below another */
const paths = fc
  .array(fc.array(segment, { minLength: 1, maxLength: 14 }), { minLength: 1, maxLength: 8 })
  .map((lists) => lists.map((segments, index) => [`s${index}`, ...segments].join('/')));
const form = fc.constantFrom<TrustForm>('PEM', 'PKCS12', 'NSS');
const bundleNames = fc.uniqueArray(name, { minLength: 1, maxLength: 8 });

describe('a volume file', () => {
  it('is read as it was written, and as JSON says the same as YAML', () => {
    fc.assert(
      fc.property(paths, fc.infiniteStream(fc.tuple(bundleNames, form)), (given, choices) => {
        const sources = given.map((path) => {
          const [names, chosen] = choices.next().value ?? [['a'], 'PEM'];
          return { names, path, form: chosen };
        });
        const document = { dataSources: sources.map((source) => ({ trustBundle: source })) };
        const yaml = [
          'dataSources:',
          ...sources.flatMap((source) => [
            '- trustBundle:',
            `    names: ${JSON.stringify(source.names)}`,
            `    path: ${JSON.stringify(source.path)}`,
            `    form: ${source.form}`,
          ]),
        ].join('\r\n');
        const expected = { kind: 'read', value: { sources } };
        expect(parseTrustVolume(Buffer.from(JSON.stringify(document)), 'v')).toEqual(expected);
        expect(parseTrustVolume(Buffer.from(yaml), 'v')).toEqual(expected);
      }),
    );
  });

  const nastySegment = fc.oneof(
    segment,
    fc.constantFrom('..', '.', '', '...', '..a', '~', 'A', 'a', 'CON', 'a:b', 'a\\b', '\u0000', '%2e%2e'),
    fc.string({ unit: 'binary', maxLength: 6 }),
  );

  it('never leads out of its folder, nor to one place twice', () => {
    const nastyPaths = fc.array(
      fc.array(nastySegment, { maxLength: 20 }).map((segments) => segments.join('/')),
      { minLength: 1, maxLength: 8 },
    );
    fc.assert(
      fc.property(nastyPaths, (given) => {
        const document = { dataSources: given.map((path) => ({ trustBundle: { name: 'a', path } })) };
        const reading = parseTrustVolume(Buffer.from(JSON.stringify(document)), 'v');
        if (reading.kind === 'refused') return;
        const places = reading.value.sources.map(({ path }) => join('/volume', path));
        for (const [index, { path }] of reading.value.sources.entries()) {
          expect(normalize(path)).toBe(path);
          expect(places[index]).toBe(`/volume/${path}`);
        }
        for (const one of places) {
          expect(places.filter((other) => `${other}/`.startsWith(`${one}/`))).toEqual([one]);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('both files', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.json({ maxDepth: 6 }).map((text) => Buffer.from(text)),
    fc.json({ maxDepth: 4 }).map((text) => Buffer.from(`{"dataSources": [{"trustBundle": ${text}}]}`)),
    fc.json({ maxDepth: 4 }).map((text) => Buffer.from(`{"bundles": {"a": ${text}}}`)),
    fc.json({ maxDepth: 4 }).map((text) => Buffer.from(`{"bundles": {"a": {"clusterTrustBundle": ${text}}}}`)),
  );

  it('are read or refused with a reason and a remedy, whatever they are', () => {
    fc.assert(
      fc.property(bytes, (given) => {
        for (const reading of [parseTrustVolume(given, 'v'), parseBundleAllowlist(given, 'b')]) {
          if (reading.kind === 'read') continue;
          for (const { message, remedy, code } of reading.problems) {
            expect(message).toMatch(/\bv\b|\bb\b/);
            expect(`${message}${remedy}`).not.toMatch(/\{(?:at|hint|key|value|expected|example|place)\}/);
            expect(code).toMatch(/^delivery-/);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});

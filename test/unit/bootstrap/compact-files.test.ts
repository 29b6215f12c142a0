// What pods read is short and says the same: for any document, and for the bootstrap of every gateway.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { compactFiles } from '../../../src/bootstrap/compact-files.ts';
import { bootstrapDocument, generateEnvoyFiles } from '../../../src/bootstrap/generate-envoy-files.ts';
import { readableFiles } from '../../../src/bootstrap/readable-files.ts';
import type { JsonObject } from '../../../src/bootstrap/json.ts';
import { readBootstrapTree } from '../../../src/doctor/bootstrap-tree.ts';
import { gatewaySpec } from '../../support/gateway-spec.ts';
import { wholeSpec } from '../../support/whole-spec.ts';

const specs = [
  ['plain', gatewaySpec()],
  ['whole', wholeSpec()],
] as const;

/** by default the reader refuses a document that grows as much as ours does */
function read(text: string): unknown {
  return parse(text, { maxAliasCount: -1 });
}

test.each(specs)('every file of a %s gateway says what the readable one says', (_name, spec) => {
  const compact = generateEnvoyFiles(spec, compactFiles).files;
  for (const [file, text] of generateEnvoyFiles(spec, readableFiles).files) {
    expect(read(compact.get(file) ?? ''), file).toEqual(read(text));
  }
});

test.each(specs)('the bootstrap of a %s gateway takes a quarter of the readable one at most', (_name, spec) => {
  const document = bootstrapDocument(spec);
  expect(compactFiles.bootstrap(document).length).toBeLessThan(readableFiles.bootstrap(document).length / 4);
});

test('a part that stands in a document twice is written once, by the name that it has', () => {
  const part = { name: 'guard [a, b]', text: 'x'.repeat(200) };
  const text = compactFiles.bootstrap({ first: part, others: [part, { part }] });
  expect(text.match(/x{200}/g)).toHaveLength(1);
  expect(text).toContain('{"first": &guard-a-b- {"name": "guard [a, b]"');
  expect(text).toContain('"others": [*guard-a-b-,{"part": *guard-a-b-}]');
});

test('unlike parts of one name have names of their own', () => {
  const [one, other] = ['x', 'y'].map((letter) => ({ name: 'guard', text: letter.repeat(200) }));
  const document: JsonObject = { parts: [one, other, one, other].flatMap((part) => part ?? []) };
  const text = compactFiles.bootstrap(document);
  expect(text).toContain('*guard,*guard-2]');
  expect(read(text)).toEqual(document);
});

test.each([
  ['', '', ['part', 'part-2']],
  ['guard', 'guard-2', ['guard', 'guard-2']],
  ['guard-2', 'guard', ['guard-2', 'guard']],
])('parts that are called %j and %j have names that YAML takes, no two the same', (one, other, anchors) => {
  const parts = [one, one, other].map((name, index) => ({ name, text: String(index).repeat(200) }));
  const document: JsonObject = { parts: [...parts, ...parts] };
  const text = compactFiles.bootstrap(document);
  expect(read(text)).toEqual(document);
  const named = [...text.matchAll(/&([\w-]+) /g)].map(([, name]) => name);
  expect(named).toEqual(expect.arrayContaining(anchors));
  expect(new Set(named).size).toBe(3);
});

test('any document is read back as it was', () => {
  const { value } = fc.letrec<{ value: JsonObject }>((tie) => {
    const word = fc.constantFrom(
      '',
      'a',
      'name',
      '*a',
      '&a',
      'yes',
      '1',
      ': {',
      '#',
      '\n',
      'é',
      '\u2028',
      'x'.repeat(120),
    );
    const part = fc.oneof({ maxDepth: 4 }, word, fc.integer(), fc.boolean(), tie('value'), fc.array(tie('value')));
    return {
      value: fc.dictionary(
        word.filter((key) => key !== ''),
        part,
        { maxKeys: 3 },
      ),
    };
  });
  fc.assert(
    fc.property(value, (document) => {
      const twice = { document, again: document };
      expect(read(compactFiles.bootstrap(twice))).toEqual(twice);
    }),
  );
});

test('`leafgate doctor` reads such a bootstrap', () => {
  const text = generateEnvoyFiles(wholeSpec(), compactFiles).files.get('bootstrap.yaml') ?? '';
  expect(readBootstrapTree(text)).toMatchObject({ kind: 'tree' });
});

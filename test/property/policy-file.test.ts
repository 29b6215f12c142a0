// Whatever a policy file holds, reading it gives a policy or reasons, and never throws.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parsePolicyFile } from '../../src/settings/policy-file.ts';

const good = `default: deny
rules:
  - name: model-apis
    hosts: [api.example.com, "*.example.org", 192.0.2.0/24]
    ports: [443]
    actors: ["spiffe://a/b"]
    verdict: intercept
dryRun: { default: deny, rules: [] }
origins:
  - { name: partner, hosts: [a.test], certificate: c, key: k }
`;

/** pieces that mean something to YAML or to the reader of policies */
const pieces = fc.constantFrom(
  ...[
    '[',
    ']',
    '{',
    '}',
    ': ',
    '- ',
    '&a ',
    '*a',
    '!!set ',
    '"',
    "'",
    '\n',
    '  ',
    '\t',
    '? ',
    '|\n',
    '>\n',
    '---\n',
    '#',
  ],
  ...[
    '%YAML 1.1\n',
    '<<: ',
    'rules',
    'default',
    'null',
    '~',
    '0x1',
    '1e9',
    'deny',
    'name',
    'hosts',
    '\ufeff',
    '\0',
    'ü',
  ],
);

function read(text: string): ReturnType<typeof parsePolicyFile> {
  return parsePolicyFile(Buffer.from(text), { source: 'p.yaml', baseDir: '/' });
}

it('is read or refused when parts of a good file are replaced', () => {
  const change = fc.tuple(fc.nat(good.length), fc.nat(12), pieces);
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
      let text = good;
      for (const [at, cut, piece] of changes) text = text.slice(0, at) + piece + text.slice(at + cut);
      const reading = read(text);
      if (reading.kind === 'refused') {
        for (const { message } of reading.problems) expect(message).toMatch(/p\.yaml:\d+:\d+: /);
      }
    }),
    { numRuns: 3000 },
  );
});

it('is read or refused when it is any text at all', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.array(pieces).map((all) => all.join('')),
  );
  fc.assert(
    fc.property(text, (given) => {
      expect(['read', 'refused']).toContain(read(given).kind);
    }),
    { numRuns: 3000 },
  );
});

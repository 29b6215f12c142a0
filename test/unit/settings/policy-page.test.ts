// docs/policy.md shows files and decisions: they must be what the product reads and decides.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { outcomeName } from '../../../src/bootstrap/policy-filter.ts';
import { decide } from '../../../src/policy/decide.ts';
import { parsePolicyFile } from '../../../src/settings/policy-file.ts';
import { parsePolicyQuestion } from '../../../src/settings/policy-question.ts';

const page = readFileSync(new URL('../../../docs/policy.md', import.meta.url), 'utf8');
const blocks = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, text = '']) => text);
const rows = [...page.matchAll(/^\| `([^`]+)` \| (anyone|`[^`]+`) \| `([^`]+)` \|$/gm)];

function read(text: string): ReturnType<typeof parsePolicyFile> {
  return parsePolicyFile(Buffer.from(text), { source: 'policy.md', baseDir: '/' });
}

describe('docs/policy.md', () => {
  test('has three files, each of which is read', () => {
    expect(blocks.map((text) => read(text).kind)).toEqual(['read', 'read', 'read']);
  });

  test.each(rows.map(([, asked = '', by = '', outcome = '']) => [asked, by, outcome]))(
    'says of %s by %s what is decided: %s',
    (asked, by, outcome) => {
      const reading = read(blocks[0] ?? '');
      if (reading.kind === 'refused') throw new Error('the first file is refused');
      const question = parsePolicyQuestion(asked, by === 'anyone' ? undefined : by.replaceAll('`', ''));
      const { verdict, rule } = decide(reading.file.policy, question);
      expect(outcomeName(verdict, rule)).toBe(outcome);
    },
  );

  test('decides about something', () => {
    expect(rows.length).toBeGreaterThan(5);
  });
});

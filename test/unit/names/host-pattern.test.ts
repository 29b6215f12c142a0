// Patterns: what they hold, and that `*.x` never holds x.
import { describe, expect, it } from 'vitest';
import { hostPatternMatches, hostPatternText, parseHostPattern } from '../../../src/names/host-pattern.ts';
import type { ValidName } from '../../../src/names/name-types.ts';
import { askedNameFromText, parseAskedName } from '../../../src/names/parse-asked-name.ts';

function name(text: string): ValidName {
  const parsed = parseAskedName(askedNameFromText(text));
  return parsed.kind === 'refused' ? expect.fail(`refused: ${text}`) : parsed;
}

describe('hostPatternMatches', () => {
  it.each([
    ['example.com', 'example.com', true],
    ['Example.COM.', 'example.com', true],
    ['example.com', 'a.example.com', false],
    ['*.example.com', 'a.example.com', true],
    ['*.example.com', 'a.b.example.com', true],
    ['*.example.com', 'example.com', false],
    ['*.example.com', 'badexample.com', false],
    ['*.Example.COM', 'a.EXAMPLE.com', true],
    ['*.com', 'example.com', true],
    ['192.0.2.1', '192.0.2.1', true],
    ['2001:db8:0::1', '2001:db8::1', true],
    ['192.0.2.1', '192.0.2.2', false],
    ['example.com', '192.0.2.1', false],
    ['*.example.com', '::1', false],
  ])('%s and %s: %s', (pattern, asked, isMatch) => {
    const parsed = parseHostPattern(pattern) ?? expect.fail(`no pattern: ${pattern}`);
    expect(hostPatternMatches(parsed, name(asked))).toBe(isMatch);
  });
});

describe('parseHostPattern', () => {
  it.each([
    '',
    '*',
    '*.',
    '**.com',
    '*a.com',
    'a.*.com',
    '*.*.com',
    '*.1',
    '*.192.0.2.1',
    'https://a.com',
    'a.com/x',
    'a.com:443',
    '[::1]',
  ])('refuses %j', (text) => {
    expect(parseHostPattern(text)).toBeUndefined();
  });

  it.each(['example.com', '*.example.com', '192.0.2.1', '2001:db8::1'])('writes %s as it was read', (text) => {
    const pattern = parseHostPattern(text);
    expect(pattern && hostPatternText(pattern)).toBe(text);
  });
});

import { describe, expect, it } from 'vitest';
import { scrubRejection } from '../../../src/sds/scrub-rejection.ts';

const key = `-----BEGIN PRIVATE KEY-----\n${'MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg\n'.repeat(3)}-----END PRIVATE KEY-----`;

describe('the text of a rejection', () => {
  const rows = [
    ['stays as it is without secrets', 'Failed to load private key <inline>', 'Failed to load private key <inline>'],
    ['loses a key', `before ${key} after`, 'before [PEM removed] after'],
    ['loses a key whose line ends are escaped', `b "${key.replaceAll('\n', '\\n')}" a`, 'b "[PEM removed]" a'],
    ['loses a key that is cut off', `before ${key.slice(0, 90)}`, 'before [PEM removed]'],
    ['loses every key', `${key} and ${key}`, '[PEM removed] and [PEM removed]'],
    [
      'loses what is left of a key whose head is cut off',
      `${key.slice(40, 75)}AAAAAAAAAA rest`,
      '[base64 removed] rest',
    ],
    ['cannot write to a terminal', 'a\u001b[31m\r\nb', 'a\\u001b[31m\\u000d\\u000ab'],
  ] as const;

  it.each(rows)('%s', (_what, text, shown) => {
    expect(scrubRejection(text)).toBe(shown);
  });

  it('is short and quickly done, however long it was', () => {
    const startedAt = performance.now();
    expect(scrubRejection('-----BEGIN '.repeat(700)).length).toBeLessThan(400);
    expect(scrubRejection('word '.repeat(1600)).length).toBeLessThan(400);
    expect(performance.now() - startedAt).toBeLessThan(1000);
  });
});

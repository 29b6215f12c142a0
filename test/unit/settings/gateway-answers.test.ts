// docs/answers.md is what people match on: it names every word that the gateway can say.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { localReplies as typedReplies } from '../../../src/bootstrap/local-replies.ts';
import { causeHeader, errorHeader, gatewayErrorWords, ruleHeader } from '../../../src/settings/gateway-answers.ts';
import { isOriginCause, originCauses, originCauseSigns } from '../../../src/settings/origin-causes.ts';

const localReplies = typedReplies as unknown as { readonly mappers: readonly { readonly filter: unknown }[] };
const document = readFileSync(new URL('../../../docs/answers.md', import.meta.url), 'utf8');

describe("the page of the gateway's answers", () => {
  test.each(Object.values(gatewayErrorWords))('has the error word %s', (word) => {
    expect(document).toMatch(new RegExp(`^\\| \`${word}\` \\|`, 'm'));
  });

  test('has each cause with its sentence, and no other', () => {
    const section = document.slice(document.indexOf('`cause` is one of'));
    const rows = [...section.matchAll(/^\| `(\w+)` \| (.*) \|$/gm)].map(([, cause, sentence]) => [cause, sentence]);
    expect(rows.filter(([cause]) => cause !== 'cause')).toEqual(Object.entries(originCauses));
  });

  test.each([errorHeader, ruleHeader, causeHeader])('has the header %s', (header) => {
    expect(document).toContain(`\`${header}\``);
  });
});

describe('the causes of a failed origin', () => {
  test('each have a sign by which they are known', () => {
    const known = new Set(originCauseSigns.map(({ cause }) => cause));
    expect(Object.keys(originCauses).filter((cause) => isOriginCause(cause) && !known.has(cause))).toEqual([]);
  });

  test('are looked for in a text that the origin wrote only after the sign that such a text follows', () => {
    expect(originCauseSigns[0]?.details).toBe('verify_SAN_list');
  });

  test('are told by texts before anything else is looked for in details, by flags after it', () => {
    const filters = localReplies.mappers.map(({ filter }) => JSON.stringify(filter));
    const place = (text: string): number => filters.findIndex((filter) => filter.includes(text));
    const firstRefusal = place('address_denied');
    for (const { details, flag } of originCauseSigns) {
      if (details !== undefined) expect(place(details)).toBeLessThan(firstRefusal);
      else expect(place(`"flags":["${flag}"]`)).toBeGreaterThan(firstRefusal);
    }
  });
});

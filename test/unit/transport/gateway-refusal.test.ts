import { describe, expect, it } from 'vitest';
import { readGatewayRefusal } from '../../../src/transport/gateway-refusal.ts';
import type { AnswerHeaders } from '../../../src/transport/gateway-refusal.ts';

const read = (headers: AnswerHeaders, body: unknown) =>
  readGatewayRefusal(headers, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));

describe("a gateway's own answer", () => {
  it.each([
    ['rule in the header', { 'x-leafgate-rule': 'deny:ads' }, '', { rule: 'deny:ads' }],
    ['error in the header', { 'x-leafgate-error': 'origin_failed' }, '', { error: 'origin_failed' }],
    [
      'rule and error in the body',
      {},
      { error: 'blocked_by_policy', rule: 'deny:ads' },
      { rule: 'deny:ads', error: 'blocked_by_policy' },
    ],
    [
      'header before body',
      { 'x-leafgate-rule': 'deny:a' },
      { error: 'blocked_by_policy', rule: 'deny:b' },
      { rule: 'deny:a', error: 'blocked_by_policy' },
    ],
    [
      'cause in the header',
      { 'x-leafgate-error': 'origin_failed', 'x-leafgate-cause': 'expired' },
      '',
      { error: 'origin_failed', cause: 'expired' },
    ],
    ['cause in the body', {}, { error: 'origin_failed', cause: 'dns' }, { error: 'origin_failed', cause: 'dns' }],
    ['a cause that nobody knows left out', {}, { error: 'origin_failed', cause: 'x' }, { error: 'origin_failed' }],
    ['repeated header', { 'x-leafgate-rule': ['deny:a', 'deny:b'] }, '', { rule: 'deny:a' }],
  ])('is known by its %s', (_, headers, body, refusal) => {
    expect(read(headers, body)).toEqual(refusal);
  });

  it.each([
    ['an empty body', {}, ''],
    ['a page', {}, '<html>Service unavailable</html>'],
    ["a server's own JSON error", {}, { error: 'not_found', rule: 'r' }],
    ['an error that is no text', {}, { error: { code: 'blocked_by_policy' } }],
    ['a JSON text', {}, '"blocked_by_policy"'],
    ['JSON null', {}, 'null'],
    ['a cut off body', {}, '{"error":"blocked_by_pol'],
    ['an empty rule', { 'x-leafgate-rule': '' }, ''],
    ['an error word that nobody knows', { 'x-leafgate-error': 'surprise' }, ''],
  ])('is not seen in %s', (_, headers, body) => {
    expect(read(headers, body)).toBeUndefined();
  });

  it('is made printable and short, since a peer chose it', () => {
    const rule = read({ 'x-leafgate-rule': `deny:\u001b[31m${'x'.repeat(9000)}` }, '')?.rule ?? '';
    expect(rule).not.toContain('\u001b');
    expect(rule.length).toBeLessThan(400);
  });
});

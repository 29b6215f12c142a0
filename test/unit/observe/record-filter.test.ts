import { describe, expect, test } from 'vitest';
import { epoch } from '../../../src/clock.ts';
import { parseHostPattern } from '../../../src/names/host-pattern.ts';
import type { AccessRecord } from '../../../src/observe/access-record.ts';
import { fitsRecord, type RecordFilter } from '../../../src/observe/record-filter.ts';

const time = '2026-11-30T10:43:43.477Z';
const record: AccessRecord = {
  ...{
    kind: 'request',
    time,
    id: 'a',
    client: '127.0.0.1:1',
    actor: 'spiffe://a/b',
    host: 'api.example.com',
    port: 443,
  },
  ...{ decision: 'deny', rule: 'ads', outcome: 'refused', durationMs: 5_000, bytesReceived: 0, bytesSent: 0 },
};

const hosts = (...texts: readonly string[]) => texts.flatMap((text) => parseHostPattern(text) ?? []);
const fits = (filter: Partial<RecordFilter>, change: Partial<AccessRecord> = {}): boolean =>
  fitsRecord({ ...record, ...change }, { hosts: [], ...filter });

describe('a filter of records', () => {
  test('that asks for nothing fits everything', () => {
    expect(fits({})).toBe(true);
    expect(fits({}, { host: '' })).toBe(true);
  });

  test.each<[readonly string[], string, boolean]>([
    [['api.example.com'], 'api.example.com', true],
    [['API.Example.Com'], 'api.example.com', true],
    [['*.example.com'], 'api.example.com', true],
    [['*.example.com'], 'example.com', false],
    [['*.example.com', 'example.com'], 'example.com', true],
    [['192.0.2.1'], '192.0.2.1', true],
    [['2001:db8::1'], '2001:db8:0:0::1', true],
    [['example.com'], 'api.example.com', false],
    [['example.com'], 'no host name!', false],
    [['example.com'], '', false],
  ])('by hosts %j: %s is %s', (patterns, host, expected) => {
    expect(fits({ hosts: hosts(...patterns) }, { host })).toBe(expected);
  });

  test('by rule takes a name alone or behind its verdict', () => {
    expect([fits({ rule: 'ads' }), fits({ rule: 'deny:ads' })]).toEqual([true, true]);
    expect([fits({ rule: 'relay:ads' }), fits({ rule: 'ad' })]).toEqual([false, false]);
  });

  test('by actor wants exactly that one', () => {
    expect([fits({ actor: 'spiffe://a/b' }), fits({ actor: 'spiffe://a' })]).toEqual([true, false]);
    expect(fits({ actor: 'spiffe://a/b' }, { actor: 'spiffe://c' })).toBe(false);
  });

  test('by outcome', () => {
    expect([fits({ outcome: 'refused' }), fits({ outcome: 'failed' })]).toEqual([true, false]);
  });

  test('by time counts from the end, so that a long connection that ended just now is shown', () => {
    const end = Date.parse(time) + 5_000;
    expect([fits({ since: epoch(end) }), fits({ since: epoch(end + 1) })]).toEqual([true, false]);
  });
});

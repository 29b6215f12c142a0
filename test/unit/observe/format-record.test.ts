import { describe, expect, test } from 'vitest';
import type { AccessRecord } from '../../../src/observe/access-record.ts';
import { formatRecordLine, formatWhy } from '../../../src/observe/format-record.ts';

const record: AccessRecord = {
  kind: 'request',
  time: '2026-11-30T10:43:43.477Z',
  id: 'e4bca198',
  client: '127.0.0.1:36060',
  host: 'api.example.com',
  port: 443,
  decision: 'intercept',
  rule: 'default',
  outcome: 'ok',
  leaf: 'minted',
  method: 'GET',
  path: '/v1/x',
  protocol: 'HTTP/2',
  upstreamProtocol: 'HTTP/1.1',
  status: 200,
  durationMs: 34,
  bytesReceived: 0,
  bytesSent: 3,
};
const refused = { code: 'policy', words: 'refused by rule ads', remedy: 'change the rule' } as const;

type Change = { readonly [key in keyof AccessRecord]?: AccessRecord[key] | undefined };

/** without the time of day, which is the reader's own; `undefined` takes a field away */
const shown = (change: Change): string =>
  formatRecordLine(JSON.parse(JSON.stringify({ ...record, ...change })) as AccessRecord).slice(10);

describe('formatRecordLine', () => {
  test('says who it was for where that is known', () => {
    expect(shown({ actor: 'spiffe://a/b' })).toMatch(/GET api\.example\.com\/v1\/x {2}for spiffe:\/\/a\/b$/);
  });

  test('has a dash where a handshake ended before its server name, and no id where there is none', () => {
    const early = { ...record, kind: 'handshake', host: '', id: '', method: undefined, reason: refused } as const;
    expect(shown({ ...early, path: undefined, port: undefined })).toMatch(/TLS - {2}\(refused by rule ads\)$/);
    const lines = formatWhy({ ...record, id: '', reason: refused }, { caFile: '/c', mergedFile: '/m' });
    expect(lines.at(-1)).toMatch(/by +intercept:default$/);
  });

  test('shows the time of day of the reader', () => {
    const local = new Date(record.time).toTimeString().slice(0, 8);
    expect(formatRecordLine(record)).toMatch(new RegExp(`^${local}  127`));
  });

  test.each<[string, Change, string]>([
    ['a request', {}, '127.0.0.1:36060        intercept  minted  h2→h1    200     34 ms  GET api.example.com/v1/x'],
    [
      'a refused CONNECT',
      {
        kind: 'connect',
        decision: 'deny',
        outcome: 'refused',
        leaf: undefined,
        method: 'CONNECT',
        path: undefined,
        protocol: 'HTTP/1.1',
        upstreamProtocol: undefined,
        status: 403,
        reason: refused,
      },
      '127.0.0.1:36060        deny       -       h1       403     34 ms  CONNECT api.example.com:443  (refused by rule ads)',
    ],
    [
      'a broken handshake',
      {
        kind: 'handshake',
        method: undefined,
        path: undefined,
        protocol: undefined,
        upstreamProtocol: undefined,
        status: 0,
      },
      '127.0.0.1:36060        intercept  minted  -          -     34 ms  TLS api.example.com:443',
    ],
    [
      'a long relayed connection to an address',
      {
        kind: 'tunnel',
        decision: 'relay',
        host: '2001:db8::1',
        port: 8443,
        leaf: undefined,
        method: undefined,
        path: undefined,
        protocol: undefined,
        upstreamProtocol: undefined,
        status: undefined,
        durationMs: 61_250,
      },
      '127.0.0.1:36060        relay      -       -          -    61.3 s  TCP [2001:db8::1]:8443',
    ],
    [
      'a request that a guard refused',
      { decision: 'deny', outcome: 'refused', status: 403 },
      '127.0.0.1:36060        deny       minted  h2→h1    403     34 ms  GET api.example.com/v1/x',
    ],
    [
      'an unusual port',
      { port: 8443 },
      '127.0.0.1:36060        intercept  minted  h2→h1    200     34 ms  GET api.example.com:8443/v1/x',
    ],
  ])('%s', (_, change, line) => {
    expect(shown(change)).toBe(line);
  });

  test('a client that does not trust the gateway is told with what to set', () => {
    const reason = { code: 'client-distrusts', words: 'it does not trust us', remedy: 'set SSL_CERT_FILE' } as const;
    expect(shown({ reason })).toMatch(/\(it does not trust us: set SSL_CERT_FILE\)$/);
  });

  test('a long target is cut, and the line stays one line', () => {
    const line = formatRecordLine({ ...record, path: `/${'a'.repeat(2000)}`, host: 'x\n\u001b[2J' });
    expect(line.length).toBeLessThan(250);
    expect(line).not.toMatch(/[\u0000-\u001f]/);
  });

  test('a time that cannot be read is shown as it is', () => {
    expect(formatRecordLine({ ...record, time: 'soon' })).toMatch(/^soon {6}127/);
  });
});

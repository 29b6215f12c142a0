// Redirected connections that no chain takes, as Envoy 1.40 logged them.
import { describe, expect, test } from 'vitest';
import { epoch } from '../../../src/clock.ts';
import { createRecordJoiner } from '../../../src/observe/record-joiner.ts';

describe('a redirected connection that no chain takes', () => {
  // the TLS inspector notes as a failure what is no TLS
  const noTls = 'TLS_error|error:1000009c:SSL_routines:OPENSSL_internal:HTTP_REQUEST:TLS_error_end';
  const common = {
    ...{ leg: 'redirected', type: 'NotSet', start: '2026-11-30T10:00:00.000Z', client: '192.0.2.1:5000' },
    ...{ connect: '198.51.100.10:443', flags: 'NR', duration_ms: 0, rx: 0, tx: 0 },
  };

  test.each([
    [{ sni: 'invalid:a_b.test' }, 'handshake', 'no-leaf'],
    [{ client_tls_failure: noTls }, 'tunnel', 'not-redirected'],
    [{}, 'tunnel', 'not-redirected'],
    [{ sni: 'a.test' }, 'handshake', 'not-redirected'],
  ])('with %j is a %s for the reason %s', (fields, kind, code) => {
    const joiner = createRecordJoiner({ lineLost: () => undefined });
    const [record] = joiner.take(JSON.stringify({ ...common, ...fields }), epoch(0));
    expect(record).toMatchObject({
      ...{ kind, outcome: 'refused', decision: 'deny', client: '192.0.2.1:5000' },
      ...{ host: '198.51.100.10', port: 443, reason: { code } },
    });
    expect(joiner.sweep(epoch(60_000))).toEqual([]);
  });
});

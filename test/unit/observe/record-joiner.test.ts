import { describe, expect, test } from 'vitest';
import { epoch, millis, type EpochMs } from '../../../src/clock.ts';
import type { AccessRecord } from '../../../src/observe/access-record.ts';
import { createRecordJoiner } from '../../../src/observe/record-joiner.ts';
import { runMarker } from '../../../src/observe/run-marker.ts';
import { broken, closed, inner, intercepted, opened, plain, relayed } from './access-lines.ts';

const now = epoch(Date.UTC(2026, 10, 30));

function join(lines: readonly string[], at: EpochMs = now) {
  const lost: string[] = [];
  const joiner = createRecordJoiner({ lineLost: (reason) => void lost.push(reason) });
  const records = lines.flatMap((line) => joiner.take(line, at));
  return { records, lost, swept: joiner.sweep(epoch(at + 60_000)) };
}

function only({ records, lost, swept }: ReturnType<typeof join>): AccessRecord {
  expect([...records, ...swept]).toHaveLength(1);
  expect(lost).toEqual([]);
  return [...records, ...swept][0] as AccessRecord;
}

describe('a decrypted request', () => {
  test('is one record, complete from its own line, and its tunnel adds none', () => {
    expect(only(join([opened(), intercepted(), closed(), inner()]))).toEqual({
      kind: 'request',
      time: '2026-11-30T10:43:43.501Z',
      id: 'e4bca198-0035-4ff4-8eb6-e38ff83641ef',
      client: '127.0.0.1:36060',
      connect: 'good.test:443',
      sni: 'good.test',
      host: 'good.test',
      port: 443,
      decision: 'intercept',
      rule: 'default',
      outcome: 'ok',
      clientTls: 'trusts',
      leaf: 'minted',
      leafSerial: '5d66ee7e77a38ab6f3bc725c594db779',
      method: 'GET',
      path: '/first',
      protocol: 'HTTP/2',
      upstreamProtocol: 'HTTP/2',
      tls: 'TLSv1.3',
      status: 200,
      handshakeMs: 22,
      firstByteMs: 12,
      durationMs: 14,
      bytesReceived: 0,
      bytesSent: 3,
      upstream: '192.0.2.7:443',
      upstreamTls: 'TLSv1.3',
      originCertificate: 'verified',
    });
  });

  test('has the actor, from its own line or from the CONNECT', () => {
    const actor = 'spiffe://cluster.local/ns/a/sa/b';
    expect(only(join([intercepted({ actor })])).actor).toBe(actor);
    expect(only(join([opened({ actor }), intercepted()])).actor).toBe(actor);
    expect(only(join([intercepted({ actor: '-' })])).actor).toBeUndefined();
  });

  test.each([
    ['verify_SAN_list,_expected_SANs:_[a.test],_certificate_SANs:_[certificate_has_expired.test]', 'wrong_name'],
    ['certificate_verification_error_at_depth_0:_certificate_has_expired', 'expired'],
    ['certificate_verification_error_at_depth_0:_unable_to_get_local_issuer_certificate', 'not_trusted'],
  ])('tells the fate of the origin’s certificate: %s', (failure, fate) => {
    const upstream_failure = `TLS_error:|268435581:SSL_routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED:${failure}`;
    const record = only(join([intercepted({ status: 502, flags: 'UF', upstream_failure, upstream_tls: null })]));
    expect(record).toMatchObject({ originCertificate: fate, cause: fate, outcome: 'failed' });
    expect(record.upstreamFailure).toContain('CERTIFICATE VERIFY FAILED');
    expect(record.upstreamTls).toBeUndefined();
  });

  test('has no cause once the answer had begun: the client was told no word', () => {
    const details = 'upstream_reset_after_response_started{connection_termination}';
    const record = only(join([intercepted({ flags: 'UC', details })]));
    expect(record).toMatchObject({ outcome: 'failed', status: 200, reason: { code: 'origin-reset' } });
    expect(record.cause).toBeUndefined();
  });

  test('is told at once, before its tunnel ends', () => {
    expect(join([opened(), intercepted()]).records).toHaveLength(1);
  });

  test('takes what its line lacks from the CONNECT of the same id', () => {
    const record = only(join([opened(), intercepted({ client: null, connect: null, host: null, rule: null })]));
    expect(record).toMatchObject({ client: '127.0.0.1:36060', host: 'good.test', port: 443, decision: 'intercept' });
  });

  test('knows how long its handshake took only with the line that began its tunnel', () => {
    expect(only(join([intercepted()])).handshakeMs).toBeUndefined();
    const later = intercepted({ start: '2026-11-30T10:43:49.000Z', handshake_end_ms: -5500 });
    expect(join([opened(), intercepted(), later]).records.map(({ handshakeMs }) => handshakeMs)).toEqual([22, 22]);
  });

  test('takes nothing from a CONNECT of another id', () => {
    const [record] = join([opened({ id: 'other', client: '10.0.0.9:1' }), intercepted({ client: null })]).records;
    expect(record?.client).toBe('');
  });

  test('shows minted for the connection that met the leaf first, and cached for all others', () => {
    const { records } = join([
      intercepted({ id: 'a' }),
      intercepted({ id: 'b' }),
      intercepted({ id: 'a' }),
      intercepted({ id: 'b', leaf: 'serialNumber=00aa,CN=good.test' }),
    ]);
    expect(records.map(({ leaf }) => leaf)).toEqual(['minted', 'cached', 'minted', 'minted']);
  });

  test('never shows a query, even if the log had one', () => {
    expect(only(join([intercepted({ path: '/a?token=secret#x' })])).path).toBe('/a');
  });

  test("an origin's own 503 is an answer, no failure", () => {
    expect(only(join([intercepted({ status: 503 })]))).toMatchObject({ outcome: 'ok', status: 503 });
    expect(only(join([intercepted({ status: 503 })])).reason).toBeUndefined();
  });
});

describe('other legs', () => {
  test('a plain request through the proxy is one record with its own port', () => {
    expect(only(join([plain()]))).toMatchObject({ kind: 'request', host: 'clear.test', port: 8080, outcome: 'ok' });
  });

  test('an upgrade in clear is one record, told when it ends, and its end is no failure', () => {
    const begin = plain({ type: 'DownstreamTunnelSuccessfullyEstablished', status: 101 });
    const end = plain({ status: 101, flags: 'DC', details: 'downstream_remote_disconnect' });
    const { records } = join([begin, end]);
    expect(records).toHaveLength(1);
    expect(records[0]).toMatchObject({ kind: 'request', outcome: 'ok', status: 101 });
  });

  test('a request that could not be read is one record with its client alone', () => {
    const unreadable = plain({
      ...{ id: null, host: null, authority: null, method: null, path: null, rule: null, upstream_protocol: null },
      ...{ upstream: null, status: 400, flags: 'DPE', details: 'http1.codec_error' },
    });
    expect(only(join([unreadable]))).toMatchObject({
      ...{ kind: 'request', id: '', host: '', decision: 'deny', outcome: 'failed', status: 400 },
      reason: { code: 'client-request' },
    });
  });

  test('a relayed connection is one record, and its inner line adds none', () => {
    const lines = [opened({ rule: 'relay:pinned' }), relayed(), inner({ chain: 'relay' }), closed()];
    expect(only(join(lines))).toMatchObject({
      kind: 'tunnel',
      decision: 'relay',
      rule: 'pinned',
      bytesReceived: 1000,
      bytesSent: 50000,
    });
  });

  test('a refused CONNECT is one record that names the rule, which only the details know', () => {
    const details = 'rbac_access_denied_matched_policy[deny:ads]';
    const record = only(join([closed({ status: 403, rule: null, details, flags: 'UAEX' })]));
    expect(record).toMatchObject({ kind: 'connect', decision: 'deny', rule: 'ads', outcome: 'refused', status: 403 });
    expect(record.reason).toMatchObject({ code: 'policy', words: 'refused by rule ads' });
    expect(record.reason?.remedy).toMatch(/rule/);
  });

  test('an address in brackets is told without them', () => {
    const record = only(join([closed({ status: 403, host: null, connect: '[2001:db8::1]:8443' })]));
    expect(record).toMatchObject({ host: '2001:db8::1', port: 8443 });
  });

  test('an opaque connection that no rule opens is one record with the reason', () => {
    const opaque = inner({ chain: null, flags: 'NR', sni: null, tls: null, leaf: null, handshake_ms: null });
    const record = only(join([opened(), opaque, closed({ flags: 'UC' })]));
    expect(record).toMatchObject({ kind: 'tunnel', outcome: 'refused', reason: { code: 'opaque-closed' } });
  });

  test('who closed before a protocol was shown is told by the end of the CONNECT, whichever line comes first', () => {
    const silent = inner({ chain: null, flags: null, sni: null, client_tls_failure: null, handshake_ms: null });
    for (const [flags, outcome, code] of [
      ['DC', 'failed', 'client-left'],
      ['UC', 'refused', 'opaque-closed'],
    ]) {
      for (const lines of [
        [opened(), closed({ flags: flags ?? null }), silent],
        [opened(), silent, closed({ flags: flags ?? null })],
      ]) {
        expect(only(join(lines))).toMatchObject({ kind: 'tunnel', outcome, reason: { code } });
      }
    }
  });

  test('a tunnel of which no inner line comes is told when the time for one is over', () => {
    const { records, swept } = join([opened(), closed()]);
    expect(records).toEqual([]);
    expect(swept).toMatchObject([{ kind: 'tunnel', reason: { code: 'client-left' } }]);
  });

  test('a tunnel that is still open is not told', () => {
    expect(join([opened()]).swept).toEqual([]);
  });
});

describe('a handshake without a request', () => {
  test('is one record, however its lines are ordered', () => {
    const failure = broken('TLS_error:|268436504:SSL_routines:OPENSSL_internal:TLSV1_ALERT_UNKNOWN_CA:TLS_error_end');
    for (const lines of [
      [opened(), failure, closed()],
      [opened(), closed(), failure],
      [failure, opened(), closed()],
    ]) {
      const expected = { kind: 'handshake', outcome: 'failed', leaf: 'minted', clientTls: 'distrusts' };
      expect(only(join(lines))).toMatchObject(expected);
    }
  });

  test('a request seen on another connection does not hide it', () => {
    const { records } = join([intercepted({ id: 'a' }), broken(null, { id: 'b' })]);
    expect(records.map(({ kind }) => kind)).toEqual(['request', 'handshake']);
  });

  test('the end of a connection that had requests adds none, though its socket was reset', () => {
    expect(only(join([intercepted(), inner()])).kind).toBe('request');
  });
});

describe('a whole handshake without a request', () => {
  const unasked = { id: 'b', start: '2026-11-30T10:43:43.600Z', client: '127.0.0.1:36062' };
  const tunnel = [opened(unasked), inner({ ...unasked, handshake_ms: 52, duration_ms: 53 }), closed(unasked)];
  const pinned = { kind: 'handshake', outcome: 'failed', clientTls: 'pins', reason: { code: 'client-no-request' } };
  const spare = { kind: 'handshake', outcome: 'ok', clientTls: 'trusts', decision: 'intercept' };

  test('that ended at once is told as pinning, when nothing else can come', () => {
    const { records, swept } = join(tunnel);
    expect(records).toEqual([]);
    expect(swept).toMatchObject([{ ...pinned, id: 'b', connect: 'good.test:443' }]);
    const joiner = createRecordJoiner({ lineLost: () => undefined });
    for (const line of tunnel) joiner.take(line, now);
    expect(joiner.finish()).toMatchObject([pinned]);
  });

  test('that went on for a second is no failure: nobody keeps what he does not accept', () => {
    const open = inner({ ...unasked, handshake_ms: 52, duration_ms: 1052 });
    const record = only(join([opened(unasked), open, closed(unasked)]));
    expect(record).toMatchObject(spare);
    expect(record.reason).toBeUndefined();
    expect(only(join([inner({ ...unasked, handshake_ms: 52, duration_ms: 1051 })]))).toMatchObject(pinned);
  });

  const used = { id: 'a', client: '127.0.0.1:36060' };
  test.each([
    ['of the same moment', {}, {}, spare],
    ['of half a second before', { start: '2026-11-30T10:43:43.100Z' }, { duration_ms: 200 }, spare],
    ['of longer before', { start: '2026-11-30T10:43:43.099Z' }, { duration_ms: 200 }, pinned],
    ['of longer after', { start: '2026-11-30T10:43:44.101Z' }, { start: '2026-11-30T10:43:44.101Z' }, pinned],
    ['that had ended before', {}, { start: '2026-11-30T10:43:43.500Z', duration_ms: 99 }, pinned],
    ['of another client', { client: '127.0.0.2:36060' }, { client: '127.0.0.2:36060' }, pinned],
    ['of another actor', { actor: 'spiffe://a/b' }, { actor: 'spiffe://a/b' }, pinned],
    ['for another name', {}, { sni: 'other.test' }, pinned],
  ])('beside a request on a tunnel %s', (_, opening, request, told) => {
    const asked = { ...used, start: '2026-11-30T10:43:43.601Z' };
    const lines = [opened({ ...used, start: unasked.start, ...opening }), intercepted({ ...asked, ...request })];
    for (const order of [
      [...tunnel, ...lines],
      [...lines, ...tunnel],
    ]) {
      const { records, swept } = join(order);
      expect(records.map(({ kind }) => kind)).toEqual(['request']);
      expect(swept).toMatchObject([told]);
    }
  });
});

describe('a handshake with the proxy itself', () => {
  const front = (fields: Parameters<typeof broken>[1] = {}): string =>
    broken('TLS_error:|1:SSL_routines:OPENSSL_internal:TLSV1_ALERT_UNKNOWN_CA:TLS_error_end', {
      ...{
        leg: 'front',
        chain: 'explicit-tls',
        id: null,
        host: null,
        rule: null,
        connect: null,
        leaf: null,
        tls: null,
      },
      ...{ sni: 'proxy.test', proxy_tls: 'TLSv1.2', ...fields },
    });

  test('is one record when it came to nothing, with its client alone', () => {
    const record = only(join([front()]));
    expect(record).toMatchObject({
      ...{ kind: 'handshake', id: '', host: '', client: '127.0.0.1:36060', sni: 'proxy.test', outcome: 'failed' },
      reason: { code: 'proxy-distrusted' },
    });
    expect([record.proxyTls, record.tls, record.clientTls]).toEqual([undefined, undefined, undefined]);
  });

  test('is none when it ended: its requests tell', () => {
    expect(join([front({ handshake_ms: 3 })]).records).toEqual([]);
  });
});

describe('bounds', () => {
  test('a connection that came without a CONNECT is forgotten when its own line has come', () => {
    const lost: string[] = [];
    const limits = { maxTunnels: 2, graceMs: millis(1000) };
    const joiner = createRecordJoiner({ lineLost: (reason) => void lost.push(reason) }, limits);
    for (let at = 0; at < 5; at += 1) {
      const id = `transparent ${at}`;
      joiner.take(intercepted({ id }), epoch(now + at * 2_000));
      joiner.take(inner({ id }), epoch(now + at * 2_000));
      expect(joiner.sweep(epoch(now + at * 2_000 + 1_500))).toEqual([]);
    }
    expect(lost).toEqual([]);
  });

  test.each([
    ['no JSON', 'x'],
    ['half a line', '{"leg":"connect"'],
    ['another object', '{"a":1}'],
    ['an unknown leg', '{"leg":"other"}'],
    ['an array', '[]'],
    ['nothing', ''],
  ])('%s is counted, not thrown', (_, line) => {
    expect(join([line])).toMatchObject({ records: [], lost: ['not-json'] });
  });

  test('fields of the wrong kind are as absent', () => {
    const record = only(join([intercepted({ status: 'x', duration_ms: null, rx: '-', client: '' })]));
    expect(record).toMatchObject({ durationMs: 0, bytesReceived: 0, client: '' });
    expect(record.status).toBeUndefined();
  });

  test('what a client chose is escaped and cut', () => {
    const record = only(join([intercepted({ authority: 'x', host: `a\u001b[2J${'b'.repeat(5000)}`, path: '/\n' })]));
    expect(record.host.length).toBeLessThan(310);
    expect(record.host).toContain('\\u001b');
    expect(record.path).toBe('/\\u000a');
  });

  test('characters that turn the direction of text are escaped', () => {
    expect(only(join([intercepted({ path: '/\u202egpj.exe' })])).path).toBe('/\\u202egpj.exe');
  });

  test('a path is kept as long as Envoy keeps it', () => {
    const path = `/${'a'.repeat(1023)}`;
    expect(only(join([intercepted({ path })])).path).toBe(path);
  });

  test('only so many tunnels are remembered, the oldest go first and are counted', () => {
    const lost: string[] = [];
    const limits = { maxTunnels: 2, graceMs: millis(1000) };
    const joiner = createRecordJoiner({ lineLost: (reason) => void lost.push(reason) }, limits);
    for (const id of ['a', 'b', 'c']) joiner.take(opened({ id, client: `10.0.0.1:${id}` }), now);
    expect(lost).toEqual(['forgotten']);
    expect(joiner.take(intercepted({ id: 'a', client: null }), now)[0]?.client).toBe('');
    expect(joiner.take(intercepted({ id: 'c', client: null }), now)[0]?.client).toBe('10.0.0.1:c');
  });

  test('the end of a tunnel that had to make room blames nobody', () => {
    const joiner = createRecordJoiner({ lineLost: () => undefined }, { maxTunnels: 2, graceMs: millis(1000) });
    joiner.take(opened({ id: 'a' }), now);
    expect(joiner.take(intercepted({ id: 'a' }), now)).toHaveLength(1);
    for (const id of ['b', 'c']) joiner.take(opened({ id }), now);
    expect(joiner.take(inner({ id: 'a' }), now)).toEqual([]);
  });

  test('of a tunnel that began before the first line nobody is blamed, until a gateway starts anew', () => {
    const joiner = createRecordJoiner({ lineLost: () => undefined }, undefined, true);
    expect([inner({ id: 'a' }), closed({ id: 'a' })].flatMap((line) => joiner.take(line, now))).toEqual([]);
    expect(joiner.take(closed({ id: 'b', status: 403 }), now)).toMatchObject([{ kind: 'connect' }]);
    expect(joiner.take(intercepted({ id: 'c' }), now)).toMatchObject([{ kind: 'request' }]);
    expect(joiner.sweep(epoch(now + 60_000))).toEqual([]);
    expect(joiner.take(runMarker(now).trim(), now)).toEqual([]);
    expect(joiner.take(broken(null, { id: 'd' }), now)).toMatchObject([{ kind: 'handshake' }]);
  });

  test('a gateway that starts anew ends what another had open, and tells what had come to nothing', () => {
    const joiner = createRecordJoiner({ lineLost: () => undefined });
    const lines = [opened({ id: 'open' }), opened({ id: 'used' }), intercepted({ id: 'used' })];
    expect(lines.flatMap((line) => joiner.take(line, now))).toHaveLength(1);
    expect(joiner.take(runMarker(now).trim(), now)).toMatchObject([
      { kind: 'tunnel', id: 'open', outcome: 'failed', reason: { code: 'gateway-stopped' } },
    ]);
    expect(joiner.finish()).toEqual([]);
  });

  test('a tunnel is forgotten when its time is over, not before', () => {
    const joiner = createRecordJoiner({ lineLost: () => undefined }, { maxTunnels: 9, graceMs: millis(1000) });
    joiner.take(opened(), now);
    joiner.take(closed(), now);
    expect(joiner.sweep(epoch(now + 999))).toEqual([]);
    expect(joiner.sweep(epoch(now + 1000))).toHaveLength(1);
    expect(joiner.sweep(epoch(now + 9999))).toEqual([]);
  });
});

// Each row is what a real client or origin left in Envoy's log.
import { describe, expect, test } from 'vitest';
import { actorVariables } from '../../../src/projection/actor-runtimes.ts';
import { parseAccessLogLine } from '../../../src/observe/access-log-line.ts';
import { explainClientTls } from '../../../src/observe/explain-client-tls.ts';
import { explainProxyTls } from '../../../src/observe/explain-proxy-tls.ts';
import { explainRequest, originCauseOf, outcomeOf } from '../../../src/observe/explain-request.ts';
import { broken, inner, intercepted, relayed } from './access-lines.ts';

function parsed(line: string) {
  const found = parseAccessLogLine(line);
  if (found === undefined) throw new Error('not a line');
  return found;
}

const tls = (inside: string): string => `TLS_error:|${inside}:TLS_error_end`;
const ssl = 'SSL_routines:OPENSSL_internal';

describe('explainClientTls', () => {
  test.each([
    [
      'curl, Python (OpenSSL 3, TLS 1.3)',
      tls(`268435568:${ssl}:BAD_PACKET_LENGTH|268435595:${ssl}:DECRYPTION_FAILED_OR_BAD_RECORD_MAC`),
      'client-distrusts',
      'does not trust',
    ],
    ['curl with TLS 1.2', tls(`268436504:${ssl}:TLSV1_ALERT_UNKNOWN_CA`), 'client-distrusts', 'does not trust'],
    ['Go, GnuTLS', tls(`268436498:${ssl}:SSLV3_ALERT_BAD_CERTIFICATE`), 'client-distrusts', 'does not trust'],
    ['Java, Chromium', tls(`268436502:${ssl}:SSLV3_ALERT_CERTIFICATE_UNKNOWN`), 'client-distrusts', 'does not trust'],
    [
      'Node',
      tls('33554536:system_library:OPENSSL_internal:Connection_reset_by_peer'),
      'client-distrusts',
      'most likely',
    ],
    ['a client that just closes', null, 'client-distrusts', 'most likely'],
    ['openssl with TLS 1.1', tls(`268435696:${ssl}:UNSUPPORTED_PROTOCOL`), 'client-handshake', 'in common'],
    ['something new', tls(`1:${ssl}:NEVER_SEEN`), 'client-handshake', "the client's handshake failed: NEVER_SEEN"],
    ['a refused name', tls(`268435589:${ssl}:CONNECTION_REJECTED`), 'no-leaf', 'minted for good.test'],
  ])('%s', (_, failure, code, words) => {
    const reason = explainClientTls(parsed(broken(failure)));
    expect(reason.code).toBe(code);
    expect(reason.words).toContain(words);
  });

  test('a certificate that did not come in time is told from distrust', () => {
    const late = broken(null, { local_close: 'transport_socket_timeout' });
    expect(explainClientTls(parsed(late)).code).toBe('leaf-timeout');
  });

  test('a handshake that the stop of the gateway cut off blames no client', () => {
    const cut = broken(tls('33554454:system_library:OPENSSL_internal:Invalid_argument'), {
      local_close: 'Active_Internal_Listener_destructor',
    });
    expect(explainClientTls(parsed(cut)).code).toBe('gateway-stopped');
  });

  test.each([
    [`1:${ssl}:TLSV1_ALERT_UNKNOWN_CA`, ['OpenSSL', 'CURL_CA_BUNDLE', 'REQUESTS_CA_BUNDLE', 'GIT_SSL_CAINFO']],
    [`1:${ssl}:BAD_PACKET_LENGTH|2:${ssl}:DECRYPTION_FAILED_OR_BAD_RECORD_MAC`, ['OpenSSL', 'SSL_CERT_FILE']],
    [`1:${ssl}:SSLV3_ALERT_BAD_CERTIFICATE`, ['Go', 'SSL_CERT_FILE', 'WGETRC']],
    [`1:${ssl}:SSLV3_ALERT_CERTIFICATE_UNKNOWN`, ['Java', 'trustStore', 'Chromium', 'NSS']],
    ['1:system_library:OPENSSL_internal:Connection_reset_by_peer', ['Node', 'NODE_EXTRA_CA_CERTS']],
  ])('distrust by %s says what to set for the clients that break off so', (failure, texts) => {
    const { remedy } = explainClientTls(parsed(broken(tls(failure))));
    for (const text of [...texts, 'leafgate run']) expect(remedy).toContain(text);
  });

  test('names no variable that `leafgate run` does not set', () => {
    const remedies = ['TLSV1_ALERT_UNKNOWN_CA', 'SSLV3_ALERT_BAD_CERTIFICATE', 'DECRYPTION_FAILED_OR_BAD_RECORD_MAC']
      .map((sign) => explainClientTls(parsed(broken(tls(`1:${ssl}:${sign}`)))).remedy ?? '')
      .join(' ');
    const named = remedies.match(/\b[A-Z]+(?:_[A-Z]+)+\b|\bWGETRC\b/g) ?? [];
    const set = new Set(actorVariables.map(({ name }) => name));
    expect(named.length).toBeGreaterThan(4);
    expect(named.filter((name) => !set.has(name))).toEqual([]);
  });

  test('an alert after the handshake is distrust as well: TLS 1.3 clients check last', () => {
    const late = inner({ client_tls_failure: tls(`1:${ssl}:SSLV3_ALERT_CERTIFICATE_UNKNOWN`) });
    expect(explainClientTls(parsed(late)).code).toBe('client-distrusts');
  });

  test('a client whose clock is wrong is told that', () => {
    const { code, words, remedy } = explainClientTls(parsed(broken(tls(`1:${ssl}:SSLV3_ALERT_CERTIFICATE_EXPIRED`))));
    expect([code, words]).toEqual(['client-distrusts', expect.stringContaining('out of date')]);
    expect(remedy).toContain('clock');
  });

  test.each([null, tls('33554536:system_library:OPENSSL_internal:Connection_reset_by_peer')])(
    'a client that goes before it saw a certificate is not blamed for its trust: %s',
    (failure) => {
      expect(explainClientTls(parsed(broken(failure, { leaf: null }))).code).toBe('client-left');
    },
  );

  test('a handshake that ended, with no request, may be a pinned certificate or wget', () => {
    const { code, words } = explainClientTls(parsed(inner({ client_tls_failure: null })));
    expect(code).toBe('client-no-request');
    expect(words).toContain('pinning');
  });

  test('a client without a server name is told that, whatever else it did', () => {
    expect(explainClientTls(parsed(inner({ sni: null }))).code).toBe('no-server-name');
    expect(explainClientTls(parsed(broken(null, { sni: null }))).code).toBe('no-server-name');
  });
});

describe('explainProxyTls', () => {
  test.each([
    [tls(`1:${ssl}:CERTIFICATE_VERIFY_FAILED:verify_cert_failed`), {}, 'client-certificate'],
    [tls(`1:${ssl}:TLSV1_ALERT_UNKNOWN_CA`), {}, 'proxy-distrusted'],
    [tls(`1:${ssl}:SSLV3_ALERT_BAD_CERTIFICATE`), {}, 'proxy-distrusted'],
    [tls(`1:${ssl}:BAD_PACKET_LENGTH|2:${ssl}:DECRYPTION_FAILED_OR_BAD_RECORD_MAC`), {}, 'proxy-distrusted'],
    [tls(`1:${ssl}:HTTP_REQUEST`), {}, 'client-handshake'],
    [tls(`1:${ssl}:NO_SHARED_CIPHER`), {}, 'client-handshake'],
    [null, { local_close: 'transport_socket_timeout' }, 'client-left'],
    [null, {}, 'client-left'],
    [null, { local_close: 'Active_Internal_Listener_destructor' }, 'gateway-stopped'],
  ])('%s with %j', (failure, fields, code) => {
    const line = parsed(broken(failure, { leg: 'front', id: null, host: null, rule: null, ...fields }));
    expect(explainProxyTls(line).code).toBe(code);
  });

  // a client may send the root of an unknown CA along: OpenSSL calls the chain, not the leaf, self-signed
  test('a chain that ends at an unknown root is not told to be a self-signed certificate', () => {
    const failure = `1:${ssl}:CERTIFICATE_VERIFY_FAILED:verify_cert_failed:_self-signed_certificate_in_certificate_chain`;
    const line = parsed(broken(tls(failure), { leg: 'front', id: null, host: null, rule: null }));
    expect(explainProxyTls(line).words).toMatch(/it, or a CA in its chain, is self-signed and not in the file/);
  });
});

const verify = (fault: string): string =>
  tls(`268435581:${ssl}:CERTIFICATE_VERIFY_FAILED:verify_cert_failed:_X509_verify_cert:_${fault}`);

const destroyed = 'downstream_local_disconnect(Active_Internal_Listener_destructor)';

describe('explainRequest', () => {
  test.each([
    ['wrong name', verify('verify_SAN_list,_expected_SANs:_[a.test]'), 'it is for another name'],
    ['expired', verify('certificate_verification_error_at_depth_0:_certificate_has_expired'), 'it has expired'],
    ['not yet', verify('certificate_verification_error_at_depth_0:_certificate_is_not_yet_valid'), 'not valid yet'],
    ['self-signed', verify('certificate_verification_error_at_depth_0:_self_signed_certificate'), '--origin-ca'],
    ['unknown CA', verify('..._at_depth_0:_unable_to_get_local_issuer_certificate'), 'its CA is not trusted here'],
    ['anything else', verify('something_else'), 'could not be verified'],
  ])("an origin's certificate: %s", (_, failure, words) => {
    const reason = explainRequest(parsed(intercepted({ status: 502, flags: 'UF', upstream_failure: failure })));
    expect(reason?.code).toBe('origin-distrusted');
    expect(reason?.words).toContain(words);
    expect(outcomeOf(reason)).toBe('failed');
  });

  test.each([
    ['UF', 'delayed_connect_error:_Connection_refused', '', 'origin-unreachable', 'refused the connection'],
    ['UF', 'delayed_connect_error:_Network_is_unreachable', '', 'origin-unreachable', 'could not be reached'],
    ['UF', tls(`268436496:${ssl}:SSLV3_ALERT_HANDSHAKE_FAILURE`), '', 'origin-handshake', 'agree on TLS'],
    ['DF', null, 'dns_resolution_failure{cares_norecords:Domain_name_not_found}', 'origin-not-resolved', 'resolved'],
    ['UR', null, 'upstream_reset_before_response_started{remote_reset}', 'origin-reset', 'reset'],
    ['UC', null, 'upstream_reset_after_response_started{connection_termination}', 'origin-reset', 'closed'],
    ['UT', null, 'response_timeout', 'origin-timeout', 'in time'],
    ['DC', null, 'downstream_remote_disconnect', 'client-left', 'client closed'],
    ['DC', null, destroyed, 'gateway-stopped', 'the gateway stopped'],
    ['DPE', null, 'http1.codec_error', 'client-request', 'broke the protocol'],
    ['UO', null, 'overflow', 'overload', 'too many'],
    ['UC,DC', null, '', 'origin-reset', 'origin closed'],
    ['-', null, 'request_headers_too_large', 'client-request', 'request_headers_too_large'],
    ['-', null, 'overload', 'overload', 'memory'],
    ['-', null, 'reached_concurrency_limit', 'overload', 'too many connections'],
    ['RL', null, 'local_rate_limited', 'rate-limited', '--client-rate'],
    ['DF', null, 'dns_cache_overflow', 'overload', 'names'],
  ])('flags %s with %s %s', (...[flags, failure, details, code, words]) => {
    const fields = { status: 503, flags, upstream_failure: failure, details };
    const reason = explainRequest(parsed(intercepted(fields)));
    expect(reason?.code).toBe(code);
    expect(reason?.words).toContain(words);
  });

  test.each([
    'address_denied.test',
    'overload.test',
    'dns_cache_overflow',
    'rbac_access_denied_matched_policy[deny:x]',
  ])('what an origin writes into its certificate explains nothing: %s', (name) => {
    const upstream_failure = verify(`verify_SAN_list,_expected_SANs:_[a.test],_certificate_SANs:_[${name}]`);
    const details = `upstream_reset_before_response_started{remote_connection_failure|${upstream_failure}}`;
    const line = parsed(intercepted({ status: 502, flags: 'UF', upstream_failure, details }));
    expect(explainRequest(line)?.code).toBe('origin-distrusted');
    expect(originCauseOf(line)).toBe('wrong_name');
  });

  test('a destination that is closed to clients says how to open it', () => {
    const details = 'dns_resolution_failure{address_denied}';
    const reason = explainRequest(parsed(intercepted({ status: 403, flags: 'DF', details })));
    expect(reason?.code).toBe('destination-denied');
    expect(reason?.words).toContain('--allow-destination');
    expect(outcomeOf(reason)).toBe('refused');
  });

  test('a rule whose name holds brackets is named whole', () => {
    const details = 'rbac_access_denied_matched_policy[deny:[2001:db8::1]:443]';
    expect(explainRequest(parsed(intercepted({ status: 403, details })))?.words).toBe(
      'refused by rule [2001:db8::1]:443',
    );
  });

  test('the default is told as that, since no rule has its name', () => {
    const details = 'rbac_access_denied_matched_policy[deny:default]';
    const reason = explainRequest(parsed(intercepted({ status: 403, details })));
    expect(reason).toMatchObject({ code: 'policy', words: 'no rule lets it through, and the default refuses' });
    expect(reason?.remedy).toMatch(/^add the host to a rule.*policy explain/);
  });

  test('names that differ are shown, each with where it came from', () => {
    const details = 'rbac_access_denied_matched_policy[name-mismatch]';
    const reason = explainRequest(parsed(intercepted({ status: 403, details, authority: 'other.test' })));
    expect(reason).toEqual({
      code: 'name-mismatch',
      words:
        'the CONNECT names good.test:443, TLS names good.test, the request names other.test: they must be the same',
    });
    expect(outcomeOf(reason)).toBe('refused');
  });

  test('a relayed connection with a lying server name is refused with both names', () => {
    const termination = 'rbac_access_denied_matched_policy[name-mismatch]';
    const reason = explainRequest(parsed(relayed({ termination, sni: 'liar.test' })));
    expect(reason?.words).toBe('the CONNECT names good.test:443, TLS names liar.test: they must be the same');
  });

  test('a success has no reason', () => {
    expect(explainRequest(parsed(intercepted()))).toBeUndefined();
    expect(explainRequest(parsed(intercepted({ status: 404 })))).toBeUndefined();
    expect(explainRequest(parsed(relayed()))).toBeUndefined();
  });
});

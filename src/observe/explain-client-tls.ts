// Why a client's TLS connection brought no request, from what Envoy's listener log shows (tables measured with curl, Go,
// GnuTLS, Java, Chromium, Python and Node). Pure.
import type { AccessLogLine } from './access-log-line.ts';
import type { RecordReason } from './access-record.ts';
import { cutByStop, wasCutByStop } from './gateway-stop.ts';

const trustHint =
  'start it with `leafgate run`, or give it the CA file that `leafgate up` names (SSL_CERT_FILE, NODE_EXTRA_CA_CERTS, …)';

type Symptom = { readonly sign: RegExp; readonly reason: RecordReason };

/** the first that fits; they are looked for only when the handshake never ended */
const brokenHandshakes: readonly Symptom[] = [
  {
    sign: /transport_socket_timeout/,
    reason: { code: 'leaf-timeout', words: 'no certificate came in time; see whether the SDS server is ready' },
  },
  // OpenSSL clients on TLS 1.3 send their alert under a key that BoringSSL has left already
  {
    sign: /UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_UNKNOWN|CERTIFICATE_EXPIRED|DECRYPTION_FAILED_OR_BAD_RECORD_MAC/,
    reason: { code: 'client-distrusts', words: `the client does not trust the gateway's CA: ${trustHint}` },
  },
  {
    sign: /NO_SHARED_CIPHER|UNSUPPORTED_PROTOCOL|NO_COMMON|VERSION|HANDSHAKE_FAILURE|NO_APPLICATION_PROTOCOL/,
    reason: { code: 'client-handshake', words: 'the client and the gateway have no TLS version or cipher in common' },
  },
  // Node resets without an alert; others just close
  {
    sign: /^(?:Connection_reset_by_peer)?$/,
    reason: {
      code: 'client-distrusts',
      words: `the client broke the handshake off, most likely since it does not trust the gateway's CA: ${trustHint}`,
    },
  },
];

/** The reason, for a listener line of the intercept chain whose connection showed no request. */
export function explainClientTls(line: AccessLogLine): RecordReason {
  if (wasCutByStop(line)) return cutByStop;
  const failure = line.text.client_tls_failure ?? '';
  if (/CONNECTION_REJECTED/.test(failure)) {
    const name = line.text.sni ?? 'a client without a server name';
    return { code: 'no-leaf', words: `no certificate is minted for ${name}; the log says why` };
  }
  // TLS has no server name for an address (RFC 6066 section 3), and a leaf needs a name
  if (line.text.sni === undefined) return noServerName;
  if (line.number.handshake_ms !== undefined) return noRequest;
  const signs = [line.text.local_close ?? '', bare(failure)].filter((sign) => sign !== '').join(' ');
  const found = brokenHandshakes.find(({ sign }) => sign.test(signs));
  return found?.reason ?? { code: 'client-handshake', words: `the client's handshake failed: ${bare(failure)}` };
}

const noServerName: RecordReason = {
  code: 'no-server-name',
  words: 'the client sent no server name, as for an address, so no certificate could fit',
};

/** GnuTLS (wget) verifies after the handshake, so its distrust looks like a pinned certificate */
const noRequest: RecordReason = {
  code: 'client-no-request',
  words: `the client closed after the handshake: it accepts one certificate only (pinning), or it does not trust the gateway's CA: ${trustHint}`,
};

/** `TLS_error:|268435568:SSL_routines:OPENSSL_internal:X:TLS_error_end` -> `X`, several joined by commas */
function bare(failure: string): string {
  const inner = failure.replace(/^TLS_error:\|?/, '').replace(/:?TLS_error_end$/, '');
  return inner
    .split('|')
    .map((part) => part.split(':').at(-1) ?? '')
    .filter((part) => part !== '')
    .join(', ');
}

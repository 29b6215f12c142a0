// Why a client's TLS connection brought no request, from what Envoy's listener log shows (tables measured with curl, Go,
// GnuTLS, Java, Chromium, Python and Node), and what to set for the clients that break off in that way. Pure.
import type { AccessLogLine } from './access-log-line.ts';
import type { FoundReason } from './access-record.ts';
import { cutByStop, wasCutByStop } from './gateway-stop.ts';

/** how clients show that they trust another CA, and who they are; `SSL_CERT_FILE` and the others are set by `run` too */
type Distrust = { readonly sign: RegExp; readonly who: string; readonly set: string };

const orRun = 'or start it with `leafgate run`, which sets all of these';

/** alerts stand in the log whether or not the gateway's side of the handshake had ended: TLS 1.3 clients check last */
const alerts: readonly Distrust[] = [
  {
    sign: /ALERT_UNKNOWN_CA/,
    who: 'OpenSSL (curl, Python, git, Ruby), rustls or Firefox',
    set: 'CURL_CA_BUNDLE for curl, REQUESTS_CA_BUNDLE for Python requests, GIT_SSL_CAINFO for git, SSL_CERT_FILE for others; Firefox takes it into its own store',
  },
  {
    sign: /ALERT_BAD_CERTIFICATE/,
    who: 'Go or GnuTLS',
    set: 'SSL_CERT_FILE for Go, GIT_SSL_CAINFO for git, --ca-certificate or WGETRC for wget',
  },
  {
    sign: /ALERT_CERTIFICATE_UNKNOWN/,
    who: 'Java or Chromium',
    set: 'a trust store with the CA for Java (-Djavax.net.ssl.trustStore in JAVA_TOOL_OPTIONS, keytool -importcert), the NSS store of the user for Chromium (certutil -A -t C,,)',
  },
];

/** what shows only in a handshake that never ended */
const silences: readonly Distrust[] = [
  {
    // their alert comes under a key that BoringSSL has left already
    sign: /DECRYPTION_FAILED_OR_BAD_RECORD_MAC/,
    who: 'OpenSSL (curl, Python, git, Ruby)',
    set: 'CURL_CA_BUNDLE for curl, REQUESTS_CA_BUNDLE for Python requests, GIT_SSL_CAINFO for git, SSL_CERT_FILE for others',
  },
  { sign: /Connection_reset_by_peer/, who: 'Node', set: 'NODE_EXTRA_CA_CERTS for Node, npm, Bun and Deno' },
];

const notInTime: FoundReason = {
  code: 'leaf-timeout',
  words: 'no certificate came in time; see whether the SDS server is ready',
};

const nothingInCommon: FoundReason = {
  code: 'client-handshake',
  words: 'the client and the gateway have no TLS version or cipher in common',
};

const expiredForClient: FoundReason = {
  code: 'client-distrusts',
  words: "the client finds the gateway's certificate out of date",
  remedy: "set the client's clock: a leaf is valid from five minutes before it was minted, for an hour",
};

const brokenOff: FoundReason = {
  code: 'client-distrusts',
  words: "the client broke the handshake off, most likely since it does not trust the gateway's CA",
};

/** TLS has no server name for an address (RFC 6066 section 3), and a leaf needs a name */
const noServerName: FoundReason = {
  code: 'no-server-name',
  words: 'the client sent no server name, as for an address, so no certificate could fit',
};

/** GnuTLS (wget) verifies after the handshake, so its distrust looks like a pinned certificate */
const noRequest: FoundReason = {
  code: 'client-no-request',
  words:
    "the client closed after the handshake: it accepts one certificate only (pinning), or it does not trust the gateway's CA",
};

/** Whether it is the reason of a whole handshake that brought no request, which may also be a connection ahead of need. */
export function isUnasked(reason: FoundReason): boolean {
  return reason === noRequest;
}

/** who does not accept a certificate closes at once; browsers keep what they do not need for seconds to minutes (measured) */
const longerThanAnyCheckMs = 1_000;

/** Whether the client kept a connection after its handshake, as it does with one that it accepts. */
export function stayedOpen({ number, durationMs }: AccessLogLine): boolean {
  return number.handshake_ms !== undefined && durationMs - number.handshake_ms >= longerThanAnyCheckMs;
}

const leftEarly: FoundReason = { code: 'client-left', words: 'the client left before it saw a certificate' };

/** The reason, for a listener line of the intercept chain whose connection showed no request. */
export function explainClientTls(line: AccessLogLine): FoundReason {
  if (wasCutByStop(line)) return cutByStop;
  const failure = line.text.client_tls_failure ?? '';
  if (/CONNECTION_REJECTED/.test(failure)) {
    const name = line.text.sni ?? 'a client without a server name';
    return { code: 'no-leaf', words: `no certificate is minted for ${name}; the log says why` };
  }
  if (line.text.sni === undefined) return noServerName;
  if (/ALERT_CERTIFICATE_EXPIRED/.test(failure)) return expiredForClient;
  const alert = alerts.find(({ sign }) => sign.test(failure));
  if (alert !== undefined) return distrustOf(alert);
  return line.number.handshake_ms === undefined ? explainBroken(line, failure) : noRequest;
}

function explainBroken(line: AccessLogLine, failure: string): FoundReason {
  if (/transport_socket_timeout/.test(`${line.text.local_close ?? ''} ${failure}`)) return notInTime;
  const isUnsaid = failure === '' || /Connection_reset_by_peer/.test(failure);
  if (isUnsaid && line.text.leaf === undefined) return leftEarly;
  const silence = silences.find(({ sign }) => sign.test(failure));
  if (silence !== undefined) return isUnsaid ? { ...distrustOf(silence), words: brokenOff.words } : distrustOf(silence);
  if (failure === '') return brokenOff;
  if (/NO_SHARED_CIPHER|UNSUPPORTED_PROTOCOL|NO_COMMON|VERSION|HANDSHAKE_FAILURE|NO_APPLICATION/.test(failure)) {
    return nothingInCommon;
  }
  return { code: 'client-handshake', words: `the client's handshake failed: ${bare(failure)}` };
}

function distrustOf({ who, set }: Distrust): FoundReason {
  return {
    code: 'client-distrusts',
    words: "the client does not trust the gateway's CA",
    remedy: `it looks like ${who}: set ${set}; ${orRun}`,
  };
}

/** `TLS_error:|268435568:SSL_routines:OPENSSL_internal:X:TLS_error_end` -> `X`, several joined by commas */
function bare(failure: string): string {
  const inner = failure.replace(/^TLS_error:\|?/, '').replace(/:?TLS_error_end$/, '');
  return inner
    .split('|')
    .map((part) => part.split(':').at(-1) ?? '')
    .filter((part) => part !== '')
    .join(', ');
}

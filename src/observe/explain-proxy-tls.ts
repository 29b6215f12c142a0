// Why a client's TLS connection to the proxy itself came to nothing, from what Envoy's listener log shows of it. Pure.
import type { AccessLogLine } from './access-log-line.ts';
import type { FoundReason } from './access-record.ts';
import { cutByStop, wasCutByStop } from './gateway-stop.ts';

/** what BoringSSL's verifier says about a certificate, underscores for its spaces */
const certificateFaults: readonly (readonly [RegExp, string])[] = [
  [/certificate_has_expired/, 'it has expired'],
  [/not_yet_valid/, 'it is not valid yet'],
  // OpenSSL's 18 and 19: the leaf itself, or a root that the client sent along
  [/self.signed/, 'it, or a CA in its chain, is self-signed and not in the file of --client-ca'],
  [/unable_to_(?:get|verify)/, 'its CA is not in the file of --client-ca'],
  [/purpose/, 'it is not for clients'],
];

function wrongCertificate(failure: string): FoundReason {
  const fault = certificateFaults.find(([sign]) => sign.test(failure))?.[1] ?? 'it could not be verified';
  return {
    code: 'client-certificate',
    words: `the certificate that the client showed to the proxy is not accepted: ${fault}`,
  };
}

const untrustedProxy: FoundReason = {
  code: 'proxy-distrusted',
  words: "the client does not trust the proxy's own certificate",
};

const notInTime: FoundReason = {
  code: 'client-left',
  words: 'the client did not end its handshake with the proxy in time',
};
const left: FoundReason = { code: 'client-left', words: 'the client left during its handshake with the proxy' };

type Symptom = { readonly sign: RegExp; readonly reason: FoundReason };

/** the first that fits */
const symptoms: readonly Symptom[] = [
  { sign: /transport_socket_timeout/, reason: notInTime },
  { sign: /ALERT_(?:UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_UNKNOWN|CERTIFICATE_EXPIRED)/, reason: untrustedProxy },
  { sign: /DECRYPTION_FAILED_OR_BAD_RECORD_MAC/, reason: untrustedProxy },
  {
    sign: /HTTP_REQUEST|WRONG_VERSION_NUMBER/,
    reason: {
      code: 'client-handshake',
      words: 'the client spoke no TLS to an address of the proxy that takes nothing else',
      remedy: 'name the proxy to it as an https URL',
    },
  },
  { sign: /^\s*$|Connection_reset_by_peer/, reason: left },
];

/** The reason, for a listener line of the proxy whose handshake never ended. */
export function explainProxyTls(line: AccessLogLine): FoundReason {
  if (wasCutByStop(line)) return cutByStop;
  const failure = line.text.client_tls_failure ?? '';
  // what BoringSSL says of a certificate that it was shown; an alert says what the client thinks of ours
  if (/CERTIFICATE_VERIFY_FAILED|PEER_DID_NOT_RETURN/.test(failure)) return wrongCertificate(failure);
  const signs = `${line.text.local_close ?? ''} ${failure}`;
  const found = symptoms.find(({ sign }) => sign.test(signs));
  return (
    found?.reason ?? {
      code: 'client-handshake',
      words: 'the client and the proxy have no TLS version or cipher in common',
    }
  );
}

// Every reason that a record can give, with what to do about it and whose doing it is: one table for records, metrics and
// docs/records.md. Codes are part of the record's format: add to them, never rename one.

/** refused: by a rule or guard of this gateway · failed: the origin, the client or the network */
export type RecordOutcome = 'ok' | 'refused' | 'failed';

/**
 * trusts: it went on to a request, or kept the connection, or asked on another of that moment · distrusts: it said so, or
 * did what clients do that say nothing · pins: it closed right after a complete handshake · left: it went before it saw a
 * certificate · incompatible: no TLS version or cipher in common · unserved: the gateway had no certificate for it
 */
export const clientTlsVerdicts = ['trusts', 'distrusts', 'pins', 'left', 'incompatible', 'unserved'] as const;
export type ClientTlsVerdict = (typeof clientTlsVerdicts)[number];

type ReasonSpec = {
  readonly outcome: Exclude<RecordOutcome, 'ok'>;
  readonly meaning: string;
  /** what to do, where a record has nothing better to say */
  readonly remedy: string;
  /** what it tells about the client's trust, for reasons of a TLS connection without a request */
  readonly clientTls?: ClientTlsVerdict;
};

const setTrust = 'start the client with `leafgate run`, or give it the CA file that `leafgate up` names';

const reasonTable = {
  policy: {
    outcome: 'refused',
    meaning: 'a rule refused it',
    remedy: 'change the rule that is named, or use a host that the policy allows',
  },
  'name-mismatch': {
    outcome: 'refused',
    meaning: 'CONNECT host, server name and Host header are not the same',
    remedy: 'use one name in all three, as clients do that are not told otherwise',
  },
  'destination-denied': {
    outcome: 'refused',
    meaning: 'the destination guard closes every address of the host',
    remedy: 'if clients shall reach it, open its address with --allow-destination CIDR',
  },
  'opaque-closed': {
    outcome: 'refused',
    meaning: 'neither TLS nor HTTP was shown in time, and no rule opens the target for other protocols',
    remedy: 'list the target with a `tcp` rule if its protocol is neither TLS nor HTTP',
  },
  'no-leaf': {
    outcome: 'refused',
    meaning: 'no certificate is minted for the server name',
    remedy: "see the gateway's log for why; a name that a rule denies gets none",
    clientTls: 'unserved',
  },
  'leaf-timeout': {
    outcome: 'failed',
    meaning: 'no certificate came in time',
    remedy: 'see whether the SDS server is ready (/readyz), and --mint-rate',
    clientTls: 'unserved',
  },
  'client-distrusts': {
    outcome: 'failed',
    meaning: "the client does not trust the gateway's CA",
    remedy: setTrust,
    clientTls: 'distrusts',
  },
  'client-handshake': {
    outcome: 'failed',
    meaning: "the client's handshake failed for another reason than trust",
    remedy: 'let the client use TLS 1.2 or 1.3 with a usual cipher',
    clientTls: 'incompatible',
  },
  'client-no-request': {
    outcome: 'failed',
    meaning: 'the client closed right after the handshake: it pins a certificate, or checks ours only then',
    remedy: `${setTrust}; if it accepts one certificate only, relay its host with a \`relay\` rule`,
    clientTls: 'pins',
  },
  'client-certificate': {
    outcome: 'refused',
    meaning: 'the certificate that the client showed to the proxy is not accepted',
    remedy: 'renew it, or put its CA into --client-ca; a client may also come without one',
  },
  'proxy-distrusted': {
    outcome: 'failed',
    meaning: 'the client does not trust the certificate of the proxy itself (--proxy-cert)',
    remedy: 'give the client the CA that signed that certificate, and its name in the URL (curl: --proxy-cacert)',
  },
  'no-server-name': {
    outcome: 'failed',
    meaning: 'TLS without a server name, as for an address',
    remedy: 'use a host name: there is nothing to mint a certificate for without one',
  },
  'not-redirected': {
    outcome: 'refused',
    meaning: 'a connection to the transparent port that nothing has redirected, or from a network that may not connect',
    remedy: 'let the system redirect it (`leafgate transparent rules`), and list its network with --allow-from',
  },
  'client-left': {
    outcome: 'failed',
    meaning: 'the client went away',
    remedy: 'nothing, unless it happens often: then see what the client waits for, and for how long',
    clientTls: 'left',
  },
  'client-request': {
    outcome: 'failed',
    meaning: 'the request is not one that the gateway can take',
    remedy: 'send it as HTTP/1.1 or HTTP/2 has it, with headers below 96 KiB',
  },
  'origin-distrusted': {
    outcome: 'failed',
    meaning: 'the certificate of the origin is not accepted',
    remedy: 'mend the certificate; if a CA of your own has signed it, give that with --origin-ca',
  },
  'origin-handshake': {
    outcome: 'failed',
    meaning: 'the origin and the gateway could not agree on TLS',
    remedy: 'see whether the port is one for TLS, and whether the origin takes TLS 1.2 or 1.3',
  },
  'origin-not-resolved': {
    outcome: 'failed',
    meaning: 'the name of the origin could not be resolved',
    remedy: 'check the name, and the DNS servers of this machine',
  },
  'origin-unreachable': {
    outcome: 'failed',
    meaning: 'no connection to the origin',
    remedy: 'see whether the origin runs, and whether this machine reaches it',
  },
  'origin-timeout': {
    outcome: 'failed',
    meaning: 'the origin did not answer in time',
    remedy: 'see whether the origin runs, and whether a firewall drops what is sent to it',
  },
  'origin-reset': {
    outcome: 'failed',
    meaning: 'the origin ended the connection or broke the protocol',
    remedy: "see the origin's log; one that wants a client certificate ends connections in this way",
  },
  'gateway-stopped': {
    outcome: 'failed',
    meaning: 'the gateway was stopped and did not wait for it',
    remedy: 'try again when the gateway runs',
  },
  'rate-limited': {
    outcome: 'refused',
    meaning: 'the client asks the proxy more often than it may',
    remedy: 'see what the client does so often; raise --client-rate if it shall',
  },
  overload: {
    outcome: 'refused',
    meaning: 'the gateway has reached a limit',
    remedy: 'see the limits in docs/settings.md, and leafgate_envoy_connections',
  },
} as const satisfies { readonly [code: string]: ReasonSpec };

export type ReasonCode = keyof typeof reasonTable;
export const reasonCodes = Object.keys(reasonTable) as readonly ReasonCode[];

export function reasonSpec(code: ReasonCode): ReasonSpec {
  return reasonTable[code];
}

// Why an origin did not answer, as a client is told: a closed set, and by which signs of Envoy's it is known. The generator
// makes the local replies from this table and the record reads lines by it, so that both say the same.

/** field `cause` of the JSON body */
export const originCauses = {
  expired: "the origin's certificate has expired, or is not valid yet",
  not_trusted: "nobody that the gateway trusts has signed the origin's certificate",
  wrong_name: "the origin's certificate is for another name",
  refused: 'the origin refused the connection, cannot be reached, or closed without an answer',
  dns: 'the name has no address',
  timeout: 'the origin took no connection in time',
  handshake: 'the origin and the gateway could not agree on TLS, or on HTTP',
} as const;

export type OriginCause = keyof typeof originCauses;

export function isOriginCause(text: unknown): text is OriginCause {
  return typeof text === 'string' && Object.hasOwn(originCauses, text);
}

/** a text within Envoy's response code details, or one of its response flags */
export type OriginCauseSign = { readonly cause: OriginCause } & (
  { readonly details: string; readonly flag?: never } | { readonly flag: string; readonly details?: never }
);

/**
 * The first that fits decides. Texts are those of Envoy 1.40 and its BoringSSL (measured), with the underscores that Envoy
 * puts for spaces. They come before everything else that is looked for in details: after `verify_SAN_list` follow the names
 * of a certificate, in which an origin can write what it likes.
 */
export const originCauseSigns: readonly OriginCauseSign[] = [
  { cause: 'wrong_name', details: 'verify_SAN_list' },
  { cause: 'expired', details: 'certificate_has_expired' },
  { cause: 'expired', details: 'certificate_is_not_yet_valid' },
  { cause: 'not_trusted', details: 'CERTIFICATE_VERIFY_FAILED' },
  { cause: 'timeout', details: 'connection_timeout' },
  { cause: 'handshake', details: 'TLS_error' },
  // without a further text the connection stood, and ended before TLS did: what TCP says follows a `|`
  { cause: 'handshake', details: 'remote_connection_failure}' },
  { cause: 'dns', flag: 'DF' },
  { cause: 'handshake', flag: 'UPE' },
  { cause: 'timeout', flag: 'UT' },
  { cause: 'refused', flag: 'UF' },
  { cause: 'refused', flag: 'UC' },
  { cause: 'refused', flag: 'UR' },
  { cause: 'refused', flag: 'UH' },
];

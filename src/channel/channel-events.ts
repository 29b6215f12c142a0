// What the channel tells whoever watches it; the commands wire it to log and metrics. Names come from certificates that
// anybody may have made: escape them before they are shown, and never make them a metric label.

/** Why somebody who knocked was not let in. `left`: went away during the handshake, as a probe of a port does. */
export type RefusalReason =
  | ('no-certificate' | 'unreadable' | 'wrong-ca' | 'expired' | 'not-yet-valid' | 'not-for-clients' | 'not-listed')
  | ('tls-too-old' | 'not-tls' | 'not-http2' | 'handshake-failed' | 'handshake-timeout' | 'left')
  | ('too-many-handshakes' | 'too-many-connections');

/** why an open connection was ended by us */
export type EndReason = Extract<RefusalReason, 'wrong-ca' | 'expired' | 'not-for-clients' | 'not-listed'>;

export type ChannelEvents = {
  readonly admitted: (peer: {
    /** address and port */
    readonly peer: string;
    /** which name of its certificate let it in; `nothing`: plaintext, where nobody is asked */
    readonly by: 'dns' | 'uri' | 'common-name' | 'any' | 'nothing';
    readonly name: string;
  }) => void;
  readonly refused: (refusal: {
    readonly peer: string;
    readonly reason: RefusalReason;
    /** for people: what the certificate says, or what OpenSSL says */
    readonly detail: string;
  }) => void;
  readonly ended: (end: { readonly peer: string; readonly reason: EndReason; readonly name: string }) => void;
};

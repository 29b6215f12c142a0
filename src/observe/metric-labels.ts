// The closed sets that labels of metrics have their values of, where more than a word or two.

export const nameRefusals = ['empty', 'too-long', 'bad-label', 'bad-character', 'wildcard', 'not-an-address'] as const;
export const peerRefusals = [
  ...([
    'no-certificate',
    'unreadable',
    'wrong-ca',
    'expired',
    'not-yet-valid',
    'not-for-clients',
    'not-listed',
  ] as const),
  ...(['tls-too-old', 'not-tls', 'not-http2', 'handshake-failed', 'handshake-timeout', 'left'] as const),
  ...(['too-many-handshakes', 'too-many-connections'] as const),
] as const;
export const verdicts = ['intercept', 'relay', 'tcp', 'deny'] as const;

/** `sds-channel`: of an SDS server; the last two: of a pod whose SDS servers are outside of it */
export const certificateOwners = [
  ...(['front', 'client-ca', 'origin-ca', 'origin-credential', 'sds-channel'] as const),
  ...(['sds-client', 'sds-server-ca'] as const),
] as const;

export const sdsChannels = ['unix-socket', 'tls', 'tls-unverified', 'plaintext'] as const;

/** of an EgressGateway */
export const conditions = [
  ...(['Ready', 'CAPoolReady', 'TrustBundlePublished', 'TLSConfigured', 'ServingTLSSecretReady'] as const),
  ...(['OriginCABundleResolved', 'ClientCABundleResolved', 'OriginClientCertificatesReady'] as const),
] as const;

/** of trust delivery: what is wrong with where a bundle comes from, or with what is in it */
export const bundleReasons = [
  ...(['missing-object', 'unavailable', 'private-key', 'unreadable', 'not-a-ca'] as const),
  ...(['empty', 'expired', 'too-large'] as const),
] as const;

export const ruleLabel = { open: '`<verdict>:<rule>` of each rule of the policy, and of its default' } as const;
export const legs = ['proxy', 'tunnel'] as const;

// Every condition and every reason that an EgressGateway can have, what each means and what to do: one table for the
// judges, docs/conditions.md and the tests. Reasons are part of the API: add to them, never rename one.
import { readyReasons } from './ready-reasons.ts';

export type ConditionStatus = 'True' | 'False' | 'Unknown';

export type ReasonSpec = {
  readonly status: ConditionStatus;
  readonly when: string;
  /** empty: nothing */
  readonly remedy: string;
  /** not True, and the files of the gateway are rendered all the same */
  readonly doesNotGate?: true;
  /** not True, by a choice in the spec: the gateway is ready with it */
  readonly isChosen?: true;
  /** True, and yet a warning among the events: somebody took protection away */
  readonly isAudited?: true;
};

type ConditionSpec = {
  readonly about: string;
  readonly reasons: { readonly [reason: string]: ReasonSpec };
};

const nothing = '';
const follow = 'it is read again by itself; see whether the API server answers, and the Role of the controller';

/** of a ConfigMap key with CA certificates */
const caBundleReasons = {
  Resolved: {
    status: 'True',
    when: 'every PEM block under the key is a certificate that can be read, and one CA among them is valid now',
    remedy: nothing,
  },
  ConfigMapNotFound: {
    status: 'False',
    when: 'the ConfigMap does not exist',
    remedy: 'create it, or take the reference out of the spec',
  },
  ConfigMapUnavailable: {
    status: 'False',
    when: 'the ConfigMap cannot be read just now; the last good certificates stay',
    remedy: follow,
  },
  KeyNotFound: {
    status: 'False',
    when: 'the ConfigMap has no such key',
    remedy: 'add the key, or name the right one: the message lists those that are there',
  },
  InvalidCABundle: {
    status: 'False',
    when: 'a block is no certificate (a private key, broken, cut off), or no CA among them is valid now; the message says which block; the last good certificates stay',
    remedy: 'write CERTIFICATE blocks of CAs only; a private key that stood there is to be treated as leaked',
  },
} as const;

export const conditionTable = {
  CAPoolReady: {
    about: 'the Secret with the CA pool, judged as the sidecar judges it',
    reasons: {
      Ready: {
        status: 'True',
        when: 'the active CA can sign; the message warns when its end is near, and names other CAs of the pool that are of no use',
        remedy: nothing,
      },
      NotFound: {
        status: 'False',
        when: 'the Secret does not exist; the bundle is withdrawn `retainFor` after it has gone',
        remedy:
          'restore it if it was lost, since a new CA is trusted by nobody yet, or create the first with `leafgate pool create --secret NAMESPACE/NAME`: the controller never makes a CA of its own accord',
      },
      Unavailable: {
        status: 'False',
        when: 'the Secret cannot be read; the message has what the API server said, and the missing rule when it is forbidden',
        remedy: 'name the Secret in the Role of the controller; anything else is tried again',
      },
      Malformed: {
        status: 'False',
        when: 'the Secret has no pool, or an anchor of it cannot be published; the last good bundle stays',
        remedy:
          'write the pool again as docs/pool.md has it; `leafgate pool verify --secret NAMESPACE/NAME` lists what is wrong',
      },
      NoActiveSigner: {
        status: 'False',
        when: '`ActiveForSigning` names a CA that is not in the pool; the last good bundle stays',
        remedy: 'set it to the ID of the CA that shall sign',
      },
      Expired: {
        status: 'False',
        when: 'the active CA has expired; the anchors are published all the same',
        remedy: 'let another CA take over: docs/pool.md, "Another CA takes over", has how',
      },
      SignerNotUsable: {
        status: 'False',
        when: 'the sidecar would refuse the active CA: Ed25519 without `spec.sds.allowEd25519`, a key that does not match, too little life left; the anchors are published all the same',
        remedy: 'activate a CA that can sign, or mend what the message names',
      },
    },
  },
  TrustBundlePublished: {
    about: 'the ClusterTrustBundle with the anchors of the pool',
    reasons: {
      Published: {
        status: 'True',
        when: 'the bundle has the anchors of the pool; or the last good ones, while the pool cannot be used, which the message says',
        remedy: nothing,
      },
      PoolNotReady: {
        status: 'False',
        when: 'nothing is published, since the pool has never been good, or has been gone for `retainFor`',
        remedy: 'see CAPoolReady',
      },
      APINotServed: {
        status: 'False',
        when: 'the API server serves ClusterTrustBundles in no version; everything else goes on',
        remedy:
          'Kubernetes 1.37 serves them; from 1.33 on enable the feature gate ClusterTrustBundle and the runtime configuration certificates.k8s.io/v1beta1/clustertrustbundles=true',
        doesNotGate: true,
      },
      AttestDenied: {
        status: 'False',
        when: 'the controller may not attest for the signer; the message names the missing rule',
        remedy:
          'grant the verb attest on signers of certificates.k8s.io, by the name of the signer or of its domain with /*',
      },
      SignerNotAllowed: {
        status: 'False',
        when: "the signer is outside what the controller was started with for the gateway's namespace",
        remedy: "use an allowed signer, or add `--signer 'NAMESPACE=DOMAIN/*'` to the controller",
      },
      Conflict: {
        status: 'False',
        when: 'the bundle belongs to another gateway, which the message names; it is left alone',
        remedy: 'give one of the two gateways another `trustBundle.name`',
      },
      Rejected: {
        status: 'False',
        when: 'the API server refuses the bundle; the message has its reason',
        remedy: 'mend what the message names; the last good bundle stays',
      },
      Unavailable: {
        status: 'False',
        when: 'the bundle cannot be read or written just now, or a rule other than attest is missing; the message has what the API server said',
        remedy: follow,
      },
    },
  },
  ServingTLSSecretReady: {
    about: "the Secret with the proxy's certificate for clients that speak TLS to it; only with `spec.servingTLS`",
    reasons: {
      TLSSecretReady: { status: 'True', when: 'all checks pass', remedy: nothing },
      TLSSecretNotFound: {
        status: 'False',
        when: 'the Secret does not exist',
        remedy: 'create it for the names in `status.servingTLS.requiredDNSNames`',
      },
      TLSSecretUnavailable: { status: 'False', when: 'the Secret cannot be read just now', remedy: follow },
      TLSSecretMalformed: {
        status: 'False',
        when: 'the type is not kubernetes.io/tls, tls.crt or tls.key is empty, is not PEM, cannot be read, or is of a kind that Envoy or its clients refuse',
        remedy: 'write the Secret again, as `kubectl create secret tls` does',
      },
      TLSSecretSANsMismatch: {
        status: 'False',
        when: 'a required name is missing among the DNS names of the first certificate; exact names count, no wildcard, common name or address; the message lists missing and present',
        remedy: 'issue the certificate for all of `status.servingTLS.requiredDNSNames`',
      },
      TLSSecretExpired: {
        status: 'False',
        when: 'the first certificate has expired, or is not valid yet',
        remedy: 'renew it; the new one is taken without a restart',
      },
      TLSSecretKeyMismatch: {
        status: 'False',
        when: 'tls.key is not the key of the first certificate',
        remedy: 'write the certificate and the key of one issuance',
      },
    },
  },
  OriginCABundleResolved: {
    about: 'the ConfigMap with private roots for origins; only with `spec.origins.caBundleRef`',
    reasons: caBundleReasons,
  },
  ClientCABundleResolved: {
    about: 'the ConfigMap with the CAs of clients; only with `spec.clients.caBundleRef`',
    reasons: caBundleReasons,
  },
  OriginClientCertificatesReady: {
    about:
      'the Secrets with client certificates for origins; only with `spec.origins.clientCertificates`. One message has the problems of all',
    reasons: {
      SecretsReady: { status: 'True', when: 'all checks of all Secrets pass', remedy: nothing },
      SecretNotFound: {
        status: 'False',
        when: 'a Secret does not exist',
        remedy: 'create it, or take it out of the spec',
      },
      SecretUnavailable: { status: 'False', when: 'a Secret cannot be read just now', remedy: follow },
      SecretMalformed: {
        status: 'False',
        when: 'as TLSSecretMalformed',
        remedy: 'write the Secret again, as `kubectl create secret tls` does',
      },
      SecretExpired: {
        status: 'False',
        when: 'a certificate has expired, or is not valid yet',
        remedy: 'renew it; the new one is taken without a restart',
      },
      SecretKeyMismatch: {
        status: 'False',
        when: 'tls.key is not the key of the first certificate',
        remedy: 'write the certificate and the key of one issuance',
      },
    },
  },
  TLSConfigured: {
    about: 'how Envoy and the SDS server speak',
    reasons: {
      UnixSocket: {
        status: 'True',
        when: 'through a unix socket in the pod: nothing crosses the network',
        remedy: nothing,
      },
      Enabled: { status: 'True', when: 'over TCP with mutual TLS', remedy: nothing },
      InsecureSkipVerify: {
        status: 'True',
        when: 'over TCP with mutual TLS, but Envoy does not verify the server',
        remedy: 'for development only: take `insecureSkipVerify` away',
        isAudited: true,
      },
      TLSBlockMissing: {
        status: 'False',
        when: 'TCP without `spec.sds.tls`',
        remedy: 'name a Secret in `spec.sds.tls.secretRef`, or choose plaintext by `spec.sds.tls.enabled: false`',
      },
      ExplicitlyDisabled: {
        status: 'False',
        when: 'TCP in plaintext by `enabled: false`: Envoy asks so, the servers answer so where `LEAFGATE_SDS_INSECURE=true` is set in their Deployment too, and leaf keys cross the network unprotected',
        remedy: 'set `enabled: true` and name a Secret',
        doesNotGate: true,
        isChosen: true,
      },
      SecretRefMissing: {
        status: 'False',
        when: 'TLS is enabled and no Secret is named',
        remedy: 'name it in `spec.sds.tls.secretRef`',
      },
      SecretNotFound: {
        status: 'False',
        when: "the Secret of the server, or Envoy's, does not exist",
        remedy: 'create it',
      },
      SecretUnavailable: { status: 'False', when: 'a Secret cannot be read just now', remedy: follow },
      SecretMalformed: {
        status: 'False',
        when: 'a Secret is not kubernetes.io/tls or Opaque with tls.crt, tls.key and ca.crt, all of them whole, or its certificate is not for servers, or for clients, as its side needs it; the message lists every key that is missing',
        remedy:
          'write the Secret again with all three keys; where one Secret is for both sides, its certificate needs both usages',
      },
      SecretSANsMismatch: {
        status: 'False',
        when: 'the certificate of the server is not for `<gateway>-sds.<namespace>.svc.<cluster domain>`, which Envoy asks for and verifies',
        remedy: 'issue it with that DNS name',
      },
      ClientNotAllowed: {
        status: 'False',
        when: "no name in Envoy's certificate is in `spec.sds.tls.allowedSANs`, so that the server would not let it in; exact names count",
        remedy: 'list one of the names that the message has',
      },
      SecretKeyMismatch: {
        status: 'False',
        when: 'tls.key is not the key of the first certificate',
        remedy: 'write the certificate and the key of one issuance',
      },
      SecretExpired: {
        status: 'False',
        when: 'a certificate has expired, or is not valid yet',
        remedy: 'renew it; the new one is taken without a restart',
      },
      ChainNotVerified: {
        status: 'False',
        when: 'the certificate of one side is not verified by ca.crt of the other',
        remedy: 'put the issuer into ca.crt of the other side, and CAs between into tls.crt',
      },
    },
  },
  Ready: { about: 'all of the above, and the files of the gateway', reasons: readyReasons },
} as const satisfies { readonly [type: string]: ConditionSpec };

export type ConditionType = keyof typeof conditionTable;

/** in the order of the table */
export const conditionTypes = Object.keys(conditionTable).filter((type): type is ConditionType =>
  Object.hasOwn(conditionTable, type),
);

export type ReasonOf<Type extends ConditionType> = keyof (typeof conditionTable)[Type]['reasons'] & string;

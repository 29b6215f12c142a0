// The reasons of the summarising condition `Ready`, in the order in which they are looked for: the first that holds is said.

export const readyReasons = {
  Ready: { status: 'True', when: 'nothing is in the way', remedy: '' },
  Pending: { status: 'Unknown', when: 'not everything has been judged yet', remedy: '' },
  InvalidSpec: {
    status: 'False',
    when: 'the spec cannot be read; the message lists every problem by its field',
    remedy: 'mend the fields',
  },
  SignerNotAllowed: {
    status: 'False',
    when: "the signer or a Secret is outside the controller's bounds",
    remedy: "use an allowed one, or widen the controller's bounds and its Role",
  },
  CAPoolNotReady: { status: 'False', when: 'CAPoolReady is not True', remedy: 'see CAPoolReady' },
  TrustBundleNotPublished: {
    status: 'False',
    when: 'TrustBundlePublished is not True',
    remedy: 'see TrustBundlePublished',
  },
  TLSNotConfigured: { status: 'False', when: 'TLSConfigured is not True', remedy: 'see TLSConfigured' },
  ServingTLSSecretNotReady: {
    status: 'False',
    when: 'ServingTLSSecretReady is not True',
    remedy: 'see ServingTLSSecretReady',
  },
  OriginCABundleNotResolved: {
    status: 'False',
    when: 'OriginCABundleResolved is not True',
    remedy: 'see OriginCABundleResolved',
  },
  ClientCABundleNotResolved: {
    status: 'False',
    when: 'ClientCABundleResolved is not True',
    remedy: 'see ClientCABundleResolved',
  },
  OriginClientCertificatesNotReady: {
    status: 'False',
    when: 'OriginClientCertificatesReady is not True',
    remedy: 'see OriginClientCertificatesReady',
  },
  RenderingTooLarge: {
    status: 'False',
    when: 'the files of the gateway have more than 900 KiB; the last good ones stay',
    remedy: 'use fewer rules or smaller CA bundles',
  },
  FilesNotWritten: {
    status: 'False',
    when: "the files of the gateway, or the annotation that rolls its Deployment, cannot be written, the message has what the API server said; or a ConfigMap of that name is somebody else's",
    remedy:
      'it is tried again by itself; see whether the API server answers, and the Role of the controller; a ConfigMap that is in the way has to go, or the gateway needs another name',
  },
  DeploymentTaken: {
    status: 'False',
    when: 'another gateway of the namespace, which the message names, has the Deployment; its pods are left alone',
    remedy: 'give each gateway a Deployment of its own, by `spec.deploymentName`',
  },
  DeploymentWithoutFiles: {
    status: 'False',
    when: "the pods of the Deployment that the spec names do not mount the gateway's files, so that it may be somebody else's; it is left alone",
    remedy:
      'mount the ConfigMap `<gateway>-envoy` as deploy/gateway does, or name the right one in `spec.deploymentName`',
  },
  DeploymentNotFound: {
    status: 'False',
    when: 'the Deployment that the spec names does not exist',
    remedy: 'apply deploy/gateway, or name it in `spec.deploymentName`',
  },
} as const;

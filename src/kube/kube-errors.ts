// The errors of calls to the Kubernetes API. `{detail}` is the API server's own sentence, made printable and short, or
// ours when it gave none: never a body, never a token.
import { errorSlice, exitCodes } from '../errors.ts';

export const kubeErrors = errorSlice({
  'kube-unauthorized': {
    message: '{call}: the API server does not accept our credentials: {detail}',
    remedy: 'check the token or the client certificate, and whether it has expired',
    exitCode: exitCodes.failed,
  },
  'kube-forbidden': {
    message: '{call}: {detail}',
    remedy: 'add the missing rule to the Role or ClusterRole of this user',
    exitCode: exitCodes.failed,
  },
  'kube-not-found': {
    message: '{call}: {detail}',
    remedy: 'check the name and the namespace, and whether this API server serves the resource',
    exitCode: exitCodes.failed,
  },
  'kube-already-exists': {
    message: '{call}: {detail}',
    remedy: 'look at the object that is there; nothing was changed',
    exitCode: exitCodes.failed,
  },
  'kube-conflict': {
    message: '{call}: {detail}',
    remedy: 'read the object again: another writer changed it, or owns the field',
    exitCode: exitCodes.failed,
  },
  'kube-invalid': {
    message: '{call}: {detail}',
    remedy: 'change the fields that the API server names',
    exitCode: exitCodes.failed,
  },
  'kube-gone': {
    message: '{call}: {detail}',
    remedy: 'list again: what was asked for is older than what the API server keeps',
    exitCode: exitCodes.failed,
  },
  'kube-too-many-requests': {
    message: '{call}: {detail}',
    remedy: 'try again later; the API server limits how many requests it takes',
    exitCode: exitCodes.failed,
  },
  'kube-too-large': {
    message: '{call}: {detail}',
    remedy: 'make the object smaller; the API server takes about 1 MiB of data an object',
    exitCode: exitCodes.failed,
  },
  'kube-unavailable': {
    message: '{call}: {detail}',
    remedy: 'check that the API server runs and can be reached from here',
    exitCode: exitCodes.failed,
  },
  'kube-bad-response': {
    message: '{call}: {detail}',
    remedy: 'check that the address is that of a Kubernetes API server and that nothing between changes its answers',
    exitCode: exitCodes.failed,
  },
  'kube-access-missing': {
    message: 'no Kubernetes API server is known: there is neither a kubeconfig nor a service account',
    remedy: 'give --kubeconfig FILE, set KUBECONFIG, or run in a pod with a service account token',
    exitCode: exitCodes.usage,
  },
  'kube-service-account': {
    message: 'the service account of this pod cannot be used: {reason}',
    remedy: 'mount a service account token, its ca.crt and its namespace at {folder}, or give --kubeconfig FILE',
    exitCode: exitCodes.environment,
  },
  'kube-token-invalid': {
    message: 'the token in {source} {reason}',
    remedy: 'write a new token there, such as `kubectl create token NAME` prints',
    exitCode: exitCodes.usage,
  },
  'kube-file-unreadable': {
    message: '{path} cannot be read: {reason}',
    remedy: 'check that the file exists and that this user may read it',
    exitCode: exitCodes.usage,
  },
  'kubeconfig-unreadable': {
    message: 'the kubeconfig {path} cannot be read: {reason}',
    remedy: 'check --kubeconfig and KUBECONFIG, and that this user may read the file',
    exitCode: exitCodes.usage,
  },
  'kubeconfig-malformed': {
    message: 'the kubeconfig {path} is wrong: {reason}',
    remedy: 'compare it with `kubectl config view --raw`',
    exitCode: exitCodes.usage,
  },
  'kubeconfig-unsupported': {
    message: 'the kubeconfig {path} asks for {what}, which leafgate does not do',
    remedy: 'use a user with a token, a tokenFile or a client certificate, such as `kubectl create token NAME` gives',
    exitCode: exitCodes.usage,
  },
  'kubeconfig-insecure': {
    message: 'the kubeconfig {path} has insecure-skip-tls-verify for cluster "{cluster}"',
    remedy: 'remove it and give certificate-authority or certificate-authority-data: the API server is always verified',
    exitCode: exitCodes.usage,
  },
});

// What can be wrong with a bundle that actors ask for, where it comes from and what is in it. No message ever carries what
// was read: it may have been a key.
import { errorSlice, exitCodes } from '../errors.ts';

export const bundleErrors = errorSlice({
  'bundle-unknown': {
    message: '{bundle} is no bundle that this deployment offers',
    remedy: 'ask for one of those on the list of bundles: {known}',
    exitCode: exitCodes.usage,
  },
  'bundle-object-missing': {
    message: 'there is no {what}',
    remedy: 'look with `kubectl get clustertrustbundles`; leafgate controller publishes one for each gateway',
    exitCode: exitCodes.environment,
  },
  'bundle-file-missing': {
    message: 'there is no file {path}',
    remedy: 'write the bundle there, or correct the path on the list of bundles',
    exitCode: exitCodes.environment,
  },
  'bundle-file-unreadable': {
    message: '{path} cannot be read: {reason}',
    remedy: 'let it be a plain file that this user may read',
    exitCode: exitCodes.environment,
  },
  'bundle-no-api': {
    message: 'the bundle {bundle} comes from the Kubernetes API, and no access to one is given',
    remedy: 'run where the API can be reached, or list the file of a ClusterTrustBundle volume in its place',
    exitCode: exitCodes.environment,
  },
  'bundle-api-not-served': {
    message: 'the API server serves no ClusterTrustBundles',
    remedy: 'use Kubernetes 1.37, or an older one with the feature gate and certificates.k8s.io/v1beta1 turned on',
    exitCode: exitCodes.environment,
  },
  'bundle-access-missing': {
    message: 'the API server does not let us {rule}: {detail}',
    remedy: 'add that rule to the ClusterRole of this user',
    exitCode: exitCodes.environment,
  },
  'bundle-api-unreachable': {
    message: 'ClusterTrustBundles cannot be read: {detail}',
    remedy: 'check that the API server runs and can be reached from here; it is asked again and again',
    exitCode: exitCodes.environment,
  },
  'bundle-not-a-ca': {
    message: '{source}, line {line}: {subject} is no CA certificate',
    remedy: 'put only CA certificates into a bundle, those with basicConstraints CA:TRUE',
    exitCode: exitCodes.usage,
  },
  'bundle-expired': {
    message: '{source} has expired certificates only, {count} of them',
    remedy: 'renew them: an actor that trusts nothing else trusts nobody',
    exitCode: exitCodes.usage,
  },
  'bundle-file-too-large': {
    message: 'the bundles {names} make a file of more than {maxBytes} bytes',
    remedy: 'join fewer bundles into one file',
    exitCode: exitCodes.usage,
  },
});

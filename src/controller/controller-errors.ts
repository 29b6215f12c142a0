// What keeps the controller from starting, or a write of it from being made. What is wrong with a gateway stands in the
// conditions of that gateway, not here.
import { errorSlice, exitCodes } from '../errors.ts';

export const controllerErrors = errorSlice({
  'controller-rule-missing': {
    message: 'the API server does not let the controller {rule}',
    remedy:
      'add that rule to its {role} (deploy/controller and deploy/bounds have every rule), or ask for less with --namespace and --signer',
    exitCode: exitCodes.environment,
  },
  'controller-crd-missing': {
    message: 'the API server does not serve egressgateways of leafgate.dev/v1alpha1',
    remedy: 'apply the definition in deploy/controller first',
    exitCode: exitCodes.environment,
  },
  'controller-bundle-refused': {
    message: 'the API server would not take a bundle of signer {signer}: {detail}',
    remedy:
      'mend what it names: an admission plugin or a policy of the cluster refuses what the controller has to write',
    exitCode: exitCodes.environment,
  },
  'controller-start-failed': {
    message: 'the API server could not be asked at the start: {detail}',
    remedy: 'check that it runs and can be reached from here; whoever started the controller starts it again',
    exitCode: exitCodes.failed,
  },
  'controller-signer-elsewhere': {
    message: '{setting} {value} is for namespace {namespace}, which is not followed',
    remedy: 'add --namespace {namespace}, or take the signer out',
    exitCode: exitCodes.usage,
  },
  'controller-option-missing': {
    message: 'no {option} is given',
    remedy: 'give it at least once, like {example}',
    exitCode: exitCodes.usage,
  },
  'controller-not-leading': {
    message: 'another controller leads now, and nothing more is written',
    remedy: 'nothing: it goes on by itself',
    exitCode: exitCodes.failed,
  },
});

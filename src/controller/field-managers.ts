// Under which names the controller writes: one a concern, since a manager that leaves a field out gives it up.
export const fieldManagers = {
  bundle: 'leafgate-bundle',
  status: 'leafgate-status',
  files: 'leafgate-files',
  rollout: 'leafgate-rollout',
  finalizer: 'leafgate-finalizer',
} as const;

/** keeps a gateway until its bundle is gone */
export const bundleFinalizer = 'leafgate.dev/trust-bundle';

// How the Envoy of a gateway's pod reaches SDS servers outside of the pod, said in the pod: a metric, and a warning that is
// repeated while it does not know whom it asks.
import type { RemoteChannel } from '../settings/sidecar-settings.ts';
import { startAudit } from '../start-audit.ts';
import type { Surroundings } from './surroundings.ts';

/** Gives what to know although the pod works. */
export function auditRemoteChannel(
  { kind }: RemoteChannel,
  { clock, log, metrics, closers }: Surroundings,
): () => readonly string[] {
  metrics.set('leafgate_sds_channel', 1, { kind });
  if (kind === 'tls') return () => [];
  const { fact, consequence, choice } = words[kind];
  const audit = startAudit(clock, () => {
    log.warn(`${fact}: ${consequence}`, { reason: 'audit', detail: `chosen by ${choice}` });
  });
  closers.add('audit of the SDS channel', () => audit.cancel());
  return () => [`${fact}, as ${choice} says`];
}

const words = {
  'tls-unverified': {
    fact: 'Envoy takes any SDS server',
    consequence: 'whoever answers in its place gives out the keys of leaves',
    choice: 'spec.sds.tls.insecureSkipVerify',
  },
  plaintext: {
    fact: 'Envoy asks its SDS servers in plaintext',
    consequence: 'whoever is on the way reads the keys of leaves, and may answer in their place',
    choice: 'spec.sds.tls.enabled',
  },
} as const;

// How the Envoy of a gateway's pod reaches SDS servers outside of the pod, said in the pod: a metric, and a warning that is
// repeated while it does not know whom it asks.
import type { RemoteChannel } from '../settings/sidecar-settings.ts';
import { startAudit } from '../start-audit.ts';
import type { Surroundings } from './surroundings.ts';

/** Gives what to know although the pod works. */
export function auditRemoteChannel(
  { kind, dir }: RemoteChannel,
  { clock, log, metrics, closers }: Surroundings,
): () => readonly string[] {
  metrics.set('leafgate_sds_channel', 1, { kind });
  if (kind === 'tls') return () => [];
  const audit = startAudit(clock, () => {
    const detail = 'chosen by spec.sds.tls.insecureSkipVerify';
    log.warn('Envoy takes any SDS server: whoever answers in its place gives out the keys of leaves', {
      ...{ reason: 'audit', detail, path: dir },
    });
  });
  closers.add('audit of the SDS channel', () => audit.cancel());
  return () => ['Envoy takes any SDS server, as spec.sds.tls.insecureSkipVerify says'];
}

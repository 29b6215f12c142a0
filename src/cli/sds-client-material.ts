// What the Envoy of a gateway's pod shows to SDS servers outside of it, and what it verifies them with, looked at where the pod
// mounts it into the sidecar too: Envoy itself only fails to connect. And when both will end: a metric, and warnings ahead of it.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { certificateSecret, rootsSecret } from '../bootstrap/sds-cluster.ts';
import { rootsEndAt } from '../channel/channel-material.ts';
import { channelFiles } from '../channel/choose-channel.ts';
import { minutes, repeat } from '../clock.ts';
import type { RemoteChannel } from '../settings/sidecar-settings.ts';
import { createExpiryWarnings } from './expiry-warnings.ts';
import { checkPair, checkRoots, named, type MaterialItem, type OpenedMaterial } from './gateway-material.ts';
import type { Surroundings } from './surroundings.ts';

/** None where the folder is not mounted here, which is said. */
export function sdsClientItems(
  channel: RemoteChannel | undefined,
  { log }: Pick<Surroundings, 'log'>,
): readonly MaterialItem[] {
  if (channel === undefined || !('dir' in channel)) return [];
  const { dir, kind } = channel;
  if (!existsSync(dir)) {
    log.warn('what Envoy shows to the SDS servers is not mounted into the sidecar too, and not looked at', {
      path: dir,
    });
    return [];
  }
  const file = (name: keyof typeof channelFiles): string => join(dir, channelFiles[name]);
  const shown: MaterialItem = {
    kind: 'sds-client',
    files: [named(shownWords, file('certificate')), named(shownWords, file('key'))],
    secret: certificateSecret,
    check: checkPair('clientAuth'),
  };
  // who verifies nobody has no use for CAs
  if (kind !== 'tls') return [shown];
  const roots = [named('the CAs of the SDS servers in', file('roots'))] as const;
  return [shown, { kind: 'sds-server-ca', files: roots, secret: rootsSecret, check: checkRoots }];
}

const shownWords = 'the certificate for the SDS servers';

/** as often as it is judged anew */
const lookEvery = minutes(1);

/** Of one of the items above; others are left alone. */
export function watchSdsClientDates({ item, files }: OpenedMaterial, parts: Surroundings): void {
  const { clock, log, metrics, closers } = parts;
  const { kind } = item;
  if (kind !== 'sds-client' && kind !== 'sds-server-ca') return;
  const sentence = 'a certificate of the channel to the SDS servers will end';
  const warnings = createExpiryWarnings({ clock, log, path: item.files[0].path, sentence });
  const look = (): void => {
    const { certificates } = files.current();
    const end = kind === 'sds-client' ? certificates[0]?.notAfter : rootsEndAt({ roots: certificates }, clock.now());
    const of = kind === 'sds-client' ? 'leaf' : 'ca';
    metrics.set('leafgate_sds_client_not_after_seconds', Math.floor((end ?? 0) / 1000), { of });
    warnings.look(certificates);
  };
  look();
  const timer = repeat(clock, lookEvery, look);
  closers.add('dates of the certificate for the SDS servers', () => timer.cancel());
}

// The certificates that a pod mounts: Envoy takes them by itself when the kubelet swaps their folder, good or not as far as it
// can. Here they are looked at as on a laptop, and what is wrong, or not taken, is said. Bad ones hold no start back: the
// gateway serves what it can meanwhile.
import { join } from 'node:path';
import { seconds, type Timer } from '../clock.ts';
import type { AdminClient } from '../envoy/admin-client.ts';
import { frontCertificateName, frontKeyName } from '../bootstrap/proxy-front.ts';
import { LeafgateError, problemsOf } from '../errors.ts';
import type { SidecarSettings } from '../settings/sidecar-settings.ts';
import { followMaterial, type FollowedMaterial } from './follow-material.ts';
import { materialItems, openItem, podWords, type MaterialItem, type MaterialSpec } from './gateway-material.ts';
import { problemsText } from './problems-text.ts';
import { sdsClientItems, watchSdsClientDates } from './sds-client-material.ts';
import type { Surroundings } from './surroundings.ts';

export type PodMaterialParts = Surroundings & { readonly settings: SidecarSettings; readonly admin: AdminClient };

/** all that is looked at here are secrets of Envoy */
const nothing = { 'origin-ca': () => Promise.resolve(true), 'origin-credential': () => Promise.resolve(true) };

/** what is not good yet is looked at again this often */
const againAfter = seconds(1);

export function followPodMaterial(parts: PodMaterialParts): Pick<FollowedMaterial, 'troubles'> {
  const waiting = new Map<MaterialItem, { readonly trouble: string; readonly timer: Timer }>();
  const followed: FollowedMaterial[] = [];
  let isClosed = false;
  const open = async (item: MaterialItem): Promise<void> => {
    try {
      const opened = await openItem(item, parts.clock);
      if (isClosed) return;
      waiting.delete(item);
      watchSdsClientDates(opened, parts);
      followed.push(followMaterial({ ...parts, material: [opened], reloadDir: undefined, publish: nothing }));
    } catch (thrown) {
      if (isClosed) return;
      const error = LeafgateError.from(thrown);
      const trouble = problemsText(problemsOf(error));
      if (waiting.get(item)?.trouble !== trouble) tell(item, error, parts);
      const timer = parts.clock.after(againAfter, () => void open(item));
      waiting.set(item, { trouble, timer });
    }
  };
  const items = [
    ...materialItems(specOf(parts.settings), podWords),
    ...sdsClientItems(parts.settings.remoteSds?.channel, parts),
  ];
  for (const item of items) void open(item);
  parts.closers.add('mounted certificates', () => {
    isClosed = true;
    for (const { timer } of waiting.values()) timer.cancel();
  });
  return {
    troubles: () => [
      ...[...waiting.values()].map(({ trouble }) => trouble),
      ...followed.flatMap((one) => one.troubles()),
    ],
  };
}

function specOf({ serving, clientRoots, originCertificates }: SidecarSettings): MaterialSpec {
  return {
    front:
      serving === undefined ? undefined : { listen: undefined, certificateDir: serving.dir, clientCaFile: clientRoots },
    originCredentials: originCertificates.map(({ secret, dir }) => ({
      name: secret,
      hosts: [],
      certificateFile: join(dir, frontCertificateName),
      keyFile: join(dir, frontKeyName),
      caFile: undefined,
    })),
  };
}

function tell({ kind, files: [{ path }] }: MaterialItem, error: LeafgateError, { log }: PodMaterialParts): void {
  for (const problem of problemsOf(error)) {
    log.error('mounted certificates are no good', { path, reason: kind, detail: problem.message, code: problem.code });
  }
}

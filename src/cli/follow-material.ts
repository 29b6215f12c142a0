// What happens when the certificates of others change under a running gateway: good ones reach Envoy, and it is seen that
// they did; bad ones are said aloud, fault by fault, and leave what was there.
import type { AdminClient } from '../envoy/admin-client.ts';
import { reloadCertificates } from '../envoy/reload-certificates.ts';
import { LeafgateError } from '../errors.ts';
import type { CheckedMaterial, MaterialItem, OpenedMaterial } from './gateway-material.ts';
import type { Surroundings } from './surroundings.ts';

export type FollowMaterialParts = Surroundings & {
  readonly material: readonly OpenedMaterial[];
  readonly admin: AdminClient;
  readonly reloadDir: string;
  /** writes what origins are verified with; Envoy follows that file by itself */
  readonly publishOriginRoots: () => Promise<void>;
};

export interface FollowedMaterial {
  /** what is wrong with files that are not in force, one sentence each */
  troubles(): readonly string[];
}

export function followMaterial(parts: FollowMaterialParts): FollowedMaterial {
  const troubles = new Map<MaterialItem, string>();
  // one at a time: the files of several items change together
  let last: Promise<void> = Promise.resolve();
  for (const { item, files } of parts.material) {
    files.follow({
      taken: (value) => {
        troubles.delete(item);
        last = last.then(() => take(item, value, parts)).catch((thrown: unknown) => report(item, thrown, parts));
      },
      refused: (error, isInForce) => {
        troubles.set(item, `the last good certificate serves: ${error.message}`);
        refuse(item, { error, isInForce }, parts);
      },
    });
    parts.closers.add(`certificates of ${item.kind}`, () => files.close());
  }
  return { troubles: () => [...troubles.values()] };
}

async function take(item: MaterialItem, value: CheckedMaterial, parts: FollowMaterialParts): Promise<void> {
  const { log, metrics } = parts;
  const [{ path }] = item.files;
  if (item.secret === undefined) {
    await parts.publishOriginRoots();
  } else if (!(await reloadCertificates(parts, { secret: item.secret, text: value.text }))) {
    metrics.count('leafgate_certificate_reloads_total', { of: item.kind, taken: 'no' });
    log.error('Envoy does not take certificates that look good, the last ones stay in force', {
      path,
      reason: item.kind,
    });
    return;
  }
  metrics.count('leafgate_certificate_reloads_total', { of: item.kind, taken: 'yes' });
  log.info('certificates taken', { path, reason: item.kind });
}

type Refusal = { readonly error: LeafgateError; readonly isInForce: boolean };

function refuse(item: MaterialItem, { error, isInForce }: Refusal, { log, metrics }: FollowMaterialParts): void {
  if (!isInForce) metrics.count('leafgate_certificate_reloads_total', { of: item.kind, taken: 'no' });
  const sentence = isInForce
    ? 'certificates in force are no good any more'
    : 'certificates refused, the last good ones stay in force';
  for (const problem of error.problems.length > 0 ? error.problems : [error]) {
    log.error(sentence, { path: item.files[0].path, reason: item.kind, detail: problem.message, code: problem.code });
  }
}

function report(item: MaterialItem, thrown: unknown, { log }: FollowMaterialParts): void {
  const { message, code } = LeafgateError.from(thrown);
  log.error('certificates could not be handed to Envoy', {
    path: item.files[0].path,
    reason: item.kind,
    detail: message,
    code,
  });
}

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
  readonly reloadDir: string | undefined;
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
        last = last
          .then(() => takeOrTell(item, value, parts))
          .then((trouble) => {
            // bad files that came meanwhile are the newer word
            if (trouble !== undefined && !troubles.has(item)) troubles.set(item, trouble);
          });
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

/** What keeps good files from being in force, for readyz; undefined when nothing does. */
async function takeOrTell(
  item: MaterialItem,
  value: CheckedMaterial,
  parts: FollowMaterialParts,
): Promise<string | undefined> {
  try {
    return (await take(item, value, parts)) ? undefined : notTaken;
  } catch (thrown) {
    report(item, thrown, parts);
    return `${notHanded}: ${LeafgateError.from(thrown).message}`;
  }
}

const notTaken = 'Envoy does not take certificates that look good, the last ones stay in force';
const notHanded = 'certificates could not be handed to Envoy';

async function take(item: MaterialItem, value: CheckedMaterial, parts: FollowMaterialParts): Promise<boolean> {
  const { log, metrics } = parts;
  const [{ path }] = item.files;
  const { secret } = item;
  if (secret === undefined) await parts.publishOriginRoots();
  const isTaken = secret === undefined || (await reloadCertificates(parts, { secret, text: value.text }));
  metrics.count('leafgate_certificate_reloads_total', { of: item.kind, taken: isTaken ? 'yes' : 'no' });
  if (isTaken) log.info('certificates taken', { path, reason: item.kind });
  else log.error(notTaken, { path, reason: item.kind });
  return isTaken;
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
  log.error(notHanded, {
    path: item.files[0].path,
    reason: item.kind,
    detail: message,
    code,
  });
}

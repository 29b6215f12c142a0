// What happens when the certificates of others change under a running gateway: good ones reach Envoy, and it is seen that
// they did; bad ones are said aloud, fault by fault, and leave what was there.
import { seconds, type Timer } from '../clock.ts';
import type { AdminClient } from '../envoy/admin-client.ts';
import { reloadCertificates } from '../envoy/reload-certificates.ts';
import { LeafgateError, problemsOf } from '../errors.ts';
import type { CheckedMaterial, MaterialItem, OpenedMaterial } from './gateway-material.ts';
import { problemsText } from './problems-text.ts';
import type { Surroundings } from './surroundings.ts';

export type FollowMaterialParts = Surroundings & {
  readonly material: readonly OpenedMaterial[];
  readonly admin: AdminClient;
  readonly reloadDir: string | undefined;
  /** what is no secret of Envoy: leafgate writes files that Envoy follows; false where it did not take them */
  readonly publish: Readonly<Record<'origin-ca' | 'origin-credential', () => Promise<boolean>>>;
};

export interface FollowedMaterial {
  /** what is wrong with files that are not in force, one sentence each */
  troubles(): readonly string[];
  add(material: readonly OpenedMaterial[]): void;
  /** these files are nobody's any more */
  drop(material: readonly OpenedMaterial[]): void;
}

/** Ends with `closers`. */
export function followMaterial(parts: FollowMaterialParts): FollowedMaterial {
  const material = new Material(parts);
  parts.closers.add('certificates', () => material.close());
  material.add(parts.material);
  return material;
}

/** an Envoy that is busy, or a folder that is full for a while, takes them later */
const againAfter = seconds(5);

type Followed = OpenedMaterial & {
  /** what Envoy should hold; undefined when its files are bad now, or nobody's any more */
  wanted: CheckedMaterial | undefined;
  trouble: string | undefined;
  retry: Timer | undefined;
};

class Material implements FollowedMaterial {
  readonly #parts: FollowMaterialParts;
  #followed: readonly Followed[] = [];
  /** one at a time: the files of several items change together */
  #last: Promise<void> = Promise.resolve();

  constructor(parts: FollowMaterialParts) {
    this.#parts = parts;
  }

  troubles(): readonly string[] {
    return this.#followed.flatMap(({ trouble }) => trouble ?? []);
  }

  add(material: readonly OpenedMaterial[]): void {
    const added = material.map((opened) => ({ ...opened, wanted: undefined, trouble: undefined, retry: undefined }));
    this.#followed = [...this.#followed, ...added];
    for (const one of added) this.#follow(one);
  }

  drop(material: readonly OpenedMaterial[]): void {
    const gone = this.#followed.filter((one) => material.some(({ files }) => files === one.files));
    for (const one of gone) end(one);
    this.#followed = this.#followed.filter((one) => !gone.includes(one));
  }

  close(): void {
    for (const one of this.#followed) end(one);
  }

  #follow(one: Followed): void {
    one.files.follow({
      taken: (value) => this.#handOver(one, value),
      refused: (error, isInForce) => {
        one.wanted = undefined;
        one.retry?.cancel();
        one.trouble = `${wordsOf(this.#parts).trouble}: ${problemsText(problemsOf(error))}`;
        refuse(one.item, { error, isInForce }, this.#parts);
      },
    });
  }

  /** `before`: what it ended with the last time; the same is not told again */
  #handOver(one: Followed, value: CheckedMaterial, before?: string): void {
    one.retry?.cancel();
    one.wanted = value;
    one.trouble = before;
    this.#last = this.#last.then(async () => {
      if (one.wanted !== value) return;
      const trouble = await takeOrTell(one.item, value, { parts: this.#parts, before });
      // files that came meanwhile are the newer word
      if (one.wanted !== value) return;
      one.trouble = trouble;
      if (trouble === undefined) return;
      one.retry = this.#parts.clock.after(againAfter, () => this.#handOver(one, value, trouble));
    });
  }
}

function end(one: Followed): void {
  one.wanted = undefined;
  one.retry?.cancel();
  one.files.close();
}

type Telling = { readonly parts: FollowMaterialParts; readonly before: string | undefined };

/** What keeps good files from being in force, for readyz; undefined when nothing does. */
async function takeOrTell(item: MaterialItem, value: CheckedMaterial, telling: Telling): Promise<string | undefined> {
  const { parts, before } = telling;
  const [{ path }] = item.files;
  const fields = { path, reason: item.kind };
  const failure = await take(item, value, parts);
  const trouble = failure === undefined ? undefined : failure.trouble;
  if (trouble === undefined || trouble !== before) {
    parts.metrics.count('leafgate_certificate_reloads_total', {
      of: item.kind,
      taken: trouble === undefined ? 'yes' : 'no',
    });
  }
  if (failure === undefined) parts.log.info('certificates taken', fields);
  else if (trouble !== before) parts.log.error(failure.sentence, { ...fields, ...failure.fields });
  return trouble;
}

const notTaken = 'Envoy does not take certificates that look good, the last ones stay in force';
const notHanded = 'certificates could not be handed to Envoy';

type Failure = {
  readonly sentence: string;
  readonly trouble: string;
  readonly fields: { readonly detail?: string; readonly code?: string };
};

async function take(
  item: MaterialItem,
  value: CheckedMaterial,
  parts: FollowMaterialParts,
): Promise<Failure | undefined> {
  try {
    if (await handOver(item, value, parts)) return undefined;
    return { sentence: notTaken, trouble: notTaken, fields: {} };
  } catch (thrown) {
    const { message, code } = LeafgateError.from(thrown);
    return { sentence: notHanded, trouble: `${notHanded}: ${message}`, fields: { detail: message, code } };
  }
}

function handOver(
  { kind, secret }: MaterialItem,
  { text }: CheckedMaterial,
  parts: FollowMaterialParts,
): Promise<boolean> {
  if (secret !== undefined) return reloadCertificates(parts, { secret, text });
  return parts.publish[kind === 'origin-ca' ? 'origin-ca' : 'origin-credential']();
}

type Refusal = { readonly error: LeafgateError; readonly isInForce: boolean };

/** An Envoy that looks at the files by itself takes what it can read: one that has expired, too. */
function wordsOf({ reloadDir }: FollowMaterialParts): { readonly trouble: string; readonly refused: string } {
  return reloadDir === undefined
    ? {
        trouble: 'Envoy follows its files by itself, and they are no good',
        refused: 'certificates that Envoy follows by itself are no good',
      }
    : {
        trouble: 'the last good certificate serves',
        refused: 'certificates refused, the last good ones stay in force',
      };
}

function refuse(item: MaterialItem, { error, isInForce }: Refusal, parts: FollowMaterialParts): void {
  const { log, metrics } = parts;
  if (!isInForce) metrics.count('leafgate_certificate_reloads_total', { of: item.kind, taken: 'no' });
  const sentence = isInForce ? 'certificates in force are no good any more' : wordsOf(parts).refused;
  for (const problem of problemsOf(error)) {
    log.error(sentence, { path: item.files[0].path, reason: item.kind, detail: problem.message, code: problem.code });
  }
}

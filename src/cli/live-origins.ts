// The client certificates that chosen origins see, while the list of them and their files change: new files are looked at as
// those of a start are, then Envoy gets clusters and choice, in this order. A list is in force as a whole, or the earlier one
// is. Clusters that nobody picks any more go a little later, since a request may wait for a name in one.
import { join } from 'node:path';
import { credentialCluster, credentialFilterName } from '../bootstrap/origin-credentials.ts';
import { originDocuments } from '../bootstrap/generate-envoy-files.ts';
import { clustersFile, credentialChoiceFile, renderJson, type FollowedDocument } from '../bootstrap/rendered-files.ts';
import { seconds, type Timer } from '../clock.ts';
import type { AdminClient } from '../envoy/admin-client.ts';
import { replaceFollowedFile, type Followed, type ReplacedFile } from '../envoy/followed-files.ts';
import { LeafgateError } from '../errors.ts';
import type { GatewaySpec, OriginCredential, ShownCredential } from '../settings/gateway-spec.ts';
import type { FollowedMaterial } from './follow-material.ts';
import { credentialKey, openMaterial, shownCredentials, type OpenedMaterial } from './gateway-material.ts';
import type { Surroundings } from './surroundings.ts';

export type OriginsEnd = ReplacedFile | { readonly kind: 'unusable'; readonly error: LeafgateError };

export interface LiveOrigins {
  /** Another list. Never rejects. */
  put(credentials: Credentials): Promise<OriginsEnd>;
  /** The list in force, with what its files say now; false where Envoy does not take it. Never rejects. */
  renew(): Promise<boolean>;
}

type Credentials = readonly OriginCredential[];
type Shown = readonly ShownCredential[];

export type LiveOriginsParts = Pick<Surroundings, 'clock' | 'closers'> & {
  /** as Envoy was started with */
  readonly spec: GatewaySpec;
  readonly admin: AdminClient;
  readonly material: Pick<FollowedMaterial, 'add' | 'drop'>;
  /** the list in force, and its files, which are followed already */
  readonly list: Credentials;
  readonly opened: readonly OpenedMaterial[];
};

/** more than three looks for a name */
const clustersGoAfter = seconds(10);

export function createLiveOrigins(parts: LiveOriginsParts): LiveOrigins {
  const origins = new Origins(parts);
  parts.closers.add('clusters of earlier origins', () => origins.close());
  return origins;
}

class Origins implements LiveOrigins {
  readonly #parts: LiveOriginsParts;
  #list: Credentials;
  #opened: readonly OpenedMaterial[];
  /** all that Envoy has clusters for */
  #held: Shown;
  #removal: Timer | undefined;
  /** one at a time */
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: LiveOriginsParts) {
    this.#parts = parts;
    this.#held = parts.spec.originCredentials;
    this.#list = parts.list;
    this.#opened = parts.opened.filter(({ item }) => item.credential !== undefined);
  }

  put(coming: Credentials): Promise<OriginsEnd> {
    return this.#inTurn(() => this.#put(coming));
  }

  renew(): Promise<boolean> {
    return this.#inTurn(async () => (await this.#tellEnvoy(this.#list, this.#opened)).kind === 'taken');
  }

  close(): void {
    this.#removal?.cancel();
  }

  async #put(coming: Credentials): Promise<OriginsEnd> {
    if (JSON.stringify(coming) === JSON.stringify(this.#list)) return { kind: 'taken' };
    const added = await this.#open(coming);
    if (added instanceof LeafgateError) return { kind: 'unusable', error: added };
    const end = await this.#tellEnvoy(coming, [...this.#opened, ...added]);
    if (end.kind !== 'taken') {
      for (const { files } of added) files.close();
      // files that changed since they were looked at: the next try looks at them again
      return end.kind === 'refused' ? { kind: 'late' } : end;
    }
    const keys = new Set(coming.map(credentialKey));
    const gone = this.#opened.filter(({ item }) => !keys.has(item.credential ?? ''));
    this.#parts.material.drop(gone);
    this.#parts.material.add(added);
    this.#opened = [...this.#opened.filter((one) => !gone.includes(one)), ...added];
    this.#list = coming;
    return end;
  }

  /** those of entries that were there already are followed: what became of them meanwhile is told elsewhere */
  async #open(coming: Credentials): Promise<readonly OpenedMaterial[] | LeafgateError> {
    const known = new Set(this.#list.map(credentialKey));
    const originCredentials = coming.filter((credential) => !known.has(credentialKey(credential)));
    const spec = { front: undefined, originCredentials };
    try {
      return await openMaterial({ spec, originCaFiles: [], clock: this.#parts.clock, pool: () => undefined });
    } catch (thrown) {
      return LeafgateError.from(thrown);
    }
  }

  async #tellEnvoy(list: Credentials, opened: readonly OpenedMaterial[]): Promise<ReplacedFile> {
    this.#removal?.cancel();
    const coming = shownCredentials(list, opened);
    const all = [...new Map([...this.#held, ...coming].map((each) => [credentialCluster(each), each])).values()];
    const end = await this.#writeClusters(all);
    if (end.kind !== 'taken') return end;
    this.#held = all;
    const followed = { kind: 'filter', name: credentialFilterName } as const;
    const chosen = await this.#replace(credentialChoiceFile, this.#documents(coming).choice, followed);
    if (chosen.kind === 'taken') {
      this.#removal = this.#parts.clock.after(clustersGoAfter, () => {
        void this.#inTurn(() => this.#removeOthers(list, coming));
      });
    }
    return chosen;
  }

  /** what stays because of a failure goes with the next change, or a restart, and is picked by nobody */
  async #removeOthers(list: Credentials, kept: Shown): Promise<void> {
    if (list !== this.#list) return;
    if ((await this.#writeClusters(kept)).kind === 'taken') this.#held = kept;
  }

  #writeClusters(credentials: Shown): Promise<ReplacedFile> {
    return this.#replace(clustersFile, this.#documents(credentials).clusters, { kind: 'clusters' });
  }

  #documents(originCredentials: Shown): ReturnType<typeof originDocuments> {
    return originDocuments({ ...this.#parts.spec, originCredentials });
  }

  #replace(file: string, document: FollowedDocument, followed: Followed): Promise<ReplacedFile> {
    const path = join(this.#parts.spec.paths.renderedDir, file);
    const replaced = { path, text: renderJson(document), version: document.version_info, followed };
    return replaceFollowedFile(replaced, this.#parts);
  }

  #inTurn<Result>(run: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(run, run);
    this.#last = result;
    return result;
  }
}

// The JSON of a pool, as far as it concerns all CAs (design section 4): bounds before any parsing, then the list and
// which of them signs. Unknown members are left alone, since other systems write the same JSON. It must not know what a
// certificate is.
import { isRecord } from '../is-record.ts';
import { poolErrors } from './pool-errors.ts';

/** a Kubernetes Secret holds no more (1 MiB); thirty-two RSA-4096 CAs with chains need a third of it */
export const maxPoolBytes = 1024 * 1024;
export const maxPoolCas = 32;
/** of a Secret, where the pool is in one; other systems write the same */
export const poolSecretKey = 'pool';

export type JsonObject = { readonly [member: string]: unknown };

export type PoolDocument = {
  /** empty: the first CA */
  readonly activeId: string;
  readonly cas: readonly JsonObject[];
};

/** Throws `pool-too-large`, `pool-not-json`, `pool-not-a-pool`, `pool-empty` or `pool-too-many-cas`. */
export function readPoolDocument(bytes: Uint8Array, source: string): PoolDocument {
  if (bytes.length > maxPoolBytes) throw poolErrors.error('pool-too-large', { source, maxBytes: maxPoolBytes });
  const document = parseJson(bytes, source);
  if (!isRecord(document)) throw notAPool(source, 'it is no object');
  const activeId = document['ActiveForSigning'] ?? '';
  if (typeof activeId !== 'string') throw notAPool(source, 'ActiveForSigning is no text');
  // Go writes a list without members as null
  const list = document['CAs'] ?? [];
  if (!Array.isArray(list)) throw notAPool(source, 'CAs is no list');
  if (list.length === 0) throw poolErrors.error('pool-empty', { source });
  if (list.length > maxPoolCas) {
    throw poolErrors.error('pool-too-many-cas', { source, count: list.length, maxCas: maxPoolCas });
  }
  const cas = list.filter(isRecord);
  if (cas.length < list.length) throw notAPool(source, 'a member of CAs is no object');
  return { activeId, cas };
}

/** The parser's own error is dropped: it quotes what it read, and that is key material. */
function parseJson(bytes: Uint8Array, source: string): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw poolErrors.error('pool-not-json', { source });
  }
}

function notAPool(source: string, reason: string): Error {
  return poolErrors.error('pool-not-a-pool', { source, reason });
}

// Reads a whole pool and keeps every fault beside the CA that it belongs to. `parsePool` and `verifyPool` decide what to
// do about them. Pure: bytes and terms in, readings out.
import { createHash } from 'node:crypto';
import type { LeafgateError } from '../errors.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { holdsPrivateKey } from '../x509/private-key.ts';
import { examineCa, linksOf } from './examine-ca.ts';
import { examineExpiry, examineSigner, type SigningTerms } from './examine-dates.ts';
import { FaultList } from './fault-list.ts';
import { readPoolDocument, type JsonObject } from './pool-document.ts';
import { poolErrors } from './pool-errors.ts';
import type { PoolCa } from './pool-types.ts';
import {
  maxIdChars,
  readAnchor,
  readDate,
  readId,
  readIntermediates,
  readSigningKey,
  type CaEntry,
} from './read-ca-fields.ts';

export type PoolTerms = SigningTerms & {
  /** names the file or the Secret in errors */
  readonly source: string;
};

/** `value` is there only when `faults` is empty; `anchor` whenever the root can be read, whatever else is wrong */
export type CaReading = {
  /** its ID, or its place in the pool where it has none: what errors call it */
  readonly ca: string;
  readonly value: PoolCa | undefined;
  readonly anchor: Certificate | undefined;
  readonly faults: readonly LeafgateError[];
};

export type PoolReading = {
  readonly cas: readonly CaReading[];
  readonly active: CaReading;
  readonly sha256: string;
};

/** Throws where no CA can be told from another: not JSON, no list, too many, no such active CA. */
export function examinePool(bytes: Uint8Array, terms: PoolTerms): PoolReading {
  const document = readPoolDocument(bytes, terms.source);
  const ids = document.cas.map(idOf);
  const activeIndex = document.activeId === '' ? 0 : ids.indexOf(document.activeId);
  const cas = document.cas.map((members, index) => {
    const entry = { ca: ids[index] ?? `number ${index + 1}`, members };
    // which of two CAs of one ID signs would be a guess, so that both are at fault
    const isDuplicate = ids[index] !== undefined && ids.indexOf(ids[index]) !== ids.lastIndexOf(ids[index]);
    return examineEntry(entry, { terms, isActive: index === activeIndex, isDuplicate });
  });
  const active = cas[activeIndex];
  if (active === undefined) throw poolErrors.error('pool-unknown-active', { active: sayActive(document.activeId) });
  return { cas, active, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** undefined also for what is not to be shown: everything that is said of a CA, and its bundle, names it by this */
function idOf(members: JsonObject): string | undefined {
  const id = members['ID'];
  return typeof id === 'string' && id !== '' && isToBeShown(id) ? id : undefined;
}

function sayActive(id: string): string {
  return isToBeShown(id) ? id : 'something that is no ID';
}

function isToBeShown(id: string): boolean {
  return id.length <= maxIdChars && !holdsPrivateKey(id);
}

type EntryTerms = { readonly terms: PoolTerms; readonly isActive: boolean; readonly isDuplicate: boolean };

function examineEntry(entry: CaEntry, { terms, isActive, isDuplicate }: EntryTerms): CaReading {
  const faults = new FaultList();
  if (isDuplicate) faults.add(poolErrors.error('pool-duplicate-id', { ca: entry.ca }));
  const id = faults.attempt(() => readId(entry));
  const anchor = faults.attempt(() => readAnchor(entry));
  const intermediates = faults.attempt(() => readIntermediates(entry));
  const signingKey = faults.attempt(() => readSigningKey(entry));
  const addedAt = faults.attempt(() => readDate(entry, 'AddedAt'));
  const activatedAt = faults.attempt(() => readDate(entry, 'ActivatedAt'));
  const { ca } = entry;
  const unusable = (): CaReading => ({ ca, value: undefined, anchor, faults: faults.all });
  if (anchor === undefined || intermediates === undefined) return unusable();

  const chain = linksOf(anchor, intermediates);
  for (const fault of examineCa({ ca, chain, signingKey })) faults.add(fault);
  for (const fault of examineExpiry(ca, chain, terms.now)) faults.add(fault);
  if (isActive) for (const fault of examineSigner(ca, chain, terms)) faults.add(fault);
  if (faults.all.length > 0 || id === undefined || signingKey === undefined) return unusable();
  const value: PoolCa = {
    id,
    anchor,
    intermediates,
    signingKey,
    keyIdPrefix: keyIdPrefix((intermediates[0] ?? anchor).subjectKeyId),
    ...(addedAt === undefined ? {} : { addedAt }),
    ...(activatedAt === undefined ? {} : { activatedAt }),
  };
  return { ca, value, anchor, faults: [] };
}

function keyIdPrefix(subjectKeyId: Uint8Array | undefined): string {
  return Buffer.from(subjectKeyId ?? [])
    .toString('hex')
    .slice(0, 8);
}

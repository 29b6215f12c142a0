// The certificates of others that a gateway works with: that of the proxy, the CAs of its clients, those of origins, and
// what it shows to some origins. Checked before Envoy sees them, followed while it runs. Their owners keep them: Envoy is
// only pointed to the files and told when to read them again.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Clock, EpochMs } from '../clock.ts';
import {
  clientRootsSecret,
  frontCertificateName,
  frontCertificateSecret,
  frontKeyName,
} from '../bootstrap/proxy-front.ts';
import { credentialRootsSecret, credentialSecret } from '../bootstrap/origin-credentials.ts';
import { problemsOf } from '../errors.ts';
import { throwAll } from '../problems.ts';
import type { Pool } from '../pool/pool-types.ts';
import type { GatewaySpec, OriginCredential, ShownCredential } from '../settings/gateway-spec.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { examineCredential, examineRoots, type CredentialTerms, type NamedText } from '../x509/examine-credential.ts';
import { parseCertificateBundle } from '../x509/pem.ts';
import { checkOriginCas } from './envoy-files.ts';
import { openCheckedFiles, type CheckedFiles, type NamedPath } from './checked-files.ts';

/** the last two: what the Envoy of a pod shows to SDS servers outside of it, and verifies them with */
type MaterialKind = 'front' | 'client-ca' | 'origin-ca' | 'origin-credential' | 'sds-client' | 'sds-server-ca';

/** What one look at the files of an item gave; `text` is what Envoy should then hold. */
export type CheckedMaterial = { readonly certificates: readonly Certificate[]; readonly text: Uint8Array };

export type MaterialItem = {
  readonly kind: MaterialKind;
  readonly files: readonly [NamedPath, ...NamedPath[]];
  /** the secret in Envoy that these files are; undefined where leafgate itself writes what Envoy reads */
  readonly secret: string | undefined;
  /** whose files they are, as `credentialKey` has it; undefined where they are no credential's */
  readonly credential?: string;
  readonly check: (texts: readonly NamedText[], now: EpochMs) => readonly Certificate[];
};

export type OpenedMaterial = { readonly item: MaterialItem; readonly files: CheckedFiles<CheckedMaterial> };

export type MaterialSpec = Pick<GatewaySpec, 'front'> & { readonly originCredentials: readonly OriginCredential[] };

/** What messages call the files of each setting, the path behind it. */
type MaterialWords = {
  readonly front: string;
  readonly clientCa: string;
  readonly origin: (name: string) => string;
  /** whether Envoy follows the files of origins by itself, as secrets */
  readonly areOriginsSecrets: boolean;
};

const flagWords: MaterialWords = {
  front: '--proxy-cert',
  clientCa: '--client-ca',
  origin: (name) => `the origin ${name}:`,
  areOriginsSecrets: false,
};

export const podWords: MaterialWords = {
  front: 'the serving certificate',
  clientCa: 'the CAs of clients in',
  origin: (name) => `the certificate for origins of the Secret ${name},`,
  areOriginsSecrets: true,
};

export type MaterialRequest = {
  readonly spec: MaterialSpec;
  /** `--origin-ca`; absolute */
  readonly originCaFiles: readonly string[];
  readonly clock: Clock;
  /** undefined while it is not read yet; origins must not be verified with its CAs */
  readonly pool: () => Pool | undefined;
};

/** Rejects with everything that is wrong with any of the files. */
export async function openMaterial({
  spec,
  originCaFiles,
  clock,
  pool,
}: MaterialRequest): Promise<readonly OpenedMaterial[]> {
  const items = [...materialItems(spec, flagWords), ...originCaFiles.map((path) => originCaItem(path, pool))];
  const opened = await Promise.allSettled(items.map((item) => openItem(item, clock)));
  throwAll(opened.flatMap((result) => (result.status === 'rejected' ? problemsOf(result.reason) : [])));
  return opened.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
}

/** The certificates of the `--origin-ca` files, as they were taken last. */
export function originCasIn(material: readonly OpenedMaterial[]): readonly Certificate[] {
  return material.flatMap(({ item, files }) => (item.kind === 'origin-ca' ? files.current().certificates : []));
}

/** All but the CAs of origins: what Envoy is pointed to. */
export function materialItems(spec: MaterialSpec, words: MaterialWords): readonly MaterialItem[] {
  return [...frontItems(spec, words), ...spec.originCredentials.flatMap((one) => credentialItems(one, words))];
}

/** Rejects with all that is wrong with the files of one. */
export async function openItem(item: MaterialItem, clock: Clock): Promise<OpenedMaterial> {
  const files = await openCheckedFiles({
    files: item.files,
    clock,
    check: (contents, now) => {
      const texts = contents.map((text, index) => ({ text, source: item.files[index]?.source ?? '' }));
      return { certificates: item.check(texts, now), text: contents[0] ?? new Uint8Array() };
    },
  });
  return { item, files };
}

function frontItems({ front }: MaterialSpec, words: MaterialWords): readonly MaterialItem[] {
  if (front === undefined) return [];
  const serving: MaterialItem = {
    kind: 'front',
    files: [
      named(words.front, join(front.certificateDir, frontCertificateName)),
      named(words.front, join(front.certificateDir, frontKeyName)),
    ],
    secret: frontCertificateSecret,
    check: checkPair('serverAuth'),
  };
  if (front.clientCaFile === undefined) return [serving];
  const roots = named(words.clientCa, front.clientCaFile);
  return [serving, { kind: 'client-ca', files: [roots], secret: clientRootsSecret, check: checkRoots }];
}

function originCaItem(path: string, pool: MaterialRequest['pool']): MaterialItem {
  return {
    kind: 'origin-ca',
    files: [named('--origin-ca', path)],
    secret: undefined,
    check: ([file]) => {
      if (file === undefined) return [];
      const roots = parseCertificateBundle(file.text, file.source, 'anywhere');
      const own = pool();
      if (own !== undefined) checkOriginCas(roots, path, own);
      return roots;
    },
  };
}

function credentialItems(credential: OriginCredential, words: MaterialWords): readonly MaterialItem[] {
  const setting = words.origin(credential.name);
  const kind = 'origin-credential';
  const shown: MaterialItem = {
    kind,
    files: [named(setting, credential.certificateFile), named(setting, credential.keyFile)],
    secret: words.areOriginsSecrets ? credentialSecret(credential) : undefined,
    credential: credentialKey(credential),
    check: checkPair('clientAuth'),
  };
  if (credential.caFile === undefined) return [shown];
  const roots = named(setting, credential.caFile);
  const secret = words.areOriginsSecrets ? credentialRootsSecret(credential) : undefined;
  return [shown, { ...shown, files: [roots], secret, check: checkRoots }];
}

/** tells credentials apart by their name and the paths of their files */
export function credentialKey({ name, certificateFile, keyFile, caFile = '' }: OriginCredential): string {
  return JSON.stringify([name, certificateFile, keyFile, caFile]);
}

/** The credentials with the digest of what was taken last from their files. */
export function shownCredentials(
  credentials: readonly OriginCredential[],
  material: readonly OpenedMaterial[],
): readonly ShownCredential[] {
  return credentials.map((credential) => {
    const digest = createHash('sha256');
    for (const { item, files } of material) {
      if (item.credential === credentialKey(credential)) digest.update(files.current().text);
    }
    return { ...credential, digest: digest.digest('hex') };
  });
}

export function checkPair(purpose: CredentialTerms['purpose']): MaterialItem['check'] {
  return ([certificate, key], now) =>
    certificate === undefined || key === undefined ? [] : [examineCredential({ certificate, key }, { purpose, now })];
}

export const checkRoots: MaterialItem['check'] = ([file], now) => (file === undefined ? [] : examineRoots(file, now));

export function named(setting: string, path: string): NamedPath {
  return { path, source: `${setting} ${path}` };
}

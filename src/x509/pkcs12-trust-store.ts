// A PKCS#12 file (RFC 7292) of certificates that a JVM trusts, the same bytes for the same set: nothing in it is random,
// encrypted or secret. Pure; must not know who reads it.
import { createHash } from 'node:crypto';
import type { Der } from './certificate-types.ts';
import { contextTag, derTags } from './der-reader.ts';
import { derValue } from './der-writer.ts';
import { encodeAsn1, objectId, smallInteger } from './forge-asn1.ts';
import { objectIds } from './object-ids.ts';

const ids = {
  /** content that is not encrypted (RFC 5652 4) */
  data: oid('1.2.840.113549.1.7.1'),
  certBag: oid('1.2.840.113549.1.12.10.1.3'),
  x509Certificate: oid('1.2.840.113549.1.9.22.1'),
  /** the alias of an entry */
  friendlyName: oid('1.2.840.113549.1.9.20'),
  /** Oracle's mark of a trusted certificate: without it a JVM passes the entry over (JDK, PKCS12KeyStore) */
  trustedKeyUsage: oid('2.16.840.1.113894.746875.1.1'),
  anyPurpose: oid(objectIds.anyExtendedKeyUsage),
};

/** RFC 7292 4 */
const pfxVersion = encodeAsn1(smallInteger(3));

/**
 * Each certificate once, ordered by its digest, which is its alias too. There is no MAC (RFC 7292 makes it optional), so
 * that a JVM opens the file with any password and with none (measured: Java 11, 17, 21 and 25, by `keytool` and by
 * `-Djavax.net.ssl.trustStore`) and no algorithm of a MAC can be one that it lacks. A MAC by a password that everybody
 * knows would keep nobody from changing the file.
 */
export function encodePkcs12TrustStore(certificates: readonly Uint8Array[]): Der {
  const byAlias = new Map(certificates.map((der) => [createHash('sha256').update(der).digest('hex'), der]));
  const aliases = [...byAlias.keys()].sort();
  const bags = aliases.flatMap((alias) => trustedBag(alias, byAlias.get(alias)));
  const safeContents = derValue(derTags.sequence, ...bags);
  const authenticatedSafe = derValue(derTags.sequence, dataContent(safeContents));
  return derValue(derTags.sequence, pfxVersion, dataContent(authenticatedSafe));
}

function dataContent(content: Uint8Array): Der {
  return derValue(derTags.sequence, ids.data, explicitly(derValue(derTags.octetString, content)));
}

function trustedBag(alias: string, certificate: Uint8Array | undefined): readonly Der[] {
  if (certificate === undefined) return [];
  const certBag = derValue(
    derTags.sequence,
    ids.x509Certificate,
    explicitly(derValue(derTags.octetString, certificate)),
  );
  const attributes = derValue(
    derTags.set,
    // DER orders a SET by the bytes of its members: the shorter one comes first here
    attribute(ids.trustedKeyUsage, ids.anyPurpose),
    attribute(ids.friendlyName, derValue(bmpStringTag, Buffer.from(alias, 'utf16le').swap16())),
  );
  return [derValue(derTags.sequence, ids.certBag, explicitly(certBag), attributes)];
}

const bmpStringTag = 0x1e;

function attribute(id: Uint8Array, value: Uint8Array): Der {
  return derValue(derTags.sequence, id, derValue(derTags.set, value));
}

function explicitly(value: Uint8Array): Der {
  return derValue(contextTag(0, 'constructed'), value);
}

function oid(dotted: string): Uint8Array {
  return encodeAsn1(objectId(dotted));
}

// May the holder of this certificate ask for leaves? Its names are compared with a list, byte for byte: DNS names first, then
// URIs, and a common name only where it has neither (RFC 6125 6.4.4). Names come from the DER, never from a text that joins
// them: commas and NUL bytes in a name then mean nothing. Pure; that the chain is verified is somebody else's to see to.
import type { AllowedClients } from '../settings/sds-server-settings.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { objectIds } from '../x509/object-ids.ts';
import { readCommonNames } from '../x509/read-common-names.ts';

export type PeerVerdict =
  | { readonly kind: 'allowed'; readonly by: 'dns' | 'uri' | 'common-name' | 'any'; readonly name: string }
  /** `names`: what the certificate offers, as it is written there */
  | { readonly kind: 'refused'; readonly reason: 'not-for-clients' | 'not-listed'; readonly names: readonly string[] };

export function judgePeer(certificate: Certificate, clients: AllowedClients): PeerVerdict {
  const [dns, uris, commonName] = [namesOf(certificate, 'dns'), namesOf(certificate, 'uri'), lastResort(certificate)];
  const names = [...dns, ...uris, ...(commonName === undefined ? [] : [commonName])];
  if (!isForClients(certificate)) return { kind: 'refused', reason: 'not-for-clients', names };
  if (clients.kind === 'any') return { kind: 'allowed', by: 'any', name: names[0] ?? certificate.sha256 };
  const isListed = (name: string): boolean => clients.names.has(name);
  const listedDns = dns.find(isListed);
  if (listedDns !== undefined) return { kind: 'allowed', by: 'dns', name: listedDns };
  const listedUri = uris.find(isListed);
  if (listedUri !== undefined) return { kind: 'allowed', by: 'uri', name: listedUri };
  if (commonName !== undefined && isListed(commonName)) return { kind: 'allowed', by: 'common-name', name: commonName };
  return { kind: 'refused', reason: 'not-listed', names };
}

function namesOf({ subjectAltName }: Certificate, kind: 'dns' | 'uri'): readonly string[] {
  return (subjectAltName?.names ?? []).flatMap((name) => (name.kind === kind ? [name.text] : []));
}

/** Where there are several, readers differ on which one counts: then none does. */
function lastResort(certificate: Certificate): string | undefined {
  const hasNames = certificate.subjectAltName?.names.some(({ kind }) => kind === 'dns' || kind === 'uri') === true;
  if (hasNames) return undefined;
  const [only, ...more] = readCommonNames(certificate.subjectDer);
  return more.length === 0 && only !== '' ? only : undefined;
}

/** one that states no purpose is for any (RFC 5280 4.2.1.12) */
function isForClients({ extendedKeyUsage }: Certificate): boolean {
  if (extendedKeyUsage === undefined) return true;
  return extendedKeyUsage.includes(objectIds.clientAuth) || extendedKeyUsage.includes(objectIds.anyExtendedKeyUsage);
}

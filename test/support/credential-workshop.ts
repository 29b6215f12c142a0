// Certificates of clients and servers for tests, with the names, purposes and dates that a test wants, and their keys. Only
// PEM comes out: what other programs read.
import { createPublicKey, type KeyObject } from 'node:crypto';
import { days, epoch, hours, minus, plus, type EpochMs } from '../../src/clock.ts';
import { extension, keyUsageExtension, leafBasicConstraintsExtension } from '../../src/x509/encode-extensions.ts';
import { contextPrimitive, objectId, sequence } from '../../src/x509/forge-asn1.ts';
import { objectIds } from '../../src/x509/object-ids.ts';
import { encodePem } from '../../src/x509/pem.ts';
import { encodeBlueprint, makeCa, makeKey, type MadeCa, type TestKeyKind } from './ca-workshop.ts';

export type TestCredential = { readonly certificatePem: string; readonly keyPem: string };

export type CredentialRequest = {
  /** the common name; default: actor */
  readonly commonName?: string;
  /** wins over the common name */
  readonly subjectDer?: Uint8Array;
  readonly uris?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly purposes?: readonly ('client' | 'server')[];
  readonly notBefore?: EpochMs;
  readonly notAfter?: EpochMs;
  readonly keyKind?: TestKeyKind;
  /** wins over the kind */
  readonly key?: KeyObject;
};

const purposeIds = { client: '1.3.6.1.5.5.7.3.2', server: objectIds.serverAuth } as const;
/** numbers of the choices in GeneralName (RFC 5280 4.2.1.6) */
const [dnsName, uniformResourceIdentifier] = [2, 6];

/** a CA that is valid now, unlike those of the fixed time in ca-workshop */
export function makeCurrentCa(name: string): MadeCa {
  return makeCa({ name, notBefore: hoursAgo(1), notAfter: plus(epoch(Date.now()), days(30)) });
}

export function caPem(ca: MadeCa): string {
  return encodePem('CERTIFICATE', ca.certificate.der);
}

/** Issued by `issuer`, or by itself when there is none. */
export function issueCredential(issuer: MadeCa | undefined, request: CredentialRequest): TestCredential {
  const key = request.key ?? makeKey(request.keyKind);
  const names = [
    ...(request.dnsNames ?? []).map((text) => contextPrimitive(dnsName, Buffer.from(text))),
    ...(request.uris ?? []).map((text) => contextPrimitive(uniformResourceIdentifier, Buffer.from(text))),
  ];
  const purposes = (request.purposes ?? ['client', 'server']).map((purpose) => objectId(purposeIds[purpose]));
  const der = encodeBlueprint({
    key,
    publicKey: createPublicKey(key),
    name: request.commonName ?? 'actor',
    ...(request.subjectDer === undefined ? {} : { subjectDer: request.subjectDer }),
    ...(issuer === undefined ? {} : { issuer }),
    notBefore: request.notBefore ?? hoursAgo(1),
    notAfter: request.notAfter ?? plus(epoch(Date.now()), hours(1)),
    extensions: (good) => [
      leafBasicConstraintsExtension(),
      keyUsageExtension('digitalSignature'),
      ...good.authorityKeyId,
      ...(purposes.length === 0 ? [] : [extension(objectIds.extendedKeyUsage, 'plain', sequence(...purposes))]),
      ...(names.length === 0 ? [] : [extension(objectIds.subjectAltName, 'plain', sequence(...names))]),
    ],
  });
  return { certificatePem: encodePem('CERTIFICATE', der), keyPem: pkcs8Pem(key) };
}

/** negative: in so many hours */
export function hoursAgo(count: number): EpochMs {
  return minus(epoch(Date.now()), hours(count));
}

function pkcs8Pem(key: KeyObject): string {
  return key.export({ format: 'pem', type: 'pkcs8' }).toString();
}

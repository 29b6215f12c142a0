// Leaves made by hand for tests: good but for the one thing that a test bends. The product's own encoder refuses to make
// most of them.
import { createPublicKey, randomBytes } from 'node:crypto';
import { hours, plus } from '../../src/clock.ts';
import type { EpochMs } from '../../src/clock.ts';
import type { Der } from '../../src/x509/certificate-types.ts';
import { derTags } from '../../src/x509/der-reader.ts';
import {
  authorityKeyIdExtension,
  extension,
  keyUsageExtension,
  leafBasicConstraintsExtension,
  serverAuthExtension,
} from '../../src/x509/encode-extensions.ts';
import {
  contextPrimitive,
  encodeAsn1,
  objectId,
  printableString,
  sequence,
  setOf,
  utf8String,
} from '../../src/x509/forge-asn1.ts';
import type { Asn1Node } from '../../src/x509/forge-asn1.ts';
import { createSerial } from '../../src/x509/serial.ts';
import { encodeBlueprint, makeKey, testNow } from './ca-workshop.ts';
import type { Blueprint, MadeCa } from './ca-workshop.ts';

type LeafPart = 'usage' | 'purpose' | 'constraints' | 'authority' | 'names';

/** What differs from a good leaf: members of the certificate, extensions (undefined: left out), further extensions. */
export type LeafBend = {
  readonly certificate?: Blueprint;
  readonly parts?: { readonly [part in LeafPart]?: Asn1Node | undefined };
  readonly more?: readonly Asn1Node[];
};

export type LeafBench = { readonly ca: MadeCa; readonly host: string; readonly now?: EpochMs };

export function bentLeaf({ ca, host, now = testNow }: LeafBench, bend: LeafBend = {}): Der {
  const serial = createSerial(randomBytes);
  const parts = {
    usage: keyUsageExtension('digitalSignature'),
    purpose: serverAuthExtension(),
    constraints: leafBasicConstraintsExtension(),
    authority: authorityKeyIdExtension(ca.keyId),
    names: altName(dnsName(host)),
    ...bend.parts,
  };
  const list = [parts.usage, parts.purpose, parts.constraints, parts.authority, parts.names, ...(bend.more ?? [])];
  return encodeBlueprint({
    key: ca.key,
    publicKey: createPublicKey(makeKey()),
    issuer: ca,
    serial,
    subjectDer: serialSubject(Buffer.from(serial).toString('hex')),
    notBefore: now,
    notAfter: plus(now, hours(1)),
    extensions: () => list.filter((part) => part !== undefined),
    ...bend.certificate,
  }) as Der;
}

export function dnsName(host: string): Asn1Node {
  return contextPrimitive(2, Buffer.from(host));
}

export function altName(...names: readonly Asn1Node[]): Asn1Node {
  return extension('2.5.29.17', 'plain', sequence(...names));
}

export function criticalAltName(...names: readonly Asn1Node[]): Asn1Node {
  return extension('2.5.29.17', 'critical', sequence(...names));
}

export function purposes(...ids: readonly string[]): Asn1Node {
  return extension('2.5.29.37', 'plain', sequence(...ids.map(objectId)));
}

export function serialSubject(hex: string): Uint8Array {
  return encodeAsn1(sequence(setOf(sequence(objectId('2.5.4.5'), printableString(hex)))));
}

export function commonName(text: string): Uint8Array {
  return encodeAsn1(sequence(setOf(sequence(objectId('2.5.4.3'), utf8String(text)))));
}

/** UTF8String becomes PrintableString: the same name to OpenSSL, another to Go */
export function reencoded(subjectDer: Uint8Array): Uint8Array {
  return Uint8Array.from(subjectDer, (octet) => (octet === derTags.utf8String ? derTags.printableString : octet));
}

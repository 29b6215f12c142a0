// The extensions that our own certificates carry (RFC 5280 4.2.1), each as it must stand in a leaf or in a CA. It must
// not know who signs.
import {
  bitString,
  contextPrimitive,
  encodeAsn1,
  objectId,
  octetString,
  sequence,
  smallInteger,
  trueValue,
  type Asn1Node,
} from './forge-asn1.ts';
import { objectIds } from './object-ids.ts';

type Criticality = 'critical' | 'plain';

/** named bits of KeyUsage with the count of unused bits; DER drops trailing zero bits (X.690 11.2.2) */
const keyUsageBits = {
  digitalSignature: { octet: 0x80, unused: 7 },
  keyCertSignAndCrlSign: { octet: 0x06, unused: 1 },
} as const;

export function extension(id: string, criticality: Criticality, value: Asn1Node): Asn1Node {
  const content = octetString(encodeAsn1(value));
  return criticality === 'critical' ? sequence(objectId(id), trueValue(), content) : sequence(objectId(id), content);
}

export function keyUsageExtension(usage: keyof typeof keyUsageBits): Asn1Node {
  const { octet, unused } = keyUsageBits[usage];
  return extension(objectIds.keyUsage, 'critical', bitString(Uint8Array.of(octet), unused));
}

export function serverAuthExtension(): Asn1Node {
  return extension(objectIds.extendedKeyUsage, 'plain', sequence(objectId(objectIds.serverAuth)));
}

/** CA:false is the default, so DER leaves it out: an empty SEQUENCE */
export function leafBasicConstraintsExtension(): Asn1Node {
  return extension(objectIds.basicConstraints, 'critical', sequence());
}

export function caBasicConstraintsExtension(pathLength?: number): Asn1Node {
  const members = pathLength === undefined ? [trueValue()] : [trueValue(), smallInteger(pathLength)];
  return extension(objectIds.basicConstraints, 'critical', sequence(...members));
}

export function subjectKeyIdExtension(keyId: Uint8Array): Asn1Node {
  return extension(objectIds.subjectKeyId, 'plain', octetString(keyId));
}

/** the key id of the issuer as it stands in the issuer, byte for byte: OpenSSL compares it and nothing else */
export function authorityKeyIdExtension(issuerKeyId: Uint8Array): Asn1Node {
  return extension(objectIds.authorityKeyId, 'plain', sequence(contextPrimitive(0, issuerKeyId)));
}

// Roots that sign themselves and are odd in one place: what a CA's software may write, what only an attacker would, and what
// the two parsers that matter here (OpenSSL in Node, crypto/x509 in the API server) may not agree on.
import { extension, keyUsageExtension } from '../../src/x509/encode-extensions.ts';
import {
  bitString,
  contextConstructed,
  contextPrimitive,
  encodeAsn1,
  nullValue,
  objectId,
  octetString,
  printableString,
  sequence,
  setOf,
  smallInteger,
  trueValue,
  utf8String,
  type Asn1Node,
} from '../../src/x509/forge-asn1.ts';
import { objectIds } from '../../src/x509/object-ids.ts';
import type { Blueprint, GoodExtensions } from './ca-workshop.ts';

type OddRoot = { readonly [oddness: string]: Omit<Blueprint, 'key'> };

const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1');
const [email, dnsName, uri, ipAddress] = [1, 2, 6, 7];
const policyMappings = '2.5.29.33';
const inhibitAnyPolicy = '2.5.29.54';
const certificatePolicies = '2.5.29.32';
const crlDistributionPoints = '2.5.29.31';
const authorityInformation = '1.3.6.1.5.5.7.1.1';

function more(...added: readonly Asn1Node[]): Omit<Blueprint, 'key'> {
  return { extensions: (good) => [...all(good), ...added] };
}

function all(good: GoodExtensions): readonly Asn1Node[] {
  return [good.basicConstraints, good.keyUsage, good.subjectKeyId, ...good.authorityKeyId];
}

function alternative(choice: number, content: string): Omit<Blueprint, 'key'> {
  return more(extension(objectIds.subjectAltName, 'plain', sequence(contextPrimitive(choice, bytes(content)))));
}

function constraint(choice: number, content: string): Omit<Blueprint, 'key'> {
  const subtree = sequence(contextPrimitive(choice, bytes(content)));
  return more(extension(objectIds.nameConstraints, 'critical', sequence(contextConstructed(0, subtree))));
}

function constraints(value: Asn1Node): Omit<Blueprint, 'key'> {
  return {
    extensions: (good) => [
      extension(objectIds.basicConstraints, 'critical', value),
      good.keyUsage,
      good.subjectKeyId,
      ...good.authorityKeyId,
    ],
  };
}

function named(value: Asn1Node, id: string = objectIds.commonName): Omit<Blueprint, 'key'> {
  return { subjectDer: encodeAsn1(sequence(setOf(sequence(objectId(id), value)))) };
}

export const oddRoots: OddRoot = {
  'nothing odd': {},
  'version 1': { version: 1 },
  'serial zero': { serial: Uint8Array.of(0) },
  'negative serial': { serial: Uint8Array.of(0x80, 1) },
  'serial of 21 bytes': { serial: Uint8Array.from({ length: 21 }, () => 0x11) },
  'serial of 200 bytes': { serial: Uint8Array.from({ length: 200 }, () => 0x11) },
  'serial not minimal': { serial: Uint8Array.of(0, 0, 1) },
  'serial without bytes': { serial: new Uint8Array() },
  'SHA-1': { digest: 'sha1' },
  'an unknown extension': more(extension('1.3.6.1.4.1.99999.1', 'plain', octetString(bytes('x')))),
  'an unknown critical extension': more(extension('1.3.6.1.4.1.99999.1', 'critical', octetString(bytes('x')))),
  'an unknown extension twice': more(
    extension('1.3.6.1.4.1.99999.1', 'plain', nullValue()),
    extension('1.3.6.1.4.1.99999.1', 'plain', nullValue()),
  ),
  'basic constraints twice': { extensions: (good) => [...all(good), good.basicConstraints] },
  'key usage twice': { extensions: (good) => [...all(good), good.keyUsage] },
  'no extension at all': { extensions: () => [] },
  'basic constraints alone': { extensions: (good) => [good.basicConstraints] },
  'no CA': constraints(sequence()),
  'path length 0': constraints(sequence(trueValue(), smallInteger(0))),
  'path length -1': constraints(sequence(trueValue(), smallInteger(-1))),
  'path length 70000': constraints(sequence(trueValue(), smallInteger(70_000))),
  'path length without bytes': constraints(sequence(trueValue(), contextPrimitive(2, new Uint8Array()))),
  'more in basic constraints': constraints(sequence(trueValue(), smallInteger(0), nullValue())),
  'basic constraints that are no sequence': constraints(octetString(bytes('x'))),
  'key usage of a leaf': {
    extensions: (good) => [good.basicConstraints, keyUsageExtension('digitalSignature'), good.subjectKeyId],
  },
  'key usage without bits': {
    extensions: (good) => [
      good.basicConstraints,
      extension(objectIds.keyUsage, 'critical', bitString(Uint8Array.of(0), 0)),
    ],
  },
  'key usage that is no bit string': {
    extensions: (good) => [good.basicConstraints, extension(objectIds.keyUsage, 'critical', nullValue())],
  },
  'key id without bytes': {
    extensions: (good) => [
      ...[good.basicConstraints, good.keyUsage],
      extension(objectIds.subjectKeyId, 'plain', octetString(new Uint8Array())),
    ],
  },
  'key id that is no octet string': {
    extensions: (good) => [good.basicConstraints, extension(objectIds.subjectKeyId, 'plain', nullValue())],
  },
  'key id critical': {
    extensions: (good) => [
      ...[good.basicConstraints, good.keyUsage],
      extension(objectIds.subjectKeyId, 'critical', octetString(bytes('x'))),
    ],
  },
  'authority key id that is no sequence': more(extension(objectIds.authorityKeyId, 'plain', nullValue())),
  'authority key id critical': more(
    extension(objectIds.authorityKeyId, 'critical', sequence(contextPrimitive(0, bytes('x')))),
  ),
  'extended usage': more(extension(objectIds.extendedKeyUsage, 'plain', sequence(objectId(objectIds.serverAuth)))),
  'extended usage without any': more(extension(objectIds.extendedKeyUsage, 'plain', sequence())),
  'extended usage that is none': more(extension(objectIds.extendedKeyUsage, 'plain', sequence(nullValue()))),
  'names without any': more(extension(objectIds.subjectAltName, 'plain', sequence())),
  'a DNS name': alternative(dnsName, 'ca.test'),
  'a DNS name of other letters': alternative(dnsName, '\xe4.test'),
  'a DNS name that is none': alternative(dnsName, 'a b..c'),
  'an address of 3 bytes': alternative(ipAddress, '\x0a\x00\x01'),
  'an address of 16 bytes': alternative(ipAddress, '\xfd'.repeat(16)),
  'a URI that is none': alternative(uri, 'http://[::1'),
  'a URI with a space in its host': alternative(uri, 'http://a b/'),
  'a URI without a host': alternative(uri, 'urn:x:y'),
  'a URI of other letters': alternative(uri, 'http://\xe4.test/'),
  'a mail address of other letters': alternative(email, '\xe4@a.test'),
  'a kind of name that nobody knows': alternative(8, 'x'),
  'constraint: a DNS name': constraint(dnsName, 'a.test'),
  'constraint: a DNS name with a dot before': constraint(dnsName, '.a.test'),
  'constraint: a DNS name that is none': constraint(dnsName, 'a b..c'),
  'constraint: a DNS name with a wildcard': constraint(dnsName, '*.a.test'),
  'constraint: everything': constraint(dnsName, ''),
  'constraint: an address range': constraint(ipAddress, '\x0a\x00\x00\x00\xff\x00\x00\x00'),
  'constraint: an address without a mask': constraint(ipAddress, '\x0a\x00\x00\x00'),
  'constraint: a mask with holes': constraint(ipAddress, '\x0a\x00\x00\x00\xff\x00\xff\x00'),
  'constraint: a mail address': constraint(email, 'a@b.test'),
  'constraint: a mail address that is none': constraint(email, '@@'),
  'constraint: a URI host': constraint(uri, '.a.test'),
  'constraint: a URI address': constraint(uri, '10.0.0.1'),
  'constraint: a kind that nobody knows': constraint(8, 'x'),
  'constraint: none': more(extension(objectIds.nameConstraints, 'critical', sequence())),
  'constraint: not critical': more(
    extension(
      objectIds.nameConstraints,
      'plain',
      sequence(contextConstructed(0, sequence(contextPrimitive(dnsName, bytes('a.test'))))),
    ),
  ),
  'policies that are none': more(extension(certificatePolicies, 'plain', nullValue())),
  'policies without any': more(extension(certificatePolicies, 'plain', sequence())),
  'a policy twice': more(
    extension(certificatePolicies, 'plain', sequence(...[1, 2].map(() => sequence(objectId('1.2.3.4'))))),
  ),
  'policy mappings that are none': more(extension(policyMappings, 'critical', nullValue())),
  'no other policies, as text': more(extension(inhibitAnyPolicy, 'critical', octetString(bytes('x')))),
  'lists of revoked ones that are none': more(extension(crlDistributionPoints, 'plain', nullValue())),
  'authority information that is none': more(extension(authorityInformation, 'plain', nullValue())),
  'authority information, critical': more(
    extension(
      authorityInformation,
      'critical',
      sequence(sequence(objectId('1.3.6.1.5.5.7.48.1'), contextPrimitive(uri, bytes('http://a.test')))),
    ),
  ),
  'a subject without anything': { subjectDer: encodeAsn1(sequence()) },
  'a subject with an asterisk': named(printableString('*.a.test')),
  'a subject with an at sign': named(printableString('a@b')),
  'a subject with an ampersand': named(printableString('a & b')),
  'a subject with an underscore': named(printableString('a_b')),
  'a subject of other letters': named(printableString('\xe4')),
  'a subject with a zero byte': named(utf8String('a\0b')),
  'a subject that is a number': named(smallInteger(5)),
  'a subject that is nothing': named(nullValue()),
  'a subject of an unknown kind': named(utf8String('x'), '1.3.6.1.4.1.99999.2'),
  'a country of three letters': named(printableString('DEU'), '2.5.4.6'),
};

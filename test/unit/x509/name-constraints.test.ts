import { describe, expect, test } from 'vitest';
import { extension } from '../../../src/x509/encode-extensions.ts';
import {
  contextConstructed,
  contextPrimitive,
  objectId,
  sequence,
  type Asn1Node,
} from '../../../src/x509/forge-asn1.ts';
import { forbidsEveryLeaf, isNamePermitted } from '../../../src/x509/name-constraints.ts';
import { goodList, makeCa } from '../../support/ca-workshop.ts';
import { leafName } from '../../support/leaf-names.ts';

type Constraints = { readonly permitted?: readonly Asn1Node[]; readonly excluded?: readonly Asn1Node[] };

const dns = (base: string) => sequence(contextPrimitive(2, Buffer.from(base)));
const ip = (hex: string) => sequence(contextPrimitive(7, Buffer.from(hex, 'hex')));
const mail = sequence(contextPrimitive(1, Buffer.from('example.com')));
const uri = sequence(contextPrimitive(6, Buffer.from('example.com')));
const directory = sequence(contextConstructed(4, sequence()));
const otherName = sequence(contextConstructed(0, objectId('1.2.3'), contextConstructed(0, sequence())));

function constrained({ permitted = [], excluded = [] }: Constraints, criticality: 'critical' | 'plain' = 'critical') {
  const subtrees = [
    ...(permitted.length === 0 ? [] : [contextConstructed(0, ...permitted)]),
    ...(excluded.length === 0 ? [] : [contextConstructed(1, ...excluded)]),
  ];
  const constraints = extension('2.5.29.30', criticality, sequence(...subtrees));
  return makeCa({ extensions: (good) => [...goodList(good), constraints] }).certificate;
}

const permits = (constraints: Constraints, name: string) => isNamePermitted([constrained(constraints)], leafName(name));

describe('name constraints', () => {
  test('do not hinder where there are none', () => {
    expect(isNamePermitted([makeCa().certificate], leafName('example.com'))).toBe(true);
    expect(isNamePermitted([], leafName('example.com'))).toBe(true);
  });

  test.each<[string, string, boolean]>([
    ['example.com', 'example.com', true],
    ['example.com', 'a.example.com', true],
    ['example.com', 'a.b.example.com', true],
    ['example.com', 'badexample.com', false],
    ['example.com', 'example.org', false],
    ['example.com', 'com', false],
    ['EXAMPLE.com', 'example.com', true],
    ['.example.com', 'a.example.com', true],
    ['.example.com', 'example.com', false],
    ['', 'anything.at.all', true],
    ['*.example.com', 'a.example.com', false],
  ])('that permit "%s" decide over %s: %s', (base, host, expected) => {
    expect(permits({ permitted: [dns(base)] }, host)).toBe(expected);
    expect(permits({ excluded: [dns(base)] }, host)).toBe(!expected);
  });

  test('permit what any of several subtrees permits, and exclusion wins', () => {
    const constraints = { permitted: [dns('example.com'), dns('example.org')], excluded: [dns('secret.example.org')] };
    expect(permits(constraints, 'a.example.com')).toBe(true);
    expect(permits(constraints, 'a.example.org')).toBe(true);
    expect(permits(constraints, 'a.secret.example.org')).toBe(false);
  });

  test.each<[string, string, boolean]>([
    ['0a000000ff000000', '10.1.2.3', true],
    ['0a000000ff000000', '11.1.2.3', false],
    ['0a000000ff000000', '2001:db8::1', false],
    ['0a010203ffffffff', '10.1.2.3', true],
    ['0000000000000000', '10.1.2.3', true],
    ['0000000000000000', '2001:db8::1', false],
    ['00'.repeat(32), '2001:db8::1', true],
    ['00'.repeat(32), '10.1.2.3', false],
    [`20010db8${'00'.repeat(12)}ffffffff${'00'.repeat(12)}`, '2001:db8::1', true],
    [`20010db8${'00'.repeat(12)}ffffffff${'00'.repeat(12)}`, '2001:db9::1', false],
    [`20010db8${'00'.repeat(12)}ffffffff${'00'.repeat(12)}`, '10.1.2.3', false],
  ])('that permit the range %s decide over %s: %s', (range, address, expected) => {
    expect(permits({ permitted: [ip(range)] }, address)).toBe(expected);
    expect(permits({ excluded: [ip(range)] }, address)).toBe(!expected);
  });

  test('of one form leave the other form free', () => {
    expect(permits({ permitted: [dns('example.com')] }, '10.0.0.1')).toBe(true);
    expect(permits({ permitted: [ip('0a000000ff000000')] }, 'example.org')).toBe(true);
  });

  test('of mail addresses and URIs never touch a leaf, which has neither', () => {
    expect(permits({ permitted: [mail, uri] }, 'example.org')).toBe(true);
  });

  test('hold when they stand anywhere in the chain, critical or not', () => {
    const root = constrained({ permitted: [dns('example.com')] }, 'plain');
    const below = constrained({ excluded: [dns('secret.example.com')] });
    const chain = [root, below, makeCa().certificate];
    expect(isNamePermitted(chain, leafName('a.example.com'))).toBe(true);
    expect(isNamePermitted(chain, leafName('secret.example.com'))).toBe(false);
    expect(isNamePermitted(chain, leafName('example.org'))).toBe(false);
  });

  test.each<[string, Constraints, 'critical' | 'plain', boolean]>([
    ['a directory name, critical', { permitted: [directory] }, 'critical', true],
    ['a directory name, not critical', { permitted: [directory] }, 'plain', true],
    ['another name, critical', { excluded: [otherName] }, 'critical', true],
    ['another name, not critical', { excluded: [otherName] }, 'plain', false],
    [
      'a minimum, critical',
      { permitted: [sequence(contextPrimitive(2, Buffer.from('a')), contextPrimitive(0, Uint8Array.of(1)))] },
      'critical',
      true,
    ],
    [
      'a minimum of zero',
      { permitted: [sequence(contextPrimitive(2, Buffer.from('example.com')), contextPrimitive(0, Uint8Array.of(0)))] },
      'critical',
      false,
    ],
    [
      'a maximum, critical',
      { permitted: [sequence(contextPrimitive(2, Buffer.from('a')), contextPrimitive(1, Uint8Array.of(1)))] },
      'critical',
      true,
    ],
  ])('by %s forbid every leaf where they cannot be checked', (_, constraints, criticality, forbids) => {
    const certificate = constrained(constraints, criticality);
    expect(forbidsEveryLeaf(certificate.nameConstraints!)).toBe(forbids);
    expect(isNamePermitted([certificate], leafName('example.com'))).toBe(!forbids);
  });

  test('with a range of a wrong length, or too many subtrees, make the certificate unreadable', () => {
    const unreadable = expect.objectContaining({ code: 'certificate-unreadable' });
    expect(() => constrained({ permitted: [ip('0a00')] })).toThrow(unreadable);
    expect(() => constrained({ permitted: Array.from({ length: 1001 }, () => dns('a')) })).toThrow(unreadable);
    expect(() => constrained({ permitted: Array.from({ length: 1000 }, () => dns('a')) })).not.toThrow();
  });
});

import { randomBytes, X509Certificate } from 'node:crypto';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { epoch } from '../../src/clock.ts';
import type { EpochMs } from '../../src/clock.ts';
import { ipAddressFromOctets } from '../../src/names/ip-address.ts';
import { askedNameFromText, parseAskedName } from '../../src/names/parse-asked-name.ts';
import type { Certificate, Signer } from '../../src/x509/certificate-types.ts';
import { checkLeaf } from '../../src/x509/check-leaf.ts';
import { createLeafKey } from '../../src/x509/leaf-key.ts';
import { createLeafTemplate, encodeLeaf, type LeafRequest, type LeafTemplate } from '../../src/x509/leaf-template.ts';
import { leafChainPem, parseCertificateBundle } from '../../src/x509/pem.ts';
import { createSerial } from '../../src/x509/serial.ts';
import { signLeaf } from '../../src/x509/sign-leaf.ts';
import { createKeyring, makeCa, signerOf, testNow, type TestKeyKind } from '../support/ca-workshop.ts';

const kinds: readonly TestKeyKind[] = ['P-256', 'P-384', 'RSA-2048', 'RSA-4096', 'Ed25519'];
const end = epoch(Date.UTC(2060, 0, 1));

type Line = { readonly signer: Signer; readonly root: Certificate; readonly template: LeafTemplate };

/** every kind of CA, each as a root that signs and as a root with two CAs below it */
function makeLines(): readonly Line[] {
  const keyOf = createKeyring();
  return kinds.flatMap((kind) => {
    const root = makeCa({ name: `root ${kind}`, key: keyOf(kind), notAfter: end });
    const middle = makeCa({ name: `middle ${kind}`, issuer: root, notAfter: end });
    const lowest = makeCa({ name: `lowest ${kind}`, key: keyOf(kind), issuer: middle, notAfter: end });
    const signers = [signerOf(root), signerOf(lowest, { chain: [lowest, middle], root })];
    return signers.map((signer) => ({
      signer,
      root: root.certificate,
      template: createLeafTemplate(signer, createLeafKey(testNow)),
    }));
  });
}

const label = fc.stringMatching(/^[a-z0-9_]([a-z0-9_-]{0,20}[a-z0-9_])?$/);
const host = fc
  .array(label, { minLength: 1, maxLength: 11 })
  .map((labels) => parseAskedName(askedNameFromText(labels.join('.'))))
  // one that is too long, or whose end looks like a number, is no host
  .filter((parsed) => parsed.kind === 'dns');
const octets = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const address = fc
  .oneof(octets(4), octets(16))
  .map(ipAddressFromOctets)
  .filter((parsed) => parsed !== undefined)
  .map((parsed) => ({ kind: 'ip' as const, address: parsed }));
const name: fc.Arbitrary<LeafRequest['name']> = fc.oneof(
  { weight: 3, arbitrary: host },
  { weight: 1, arbitrary: address },
);
const moment = fc.integer({ min: Date.UTC(2026, 0, 1), max: end - 86_400_000 }).map((at) => epoch(at));
const lifetime = fc.integer({ min: 1000, max: 86_400_000 });

describe('a thousand leaves, of all names and all kinds of CA', () => {
  let lines: readonly Line[];
  beforeAll(() => {
    lines = makeLines();
  }, 120_000);

  test('parse back through Node and through our reader, say what was asked, and verify up to the root', async () => {
    const serials = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.nat(), name, moment, lifetime, async (pick, wanted, notBefore, lifetimeMs) => {
        const line = lines[pick % lines.length]!;
        const notAfter: EpochMs = epoch(notBefore + lifetimeMs);
        const draft = encodeLeaf(line.template, {
          name: wanted,
          serial: createSerial(randomBytes),
          notBefore,
          notAfter,
        });
        const der = await signLeaf(draft);
        checkLeaf(der, line.signer, wanted);
        const sent = parseCertificateBundle(leafChainPem(der, line.signer.chain), 'chain');
        const leaf = sent[0]!;
        serials.add(leaf.serialHex);
        expectNodeToAgree(leaf, wanted);
        expect(leaf.notBefore).toBe(Math.floor(notBefore / 1000) * 1000);
        expect(leaf.notAfter).toBe(Math.floor(notAfter / 1000) * 1000);
        expectChain([...sent, line.root]);
      }),
      { numRuns: 1000 },
    );
    expect(serials.size).toBe(1000);
  }, 120_000);
});

function expectNodeToAgree(leaf: Certificate, wanted: LeafRequest['name']): void {
  const native = new X509Certificate(leaf.der);
  expect(Date.parse(native.validTo)).toBe(leaf.notAfter);
  expect(native.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
  expect(native.ca).toBe(false);
  if (wanted.kind === 'dns') {
    expect(native.subjectAltName).toBe(`DNS:${wanted.host}`);
    expect(native.checkHost(wanted.host, { subject: 'never' })).toBe(wanted.host);
  } else {
    expect(native.subjectAltName).toMatch(/^IP Address:[^,]+$/);
    expect(native.checkIP(wanted.address.text)).toBe(wanted.address.text);
  }
}

function expectChain(chain: readonly Certificate[]): void {
  for (const [index, certificate] of chain.entries()) {
    const issuer = chain[index + 1] ?? certificate;
    expect(certificate.native.checkIssued(issuer.native)).toBe(true);
    expect(certificate.native.verify(issuer.native.publicKey)).toBe(true);
    expect(certificate.notAfter).toBeLessThanOrEqual(issuer.notAfter);
  }
}

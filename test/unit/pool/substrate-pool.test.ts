// A pool as agent-substrate writes it: Go's encoding/json of its two structs, without a field of ours, in the Secret key
// `pool`. Its own tool makes Ed25519 CAs unless told otherwise.
import { describe, expect, test } from 'vitest';
import { parsePool, verifyPool } from '../../../src/pool/parse-pool.ts';
import { extension } from '../../../src/x509/encode-extensions.ts';
import { bitString } from '../../../src/x509/forge-asn1.ts';
import { createKeyring, goodList, makeCa } from '../../support/ca-workshop.ts';
import type { MadeCa } from '../../support/ca-workshop.ts';
import { base64, pkcs8, testTerms } from '../../support/pool-workshop.ts';

const keyOf = createKeyring();

/** its roots may also sign handshakes: digitalSignature beside keyCertSign */
function substrateRoot(kind: 'P-256' | 'Ed25519'): MadeCa {
  return makeCa({
    key: keyOf(kind),
    extensions: (good) => [
      extension('2.5.29.15', 'critical', bitString(Uint8Array.of(0x84), 2)),
      good.basicConstraints,
      ...goodList(good).slice(2),
    ],
  });
}

/** Go writes the fields in the order of the struct, bytes as base64, and no newline */
function goJson(cas: readonly (readonly [string, MadeCa])[], active: string): Uint8Array {
  const members = cas.map(
    ([id, ca]) =>
      `{"ID":${JSON.stringify(id)},"SigningKeyPKCS8":"${pkcs8(ca.key)}","RootCertificateDER":"${base64(ca.certificate.der)}"}`,
  );
  return Buffer.from(`{"CAs":[${members.join()}],"ActiveForSigning":${JSON.stringify(active)}}`);
}

describe('a pool of agent-substrate', () => {
  test('of P-256 is read as it is, and signs', () => {
    const root = substrateRoot('P-256');
    const pool = parsePool(goJson([['1', root]], '1'), testTerms());
    expect(pool.active.id).toBe('1');
    expect(pool.signer.certificate.sha256).toBe(root.certificate.sha256);
    expect(pool.faults).toEqual([]);
  });

  test('of its older kind, without an active one, signs with the first', () => {
    const pool = parsePool(
      goJson(
        [
          ['a', substrateRoot('P-256')],
          ['b', substrateRoot('P-256')],
        ],
        '',
      ),
      testTerms(),
    );
    expect(pool.active.id).toBe('a');
  });

  test('of Ed25519, its default, does not sign unless that is allowed, and says so', () => {
    const bytes = goJson([['1', substrateRoot('Ed25519')]], '1');
    expect(verifyPool(bytes, testTerms())).toEqual([
      expect.objectContaining({ code: 'pool-ca-ed25519', remedy: expect.stringContaining('agent-substrate') }),
    ]);
    expect(parsePool(bytes, testTerms({ allowEd25519: true })).signer.certificate.keyKind).toBe('Ed25519');
  });

  test('that moves from Ed25519 to P-256 keeps both anchors: clients that trust the old one still do', () => {
    const pool = parsePool(
      goJson(
        [
          ['old', substrateRoot('Ed25519')],
          ['new', substrateRoot('P-256')],
        ],
        'new',
      ),
      testTerms(),
    );
    expect(pool.cas.map(({ id, anchor }) => `${id} ${anchor.keyKind}`)).toEqual(['old Ed25519', 'new P-256']);
    expect(pool.faults).toEqual([]);
  });
});

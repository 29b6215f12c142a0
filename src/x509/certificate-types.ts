// What this product knows of a certificate, whoever made it. Parsed by `node:crypto` and our DER reader, never by
// node-forge (reliability of parsers: node-forge's advisories are nearly all about parsing and verifying).
import type { KeyObject, X509Certificate } from 'node:crypto';
import type { EpochMs } from '../clock.ts';
import type { SecretBytes } from '../secret-bytes.ts';

declare const der: unique symbol;
declare const pem: unique symbol;

/** one DER value, nothing after it */
export type Der = Uint8Array & { readonly [der]: true };
/** PEM text: CERTIFICATE blocks only, LF, 64 columns, one final newline */
export type Pem = string & { readonly [pem]: true };

export type KeyKind = 'P-256' | 'P-384' | 'P-521' | 'RSA' | 'Ed25519' | 'other';

export type Certificate = {
  readonly der: Der;
  readonly native: X509Certificate;
  /** 1, 2 or 3 */
  readonly version: number;
  /** lower-case hex, no leading 00; a negative one starts with a hyphen */
  readonly serialHex: string;
  /** one line for people, RFC 4514 order not promised */
  readonly subject: string;
  /** raw bytes of the Name, for copying and comparing */
  readonly subjectDer: Der;
  readonly issuerDer: Der;
  readonly notBefore: EpochMs;
  /** last instant of validity, inclusive (RFC 5280 4.1.2.5) */
  readonly notAfter: EpochMs;
  readonly keyKind: KeyKind;
  /** bits of an RSA modulus, else 0 */
  readonly rsaBits: number;
  readonly basicConstraints?: { readonly critical: boolean; readonly isCa: boolean; readonly pathLength?: number };
  readonly keyUsage?: { readonly critical: boolean; readonly keyCertSign: boolean; readonly digitalSignature: boolean };
  readonly subjectKeyId?: Uint8Array;
  readonly authorityKeyId?: Uint8Array;
  readonly nameConstraints?: NameConstraints;
  readonly subjectAltName?: { readonly critical: boolean; readonly names: readonly GeneralName[] };
  /** object identifiers of its purposes; absent means any purpose */
  readonly extendedKeyUsage?: readonly string[];
  /** every extension, known here or not, in its order */
  readonly extensions: readonly { readonly id: string; readonly critical: boolean }[];
  /** object identifier of the signature's algorithm */
  readonly signatureAlgorithm: string;
  /** lower-case hex SHA-256 of `der` */
  readonly sha256: string;
};

/**
 * Texts are one char a byte, whatever the bytes are. `octets` of an address: 4 or 16; `other`: a form that this product does
 * not read, by its tag number.
 */
export type GeneralName =
  | { readonly kind: 'dns'; readonly text: string }
  | { readonly kind: 'uri'; readonly text: string }
  | { readonly kind: 'ip'; readonly octets: Uint8Array }
  | { readonly kind: 'other'; readonly tagNumber: number };

/** permitted and excluded subtrees that this product can check; `unsupported` holds other forms that were present */
export type NameConstraints = {
  readonly critical: boolean;
  readonly permittedDns: readonly string[];
  readonly excludedDns: readonly string[];
  readonly permittedIp: readonly IpRange[];
  readonly excludedIp: readonly IpRange[];
  readonly unsupported: readonly string[];
};

/** address and mask octets, both 4 or both 16 long */
export type IpRange = { readonly address: Uint8Array; readonly mask: Uint8Array };

/** Who signs leaves: the certificate whose subject is the leaf's issuer, its key, and what is sent after the leaf. */
export type Signer = {
  readonly certificate: Certificate;
  readonly key: KeyObject;
  /** intermediates sent after the leaf, the signer first when it is one; never the root */
  readonly chain: readonly Certificate[];
  /** the earliest notAfter of signer, chain and root: no leaf outlives it */
  readonly notAfter: EpochMs;
};

/** A P-256 leaf key with the two encodings that minting splices in. */
export type LeafKey = {
  /** SubjectPublicKeyInfo */
  readonly spkiDer: Der;
  /** PKCS#8, PEM, as Envoy takes it */
  readonly privateKeyPem: SecretBytes;
  readonly createdAt: EpochMs;
};

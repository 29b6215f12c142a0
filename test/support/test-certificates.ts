// Certificate authorities and server certificates for tests, made by the product's own encoder, alive only as long as
// the test: no key is ever a file in the repository.
import { randomBytes } from 'node:crypto';
import { days, epoch, hours, minutes } from '../../src/clock.ts';
import type { EpochMs } from '../../src/clock.ts';
import { parseServerName } from '../../src/transport/server-name.ts';
import type { Certificate, Signer } from '../../src/x509/certificate-types.ts';
import { createCa } from '../../src/x509/create-ca.ts';
import { createLeafKey } from '../../src/x509/leaf-key.ts';
import { createLeafTemplate, encodeLeaf } from '../../src/x509/leaf-template.ts';
import { encodeCertificatesPem, leafChainPem } from '../../src/x509/pem.ts';
import { privateKeyFromPkcs8 } from '../../src/x509/private-key.ts';
import { createSerial } from '../../src/x509/serial.ts';
import { signLeafSync } from '../../src/x509/sign-leaf.ts';

export type TestAuthority = {
  readonly certificate: Certificate;
  /** the root alone, as a bundle */
  readonly pem: string;
  readonly signer: Signer;
};

export type TestAuthorityRequest = {
  readonly organisation?: string;
  readonly now?: EpochMs;
};

export type ServerCertificate = {
  /** leaf first; the root is not in it */
  readonly chainPem: string;
  readonly keyPem: string;
};

export type ServerCertificateRequest = {
  /** exactly one: the encoder makes leaves with one name */
  readonly names: readonly [string];
  readonly notBefore?: EpochMs;
  readonly notAfter?: EpochMs;
};

export function createTestAuthority(request: TestAuthorityRequest = {}): TestAuthority {
  const now = request.now ?? epoch(Date.now());
  const organisation = request.organisation ?? 'leafgate test';
  const { certificate, privateKeyPkcs8 } = createCa({ now, lifetimeMs: days(30), randomBytes, organisation });
  const signer = {
    certificate,
    key: privateKeyFromPkcs8(privateKeyPkcs8),
    chain: [],
    notAfter: certificate.notAfter,
  };
  return { certificate, pem: encodeCertificatesPem([certificate]), signer };
}

export function issueServerCertificate(
  authority: TestAuthority,
  { names: [text], notBefore, notAfter }: ServerCertificateRequest,
): ServerCertificate {
  const name = parseServerName(text);
  if (name === undefined) throw new Error(`no server name: ${text}`);
  const now = Date.now();
  const key = createLeafKey(epoch(now));
  const draft = encodeLeaf(createLeafTemplate(authority.signer, key), {
    name,
    serial: createSerial(randomBytes),
    notBefore: notBefore ?? epoch(now - minutes(5)),
    notAfter: notAfter ?? epoch(now + hours(1)),
  });
  return {
    chainPem: Buffer.from(leafChainPem(signLeafSync(draft), [])).toString(),
    keyPem: Buffer.from(key.privateKeyPem.reveal()).toString(),
  };
}

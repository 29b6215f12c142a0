// A small set of leaves of all shapes, minted as the product mints them, valid now, as files for the tools that judge
// them: names of all forms under the default CA, one leaf under each kind of CA, and two chains.
import { randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { days, epoch, hours, minus, minutes, plus } from '../../src/clock.ts';
import type { Certificate, Signer } from '../../src/x509/certificate-types.ts';
import { createCa, type CaKeyKind } from '../../src/x509/create-ca.ts';
import { createLeafKey } from '../../src/x509/leaf-key.ts';
import { createLeafTemplate, encodeLeaf } from '../../src/x509/leaf-template.ts';
import { encodeCertificatesPem, encodePem, leafChainPem } from '../../src/x509/pem.ts';
import { privateKeyFromPkcs8 } from '../../src/x509/private-key.ts';
import { createSerial } from '../../src/x509/serial.ts';
import { signLeaf } from '../../src/x509/sign-leaf.ts';
import { makeCa } from './ca-workshop.ts';
import type { MadeCa } from './ca-workshop.ts';
import { leafName, longestHost } from './leaf-names.ts';
import type { TempFolder } from './temp-folder.ts';

export type LeafSample = {
  /** `underscore`, `chain under RSA-2048` */
  readonly title: string;
  readonly name: string;
  readonly isAddress: boolean;
  readonly caKind: CaKeyKind;
  readonly files: { readonly root: string; readonly leaf: string; readonly chain: string; readonly issuer: string };
};

type Order = { readonly title: string; readonly name: string; readonly caKind: CaKeyKind; readonly below: boolean };

const host = 'api.example.com';

const orders: readonly Order[] = [
  { title: 'host', name: host, caKind: 'P-256', below: false },
  { title: 'underscore', name: '_acme-challenge.a_b.example.com', caKind: 'P-256', below: false },
  { title: 'longest host', name: longestHost, caKind: 'P-256', below: false },
  { title: 'single label', name: 'localhost', caKind: 'P-256', below: false },
  { title: 'A-label', name: 'xn--bcher-kva.example', caKind: 'P-256', below: false },
  { title: 'IPv4', name: '10.0.0.1', caKind: 'P-256', below: false },
  { title: 'IPv6', name: '2001:db8::1', caKind: 'P-256', below: false },
  { title: 'host under P-384', name: host, caKind: 'P-384', below: false },
  { title: 'host under RSA-2048', name: host, caKind: 'RSA-2048', below: false },
  { title: 'host under RSA-4096', name: host, caKind: 'RSA-4096', below: false },
  { title: 'host under Ed25519', name: host, caKind: 'Ed25519', below: false },
  { title: 'chain under P-256', name: host, caKind: 'P-256', below: true },
  { title: 'chain under RSA-2048', name: host, caKind: 'RSA-2048', below: true },
];

const now = epoch(Date.now());

/** Mints and writes them all; the files live as long as the folder. */
export async function writeLeafSamples(folder: TempFolder): Promise<readonly LeafSample[]> {
  const roots = new Map<CaKeyKind, MadeCa>();
  const samples: LeafSample[] = [];
  for (const [index, order] of orders.entries()) {
    const root = roots.get(order.caKind) ?? makeRoot(order.caKind);
    roots.set(order.caKind, root);
    samples.push(await writeSample(order, root, (name) => folder.file(`${index}-${name}.pem`)));
  }
  return samples;
}

async function writeSample(order: Order, root: MadeCa, file: (name: string) => string): Promise<LeafSample> {
  const signer = order.below ? signerBelow(root) : { ...signerAt(root), chain: [] };
  const name = leafName(order.name);
  const template = createLeafTemplate(signer, createLeafKey(now));
  const dates = { notBefore: minus(now, minutes(5)), notAfter: plus(now, hours(1)) };
  const der = await signLeaf(encodeLeaf(template, { name, serial: createSerial(randomBytes), ...dates }));
  const write = (kind: string, text: string | Uint8Array): string => {
    writeFileSync(file(kind), text);
    return file(kind);
  };
  return {
    title: order.title,
    name: order.name,
    isAddress: name.kind === 'ip',
    caKind: order.caKind,
    files: {
      root: write('root', encodeCertificatesPem([root.certificate])),
      leaf: write('leaf', encodePem('CERTIFICATE', der)),
      chain: write('chain', leafChainPem(der, signer.chain)),
      issuer: write('issuer', encodeCertificatesPem([signer.certificate])),
    },
  };
}

function makeRoot(keyKind: CaKeyKind): MadeCa {
  const { certificate, privateKeyPkcs8 } = createCa({ now, lifetimeMs: days(365), randomBytes, keyKind });
  return {
    certificate,
    key: privateKeyFromPkcs8(privateKeyPkcs8),
    keyId: certificate.subjectKeyId ?? new Uint8Array(),
  };
}

function signerAt({
  certificate,
  key,
}: {
  readonly certificate: Certificate;
  readonly key: KeyObject;
}): Omit<Signer, 'chain'> {
  return { certificate, key, notAfter: certificate.notAfter };
}

function signerBelow(root: MadeCa): Signer {
  const dates = { notBefore: minus(now, hours(1)), notAfter: plus(now, days(30)) };
  const issuing = makeCa({ name: 'issuing', issuer: root, ...dates });
  return { ...signerAt(issuing), chain: [issuing.certificate] };
}

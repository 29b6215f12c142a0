// What a test of the SDS port needs: a CA, the folder of the server with its three files, and clients with certificates of every
// kind.
import { X509Certificate } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { makeCa, makeKey, type MadeCa } from './ca-workshop.ts';
import {
  caPem,
  hoursAgo,
  issueCredential,
  type CredentialRequest,
  type TestCredential,
} from './credential-workshop.ts';

export const serverName = 'sds.channel.test';
export const clientName = 'envoy.channel.test';

export type ChannelFiles = { readonly 'tls.crt': string; readonly 'tls.key': string; readonly 'ca.crt': string };

/** what the server is given; by default one CA issues for both sides */
export function channelFilesOf(
  ca: MadeCa,
  request: CredentialRequest = {},
  clientCas: readonly MadeCa[] = [ca],
): ChannelFiles {
  const { certificatePem, keyPem } = issueCredential(ca, { dnsNames: [serverName], purposes: ['server'], ...request });
  return { 'tls.crt': certificatePem, 'tls.key': keyPem, 'ca.crt': clientCas.map(caPem).join('') };
}

export function writeChannelFiles(dir: string, files: Partial<ChannelFiles>): void {
  mkdirSync(dir, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text, { mode: 0o600 });
}

/** As a kubelet does: the files stand in a folder of their own, and one rename shows all of them. `mark` is new each time. */
export function swapChannelFiles(dir: string, files: ChannelFiles, mark: string): void {
  const real = `..${mark}`;
  const data = join(dir, '..data');
  const before = existsSync(data) ? readlinkSync(data) : undefined;
  writeChannelFiles(join(dir, real), files);
  symlinkSync(real, join(dir, '..data_tmp'));
  renameSync(join(dir, '..data_tmp'), data);
  if (before === undefined) for (const name of Object.keys(files)) symlinkSync(join('..data', name), join(dir, name));
  else rmSync(join(dir, before), { recursive: true });
}

/** By hand, as docs/sds-channel.md has it: each file is moved into place, the key before its certificate. */
export function replaceChannelFiles(dir: string, files: ChannelFiles): void {
  for (const name of ['ca.crt', 'tls.key', 'tls.crt'] as const) {
    writeFileSync(join(dir, `next-${name}`), files[name], { mode: 0o600 });
    renameSync(join(dir, `next-${name}`), join(dir, name));
  }
}

/** lower-case hex, of the certificate that stands there now */
export function serialIn(dir: string): string {
  return new X509Certificate(readFileSync(join(dir, 'tls.crt'))).serialNumber.toLowerCase();
}

/** CAs whose names, with the two bytes before each, fill so many bytes */
export function casThatFill(bytes: number): readonly MadeCa[] {
  const key = makeKey();
  const named = (index: number, length: number): MadeCa =>
    makeCa({ key, name: `${index} `.padEnd(length, 'x'), notBefore: hoursAgo(1), notAfter: hoursAgo(-2) });
  const sizeOf = ({ certificate }: MadeCa): number => certificate.subjectDer.length + 2;
  // of 200 to 249 characters each: the lengths around them then have the same size
  const each = sizeOf(named(0, 200));
  const count = Math.floor(bytes / each);
  const spare = bytes - count * each;
  const more = (index: number): number => Math.floor(spare / count) + (index < spare % count ? 1 : 0);
  return Array.from({ length: count }, (_, index) => named(index, 200 + more(index)));
}

export type ClientSide = { readonly ca: string; readonly credential?: TestCredential | undefined };

export function clientOf(ca: MadeCa, request: CredentialRequest = {}): ClientSide {
  return {
    ca: caPem(ca),
    credential: issueCredential(ca, { dnsNames: [clientName], purposes: ['client'], ...request }),
  };
}

export function tlsOptionsOf(port: number, { ca, credential }: ClientSide): ConnectionOptions {
  const shown = credential === undefined ? {} : { cert: credential.certificatePem, key: credential.keyPem };
  return { host: '127.0.0.1', port, servername: serverName, ca, ALPNProtocols: ['h2'], ...shown };
}

/** Connects; the socket stays open until the server or the test closes it. */
export function openClient(port: number, client: ClientSide, more: ConnectionOptions = {}): TLSSocket {
  return connect({ ...tlsOptionsOf(port, client), ...more }).on('error', () => undefined);
}

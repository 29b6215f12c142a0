// The Secrets of a channel by TCP, good ones and ones with exactly one fault, each with what the controller says of it.
import { createPrivateKey, type KeyObject } from 'node:crypto';
import { epoch, hours, plus } from '../../../src/clock.ts';
import { makeCa } from '../ca-workshop.ts';
import { caPem, hoursAgo, issueCredential, makeCurrentCa, type CredentialRequest } from '../credential-workshop.ts';

export type SecretShape = { readonly type: string; readonly data: Readonly<Record<string, string>> };

/** one that is left out is good */
export type ChannelShapes = { readonly server?: SecretShape | 'absent'; readonly client?: SecretShape | 'absent' };

export type ChannelFault = {
  readonly title: string;
  /** `serverName` is what Envoy asks for */
  readonly make: (serverName: string) => ChannelShapes;
  readonly reason: string;
  /** a part of the message; NAME stands for the gateway */
  readonly says: string;
};

/** in the certificate that Envoy shows */
export const clientName = 'envoy.egress.example';

const tlsType = 'kubernetes.io/tls';
const [channelCa, strangeCa] = [makeCurrentCa('channel'), makeCurrentCa('strange')];
const past = { notBefore: hoursAgo(3), notAfter: hoursAgo(1) };
const future = { notBefore: plus(epoch(Date.now()), hours(1)), notAfter: plus(epoch(Date.now()), hours(3)) };

/** every private key that was made here: no text may show one */
export const channelKeys: KeyObject[] = [channelCa.key, strangeCa.key];

type Side = CredentialRequest & { readonly issuer?: typeof channelCa; readonly roots?: typeof channelCa };

export function serverSecret(serverName: string, more: Side = {}): SecretShape {
  return secretOf({ dnsNames: [serverName], purposes: ['server'], ...more });
}

export function clientSecret(more: Side = {}): SecretShape {
  return secretOf({ dnsNames: [clientName], purposes: ['client'], ...more });
}

/** of a CA that the other side does not know */
export const fromStrangeCa = { issuer: strangeCa } as const;

function secretOf({ issuer = channelCa, roots = channelCa, ...request }: Side): SecretShape {
  const { certificatePem, keyPem } = issueCredential(issuer, request);
  channelKeys.push(createPrivateKey(keyPem));
  return { type: tlsType, data: { 'tls.crt': certificatePem, 'tls.key': keyPem, 'ca.crt': caPem(roots) } };
}

function changed({ type, data }: SecretShape, more: Readonly<Record<string, string>>): SecretShape {
  return { type, data: { ...data, ...more } };
}

function keyOf({ data }: SecretShape): string {
  return data['tls.key'] ?? '';
}

export const channelFaults: readonly ChannelFault[] = [
  fault('no Secret of the server', () => ({ server: 'absent' }), 'SecretNotFound', 'NAME-server does not exist'),
  fault('no Secret of Envoy', () => ({ client: 'absent' }), 'SecretNotFound', 'NAME-client does not exist'),
  fault(
    'every key missing on both sides',
    () => ({
      server: { type: tlsType, data: { 'tls.crt': '', 'tls.key': '' } },
      client: { type: 'Opaque', data: {} },
    }),
    'SecretMalformed',
    'NAME-client lacks tls.crt, tls.key, ca.crt',
  ),
  fault(
    'no ca.crt, as `kubectl create secret tls` leaves it',
    (name) => ({ server: changed(serverSecret(name), { 'ca.crt': '' }) }),
    'SecretMalformed',
    'NAME-server lacks ca.crt',
  ),
  fault(
    'a Secret of another type',
    () => ({ client: { ...clientSecret(), type: 'example.com/tls' } }),
    'SecretMalformed',
    'NAME-client has the type example.com/tls, where kubernetes.io/tls or Opaque is expected',
  ),
  fault(
    'a private key where CAs belong',
    (name) => ({ server: changed(serverSecret(name), { 'ca.crt': keyOf(serverSecret(name)) }) }),
    'SecretMalformed',
    'NAME-server',
  ),
  fault(
    'a CA that has ended',
    () => ({ client: clientSecret({ roots: makeCa({ name: 'ended', ...past }) }) }),
    'SecretMalformed',
    'NAME-client',
  ),
  fault(
    'a server whose certificate is for clients alone',
    (name) => ({ server: serverSecret(name, { purposes: ['client'] }) }),
    'SecretMalformed',
    'serverAuth',
  ),
  fault(
    'an Envoy whose certificate is for servers alone',
    () => ({ client: clientSecret({ purposes: ['server'] }) }),
    'SecretMalformed',
    'clientAuth',
  ),
  fault(
    'the key of another certificate at the server',
    (name) => ({ server: changed(serverSecret(name), { 'tls.key': keyOf(clientSecret()) }) }),
    'SecretKeyMismatch',
    'NAME-server',
  ),
  fault(
    'the key of another certificate at Envoy',
    () => ({ client: changed(clientSecret(), { 'tls.key': keyOf(clientSecret()) }) }),
    'SecretKeyMismatch',
    'NAME-client',
  ),
  fault('a server that has expired', (name) => ({ server: serverSecret(name, past) }), 'SecretExpired', 'NAME-server'),
  fault('an Envoy that has expired', () => ({ client: clientSecret(past) }), 'SecretExpired', 'NAME-client'),
  fault(
    'a server that is not valid yet',
    (name) => ({ server: serverSecret(name, future) }),
    'SecretExpired',
    'NAME-server',
  ),
  fault('an Envoy that is not valid yet', () => ({ client: clientSecret(future) }), 'SecretExpired', 'NAME-client'),
  fault(
    'a server for the short name of its Service',
    (name) => ({ server: serverSecret(name, { dnsNames: [name.replace('.cluster.local', '')] }) }),
    'SecretSANsMismatch',
    'and not for NAME-sds.',
  ),
  fault(
    'an Envoy that nobody listed',
    () => ({ client: clientSecret({ dnsNames: ['other.egress.example'] }) }),
    'ClientNotAllowed',
    'has other.egress.example, and spec.sds.tls.allowedSANs none of it',
  ),
  fault(
    'an Envoy of a CA that the server does not know',
    () => ({ client: clientSecret(fromStrangeCa) }),
    'ChainNotVerified',
    'NAME-client is not verified by ca.crt of Secret',
  ),
  fault(
    'a server of a CA that Envoy does not know',
    (name) => ({ server: serverSecret(name, fromStrangeCa) }),
    'ChainNotVerified',
    'NAME-server is not verified by ca.crt of Secret',
  ),
];

function fault(title: string, make: ChannelFault['make'], reason: string, says: string): ChannelFault {
  return { title, make, reason, says };
}

// The channel between Envoy and an SDS server over TCP: one case for each reason, and what each side would find wrong with the
// other, before either of them is started.
import { createPrivateKey } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { epoch, hours } from '../../../src/clock.ts';
import { conditionEvents } from '../../../src/controller/condition-events.ts';
import type { Observed, SecretContent } from '../../../src/controller/controller-types.ts';
import { judgeSdsTls } from '../../../src/controller/judge-sds-tls.ts';
import type { SdsSpec, SdsTls } from '../../../src/settings/egress-gateway-types.ts';
import { caPem, hoursAgo, issueCredential, makeCurrentCa } from '../../support/credential-workshop.ts';
import { findKeyTraces } from '../../support/key-traces.ts';
import { absent, foundSecret, testNamespace, unavailable } from '../../support/observed-objects.ts';

const [one, two] = [makeCurrentCa('one'), makeCurrentCa('two')];
const serverName = 'gw-sds.egress.svc.cluster.local';
const clientName = 'envoy.egress.example';

const sds: SdsSpec = { transport: 'TCP', leafLifetimeMs: hours(1), allowEd25519: false, tls: undefined };
const tls: SdsTls = {
  enabled: true,
  secretName: 'server',
  clientSecretName: 'client',
  allowedSans: [clientName],
  allowAnyClient: false,
  insecureSkipVerify: false,
};

type Side = Parameters<typeof issueCredential>[1] & { readonly issuer?: typeof one; readonly roots?: string };

function texts({ issuer = one, roots = caPem(one), ...request }: Side): Record<string, string> {
  const { certificatePem, keyPem } = issueCredential(issuer, request);
  return { 'tls.crt': certificatePem, 'tls.key': keyPem, 'ca.crt': roots };
}

const serverSide: Side = { dnsNames: [serverName], purposes: ['server'] };
const clientSide: Side = { dnsNames: [clientName], purposes: ['client'] };
const [goodServer, goodClient] = [texts(serverSide), texts(clientSide)];
// after they were made: a busy machine needs more than a second for that
const now = epoch(Date.now());
const keys = [one.key, ...[goodServer, goodClient].map((side) => createPrivateKey(side['tls.key'] ?? ''))];

type Case = { readonly server?: Observed<SecretContent>; readonly client?: Observed<SecretContent> };

function judgeWith({ server, client }: Case, more: Partial<SdsTls> = {}) {
  return judgeSdsTls(
    { ...sds, tls: { ...tls, ...more } },
    {
      server: {
        secret: { namespace: testNamespace, name: 'server' },
        observed: server ?? foundSecret('server', goodServer),
      },
      client: {
        secret: { namespace: testNamespace, name: 'client' },
        observed: client ?? foundSecret('client', goodClient),
      },
      serverName,
      now,
    },
  );
}

describe('the channel between Envoy and the SDS server', () => {
  test.each<[string, SdsSpec, string, string]>([
    ['a unix socket', { ...sds, transport: 'UnixSocket' }, 'True', 'UnixSocket'],
    ['TCP without a block', sds, 'False', 'TLSBlockMissing'],
    [
      'plaintext by choice',
      { ...sds, tls: { ...tls, enabled: false, secretName: undefined } },
      'False',
      'ExplicitlyDisabled',
    ],
    ['plaintext, a Secret all the same', { ...sds, tls: { ...tls, enabled: false } }, 'False', 'ExplicitlyDisabled'],
    ['TLS without a Secret', { ...sds, tls: { ...tls, secretName: undefined } }, 'False', 'SecretRefMissing'],
  ])('is judged by the spec alone: %s', (_, spec, status, reason) => {
    expect(judgeSdsTls(spec).judgement).toMatchObject({ status, reason });
  });

  test('is enabled when each side will take the other, and says until when', () => {
    const { judgement, changesAt } = judgeWith({});
    expect(judgement).toMatchObject({ status: 'True', reason: 'Enabled' });
    expect(judgement.message).toContain(`mutual TLS as ${serverName}: Secret egress/server, until 20`);
    expect(Math.min(...changesAt.filter((at) => at > now))).toBeLessThanOrEqual(now + hours(1) + 1000);
  });

  test.each<[string, Case, string, RegExp]>([
    ['a Secret of type Opaque', { server: foundSecret('server', goodServer, 'Opaque') }, 'Enabled', /mutual TLS/],
    [
      'another type',
      { client: foundSecret('client', goodClient, 'a.test/b') },
      'SecretMalformed',
      /client has the type a/,
    ],
    [
      'missing keys of both sides, in one message',
      { server: foundSecret('server', { 'tls.crt': 'x' }), client: foundSecret('client', {}, 'Opaque') },
      'SecretMalformed',
      /server lacks tls\.key, ca\.crt; Secret egress\/client lacks tls\.crt, tls\.key, ca\.crt$/,
    ],
    [
      'a private key in ca.crt',
      { server: foundSecret('server', { ...goodServer, 'ca.crt': goodServer['tls.key'] ?? '' }) },
      'SecretMalformed',
      /private key/,
    ],
    [
      'no server Secret',
      { server: absent },
      'SecretNotFound',
      /server does not exist: create it with tls\.crt, tls\.key/,
    ],
    ['no client Secret', { client: absent }, 'SecretNotFound', /client does not exist/],
    ['no answer', { server: unavailable() }, 'SecretUnavailable', /server cannot be read just now/],
    [
      'a key of another certificate',
      { server: foundSecret('server', { ...goodServer, 'tls.key': goodClient['tls.key'] ?? '' }) },
      'SecretKeyMismatch',
      /not the key/,
    ],
    [
      'an expired client',
      { client: foundSecret('client', texts({ ...clientSide, notBefore: hoursAgo(3), notAfter: hoursAgo(1) })) },
      'SecretExpired',
      /egress\/client.*expired/,
    ],
    [
      'a server for another name',
      { server: foundSecret('server', texts({ ...serverSide, dnsNames: ['gw-sds.egress.svc'] })) },
      'SecretSANsMismatch',
      /for gw-sds\.egress\.svc, and not for gw-sds\.egress\.svc\.cluster\.local/,
    ],
    [
      'a client that is for servers alone',
      { client: foundSecret('client', texts({ ...clientSide, purposes: ['server'] })) },
      'SecretMalformed',
      /clientAuth/,
    ],
    [
      'a client that nobody listed',
      { client: foundSecret('client', texts({ ...clientSide, dnsNames: ['other.test'] })) },
      'ClientNotAllowed',
      /has other\.test, and spec\.sds\.tls\.allowedSANs none of it/,
    ],
    [
      'a client of a CA that the server does not know',
      { client: foundSecret('client', texts({ ...clientSide, issuer: two })) },
      'ChainNotVerified',
      /tls\.crt of Secret egress\/client is not verified by ca\.crt of Secret egress\/server/,
    ],
    [
      'a server of a CA that Envoy does not know',
      { client: foundSecret('client', texts({ ...clientSide, roots: caPem(two) })) },
      'ChainNotVerified',
      /tls\.crt of Secret egress\/server is not verified by ca\.crt of Secret egress\/client/,
    ],
  ])('with %s', (_, secrets, reason, message) => {
    const { judgement } = judgeWith(secrets);
    expect(judgement).toMatchObject({ reason });
    expect(judgement.message).toMatch(message);
    expect(findKeyTraces(judgement, keys)).toEqual([]);
  });

  test('may have one Secret for both sides, whose certificate then needs both usages and a listed name', () => {
    const both = texts({ dnsNames: [serverName] });
    const shared = (data: Record<string, string>, allowedSans: readonly string[]) => {
      const side = { secret: { namespace: testNamespace, name: 'server' }, observed: foundSecret('server', data) };
      const spec = { ...sds, tls: { ...tls, clientSecretName: undefined, allowedSans } };
      return judgeSdsTls(spec, { server: side, client: side, serverName, now }).judgement;
    };
    expect(shared(both, [serverName]).reason).toBe('Enabled');
    expect(shared(both, [clientName]).reason).toBe('ClientNotAllowed');
    expect(shared(goodServer, [serverName])).toMatchObject({ reason: 'SecretMalformed' });
    expect(shared({}, [serverName]).message).toBe('Secret egress/server lacks tls.crt, tls.key, ca.crt');
  });

  test('that lets in every client of its CA asks for no name', () => {
    const client = foundSecret('client', texts({ ...clientSide, dnsNames: ['other.test'] }));
    expect(judgeWith({ client }, { allowAnyClient: true, allowedSans: [] }).judgement.reason).toBe('Enabled');
  });

  test('in which Envoy does not verify the server is good, whatever the server is called, and is told as a warning', () => {
    const server = foundSecret('server', texts({ ...serverSide, issuer: two, dnsNames: ['other.test'] }));
    const { judgement } = judgeWith({ server }, { insecureSkipVerify: true });
    expect(judgement).toMatchObject({ status: 'True', reason: 'InsecureSkipVerify' });
    const condition = { type: 'TLSConfigured', ...judgement, lastTransitionTime: '2026-01-01T00:00:00Z' };
    expect(conditionEvents([], [condition])).toMatchObject([{ type: 'Warning', reason: 'InsecureSkipVerify' }]);
    const enabled = { ...condition, ...judgeWith({}).judgement };
    expect(conditionEvents([], [enabled])).toMatchObject([{ type: 'Normal', reason: 'Enabled' }]);
  });
});

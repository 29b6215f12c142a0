import { describe, expect, it } from 'vitest';
import { judgePair } from '../../../src/probe/judge-pair.ts';
import type { Verdict } from '../../../src/probe/judge-pair.ts';
import type { FetchResult } from '../../../src/transport/fetch-result.ts';
import { answered, certificateFailure, failed, leafBy, refusedByProxy } from '../../support/fetch-results.ts';

const unknownIssuer = certificateFailure('UNABLE_TO_GET_ISSUER_CERT_LOCALLY');

function verdict(bundle: FetchResult, system: FetchResult): Verdict {
  const { verdict: word, reason, remedy } = judgePair({ bundle, system });
  expect(reason).toMatch(/^[^.]+.*[^.]$/);
  expect(remedy).not.toBe('');
  return word;
}

describe('intercepted', () => {
  it.each([
    'UNABLE_TO_GET_ISSUER_CERT',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
  ])('needs the bundle to pass and the system to miss the issuer: %s', (openssl) => {
    expect(verdict(answered(200), certificateFailure(openssl))).toBe('intercepted');
  });

  it.each([404, 500, 503])('does not depend on what the server itself answers: %s', (status) => {
    expect(verdict(answered(status), unknownIssuer)).toBe('intercepted');
  });

  it('holds for a server that redirects elsewhere, since it was verified before', () => {
    const redirect = { ...failed('timeout'), code: 'redirect-refused', status: 302, tls: answered(200).tls } as const;
    expect(verdict(redirect, unknownIssuer)).toBe('intercepted');
  });
});

describe('relayed', () => {
  it('is what it is when only the system verifies: the gateway never touched it', () => {
    const judged = judgePair({ bundle: unknownIssuer, system: answered(200, { tls: leafBy('Public CA') }) });
    expect(judged.verdict).toBe('relayed');
    expect(judged.reason).toContain('Public CA');
    expect(judged.reason).toContain('relayed unread');
  });

  it('is what it is when both verify, with the number of shared anchors as a hint', () => {
    const judged = judgePair({ bundle: answered(200), system: answered(200), sharedAnchors: 140 });
    expect(judged.verdict).toBe('relayed');
    expect(judged.reason).toContain('140');
  });

  it.each<[string, FetchResult]>([
    ['a refusal', refusedByProxy(403, { rule: 'deny:a' })],
    ['a timeout', failed('timeout')],
    ['a closed connection', failed('connection-closed')],
  ])('stays so whatever the bundle half met: %s', (_, bundle) => {
    expect(verdict(bundle, answered(200))).toBe('relayed');
  });
});

describe('not-trusted', () => {
  it.each(['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID'])(
    'is a certificate error with the bundle, and names it: %s',
    (openssl) => {
      const judged = judgePair({ bundle: certificateFailure(openssl), system: unknownIssuer });
      expect(judged.verdict).toBe('not-trusted');
      expect(judged.reason).toContain(openssl);
    },
  );

  it('tells another CA from a leaf that is itself at fault', () => {
    const remedies = ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'CERT_HAS_EXPIRED'].map(
      (openssl) => judgePair({ bundle: certificateFailure(openssl), system: unknownIssuer }).remedy,
    );
    expect(new Set(remedies).size).toBe(2);
  });

  it.each([
    ['a leaf of leafgate', `serialNumber=${'0a'.repeat(16)}`, /^give the CA of this gateway/, /CERT_IN_CHAIN$/],
    ['a certificate of somebody else', 'CN=intranet', /CA of the origin; .* CA of this gateway/, /may be relayed/],
  ])('tells what may have been relayed from what was intercepted: %s', (_, subject, remedy, reason) => {
    const { leaf } = leafBy('CN=a private CA');
    const bundle = { ...certificateFailure('SELF_SIGNED_CERT_IN_CHAIN'), presented: { ...leaf, subject } };
    const judged = judgePair({ bundle, system: unknownIssuer });
    expect(judged.verdict).toBe('not-trusted');
    expect(judged.remedy).toMatch(remedy);
    expect(judged.reason).toMatch(reason);
  });
});

describe('refused', () => {
  it.each<[string, FetchResult]>([
    ['at CONNECT', refusedByProxy(403, { rule: 'deny:ads', error: 'blocked_by_policy' })],
    ['inside TLS', answered(403, { gateway: { rule: 'deny:ads' } })],
    ['with a status that origins have too', refusedByProxy(503, { rule: 'deny:ads' })],
  ])('carries the rule: %s', (_, bundle) => {
    const judged = judgePair({ bundle, system: unknownIssuer });
    expect(judged).toMatchObject({ verdict: 'refused', rule: 'deny:ads' });
    expect(judged.reason).toContain('deny:ads');
  });

  it.each([
    ['destination_denied', '--allow-destination'],
    ['name_mismatch', '--server-name'],
    ['blocked_by_policy', 'rule'],
  ])('says what helps: %s', (error, remedy) => {
    expect(judgePair({ bundle: refusedByProxy(403, { error }), system: unknownIssuer }).remedy).toContain(remedy);
  });

  it.each([
    refusedByProxy(403, { error: 'destination_denied' }),
    refusedByProxy(421, { error: 'name_mismatch' }),
    refusedByProxy(407),
    refusedByProxy(302),
  ])('needs no rule: %s', (bundle) => {
    expect(verdict(bundle, unknownIssuer)).toBe('refused');
  });
});

describe('origin-down', () => {
  it.each<[string, FetchResult]>([
    ['502 at CONNECT', refusedByProxy(502)],
    ['503 at CONNECT', refusedByProxy(503, { error: 'egress_error' })],
    ['504 at CONNECT', refusedByProxy(504)],
    ["the gateway's 502 inside TLS", answered(502, { gateway: { error: 'origin_failed' } })],
    ["the gateway's 503 inside TLS", answered(503, { gateway: { error: 'egress_error' } })],
    ['no address', refusedByProxy(400, { error: 'origin_failed', cause: 'dns' })],
    ['a refused connection', failed('connection-refused')],
    ['no way to it', failed('unreachable')],
    ['a name that does not resolve', failed('dns')],
  ])('is %s', (_, bundle) => {
    expect(verdict(bundle, unknownIssuer)).toBe('origin-down');
  });

  it('says in words why the gateway had no answer from the origin', () => {
    const bundle = answered(502, { gateway: { error: 'origin_failed', cause: 'expired' } });
    expect(judgePair({ bundle, system: unknownIssuer }).reason).toMatch(/certificate has expired/);
  });
});

describe('inconclusive', () => {
  it.each<[string, FetchResult, FetchResult]>([
    ['the negative failed by time', answered(200), failed('timeout')],
    ['the negative failed by another certificate error', answered(200), certificateFailure('CERT_HAS_EXPIRED')],
    ['the negative was refused', answered(200), refusedByProxy(403, { rule: 'deny:a' })],
    ['the gateway is not there', failed('connection-refused', 'proxy'), unknownIssuer],
    ['the name of the gateway does not resolve', failed('dns', 'proxy'), unknownIssuer],
    ['the connection was closed', failed('connection-closed'), unknownIssuer],
    ['nothing came in time', failed('timeout'), unknownIssuer],
    ['the answer was not HTTP', failed('bad-response'), unknownIssuer],
  ])('names what was met: %s', (_, bundle, system) => {
    const judged = judgePair({ bundle, system });
    expect(judged.verdict).toBe('inconclusive');
    const met = bundle.kind === 'failed' ? bundle : system;
    expect(judged.reason).toContain(met.kind === 'failed' ? met.detail : '');
  });

  it('includes an alert in the handshake', () => {
    const alert = { ...failed('timeout'), code: 'tls-handshake', alert: 'internal-error' } as const;
    expect(verdict(alert, unknownIssuer)).toBe('inconclusive');
  });
});

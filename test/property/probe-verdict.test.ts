import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judgePair } from '../../src/probe/judge-pair.ts';
import type { FetchResult } from '../../src/transport/fetch-result.ts';
import { answered, certificateFailure, failed, refusedByProxy } from '../support/fetch-results.ts';

const verdicts = ['intercepted', 'relayed', 'not-trusted', 'refused', 'origin-down', 'inconclusive'];
const issuerErrors = ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'];

const status = fc.integer({ min: 100, max: 599 });
const gateway = fc.record(
  { rule: fc.string({ minLength: 1 }), error: fc.constantFrom('blocked_by_policy', 'origin_failed', 'egress_error') },
  { requiredKeys: [] },
);
const result: fc.Arbitrary<FetchResult> = fc.oneof(
  status.map((code) => answered(code)),
  fc.tuple(status, gateway).map(([code, refusal]) => answered(code, { gateway: refusal })),
  fc.constantFrom(...issuerErrors, 'CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID').map(certificateFailure),
  fc.tuple(status, gateway).map(([code, refusal]) => refusedByProxy(code, refusal)),
  fc
    .tuple(
      fc.constantFrom(
        ...(['connection-closed', 'connection-refused', 'unreachable', 'dns', 'timeout', 'bad-response'] as const),
      ),
      fc.constantFrom('proxy' as const, 'server' as const),
    )
    .map(([code, peer]) => failed(code, peer)),
);

describe('the verdict on any pair', () => {
  it('is one of the closed set, with a reason and a remedy of one line', () => {
    fc.assert(
      fc.property(result, result, fc.nat(), (bundle, system, sharedAnchors) => {
        const judged = judgePair({ bundle, system, sharedAnchors });
        expect(verdicts).toContain(judged.verdict);
        expect(judged.reason.trim()).not.toBe('');
        expect(judged.remedy.trim()).not.toBe('');
      }),
    );
  });

  it('is intercepted only if the bundle got an answer of the server and the system missed the issuer', () => {
    fc.assert(
      fc.property(result, result, (bundle, system) => {
        const isPositive = bundle.kind === 'answered' && bundle.gateway === undefined;
        const isNegative =
          system.kind === 'failed' && system.code === 'certificate' && issuerErrors.includes(system.openssl);
        expect(judgePair({ bundle, system }).verdict === 'intercepted').toBe(isPositive && isNegative);
      }),
    );
  });

  it('is never intercepted when the system got an answer', () => {
    fc.assert(
      fc.property(result, status, (bundle, code) => {
        expect(judgePair({ bundle, system: answered(code) }).verdict).toBe('relayed');
      }),
    );
  });
});

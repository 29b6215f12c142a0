// Whatever bytes stand in the Secrets and ConfigMaps of a gateway, each judge answers: with a reason of its table, in words
// that the API takes, and without a byte of a key, also where a key stands in the place of a certificate.
import { createPrivateKey } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { epoch, minutes } from '../../src/clock.ts';
import { conditionTable, type ConditionType } from '../../src/controller/condition-table.ts';
import type { Judgement } from '../../src/controller/controller-types.ts';
import { judgeCaBundle } from '../../src/controller/judge-ca-bundle.ts';
import { judgeClientCertificates } from '../../src/controller/judge-client-certificates.ts';
import { judgePool } from '../../src/controller/judge-pool.ts';
import { judgeSdsTls } from '../../src/controller/judge-sds-tls.ts';
import { judgeServingSecret } from '../../src/controller/judge-serving-secret.ts';
import type { SdsSpec } from '../../src/settings/egress-gateway-types.ts';
import { caPem, issueCredential, makeCurrentCa } from '../support/credential-workshop.ts';
import { findKeyTraces } from '../support/key-traces.ts';
import { foundConfigMap, foundSecret, testNamespace } from '../support/observed-objects.ts';
import { base64, caFields, poolBytes } from '../support/pool-workshop.ts';

const ca = makeCurrentCa('test');
const names = ['gateway.egress.svc', 'gateway.egress.svc.cluster.local'];
const { certificatePem, keyPem } = issueCredential(ca, { dnsNames: names });
const keys = [ca.key, createPrivateKey(keyPem)];
const caKeyPem = ca.key.export({ format: 'pem', type: 'pkcs8' }).toString();
const caKeyDer = base64(ca.key.export({ format: 'der', type: 'pkcs8' }));
const pool = Buffer.from(poolBytes([caFields('a', ca)])).toString();
const keyAsRoot = Buffer.from(poolBytes([{ ...caFields('a', ca), RootCertificateDER: caKeyDer }])).toString();
const now = epoch(Date.now());

/** pieces that belong somewhere, put together at random and then bent */
const piece = fc.oneof(
  fc.constantFrom(certificatePem, keyPem, caPem(ca), caKeyPem, caKeyDer, pool, keyAsRoot, '', '\n', '# text\n'),
  fc.string({ unit: 'binary', maxLength: 8 }),
);
const bend = fc.record({
  at: fc.nat(4000),
  cut: fc.nat(40),
  insert: fc.constantFrom('', 'A', '-', '\n', ':', '"', '\0', '\ud800'),
});
const text = fc
  .tuple(fc.array(piece, { minLength: 1, maxLength: 3 }), fc.option(bend, { nil: undefined }))
  .map(([pieces, bent]) => {
    const whole = pieces.join('');
    if (bent === undefined) return whole;
    const at = bent.at % (whole.length + 1);
    return whole.slice(0, at) + bent.insert + whole.slice(at + bent.cut);
  });

function expectFit(type: ConditionType, { status, reason, message }: Judgement): void {
  expect(Object.keys(conditionTable[type].reasons)).toContain(reason);
  expect(['True', 'False', 'Unknown']).toContain(status);
  expect(message.length).toBeLessThan(32_768);
  expect(message.isWellFormed()).toBe(true);

  expect(message).not.toMatch(/[\u0000-\u001f\u007f]/);
  expect(findKeyTraces(message, keys)).toEqual([]);
}

const sds: SdsSpec = {
  ...{ transport: 'TCP', leafLifetimeMs: minutes(60), allowEd25519: false },
  tls: {
    ...{ enabled: true, secretName: 'sds', clientSecretName: undefined, allowedSans: ['a'], allowAnyClient: false },
    insecureSkipVerify: false,
  },
};

test('every judge answers to any bytes, with a reason of its table and without a key', () => {
  const secret = { namespace: testNamespace, name: 'a' };
  fc.assert(
    fc.property(
      text,
      text,
      text,
      fc.constantFrom('kubernetes.io/tls', 'Opaque', 'a\u001bb'),
      (one, two, three, type) => {
        const observed = foundSecret('a', { 'tls.crt': one, 'tls.key': two, 'ca.crt': three, pool: one }, type);
        const judged = judgePool(observed, { secret, now, allowEd25519: false, shortestLeafMs: minutes(2) });
        expectFit('CAPoolReady', judged.judgement);
        expect(
          findKeyTraces(
            judged.anchors.map(({ certificate }) => base64(certificate.der)),
            keys,
          ),
        ).toEqual([]);
        expectFit(
          'ServingTLSSecretReady',
          judgeServingSecret(observed, { secret, requiredDnsNames: names, now }).judgement,
        );
        expectFit('OriginClientCertificatesReady', judgeClientCertificates([{ secret, observed }], now).judgement);
        const side = { secret, observed };
        const facts = { server: side, client: side, serverName: 'a-sds.b.svc', now };
        expectFit('TLSConfigured', judgeSdsTls(sds, facts).judgement);
        for (const condition of ['OriginCABundleResolved', 'ClientCABundleResolved'] as const) {
          const terms = { condition, configMap: secret, key: 'ca.crt', now };
          const { judgement, certificates } = judgeCaBundle(foundConfigMap('a', { 'ca.crt': three }), terms);
          expectFit(condition, judgement);
          expect(certificates.length > 0).toBe(judgement.status === 'True');
        }
      },
    ),
    { numRuns: 600 },
  );
});

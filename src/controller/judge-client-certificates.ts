// Judges the Secrets with client certificates for origins: every problem of every Secret in one message, the first gives
// the reason. Pure.
import type { EpochMs } from '../clock.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { datesOf } from './certificate-dates.ts';
import type { ReasonOf } from './condition-table.ts';
import type { Judgement, ObjectName, Observed, SecretContent } from './controller-types.ts';
import { examineTlsSecret, type TlsSecretFault } from './examine-tls-secret.ts';
import { judge, secretText } from './judge.ts';

export type ClientCertificate = {
  /** of the Secret, there or not */
  readonly secret: ObjectName;
  readonly observed: Observed<SecretContent>;
};

type Reason = ReasonOf<'OriginClientCertificatesReady'>;
type Fault = { readonly reason: Reason; readonly message: string };

const reasons: { readonly [kind in TlsSecretFault['kind']]: Reason } = {
  malformed: 'SecretMalformed',
  'key-mismatch': 'SecretKeyMismatch',
  expired: 'SecretExpired',
};

export type ClientCertificatesJudgement = {
  readonly judgement: Judgement<Reason>;
  /** names of the Secrets that are good: each is gated on its own, the files of a gateway leave out only what is not */
  readonly good: ReadonlySet<string>;
  /** when they may be judged otherwise, past times among them */
  readonly changesAt: readonly EpochMs[];
};

export function judgeClientCertificates(
  given: readonly ClientCertificate[],
  now: EpochMs,
): ClientCertificatesJudgement {
  const readings = given.map((one) => ({ secret: one.secret, ...examine(one, now) }));
  return {
    judgement: summarise(readings),
    good: new Set(readings.filter(({ faults }) => faults.length === 0).map(({ secret }) => secret.name)),
    changesAt: datesOf(readings.flatMap(({ first }) => first ?? [])),
  };
}

type Reading = { readonly first?: Certificate | undefined; readonly faults: readonly Fault[] };

function summarise(readings: readonly (Reading & { readonly secret: ObjectName })[]): Judgement<Reason> {
  const faults = readings.flatMap((reading) => reading.faults);
  const [first] = faults;
  if (first === undefined) {
    const names = readings.map(({ secret }) => secretText(secret)).join(', ');
    return judge('OriginClientCertificatesReady', 'SecretsReady', `good: ${names}`);
  }
  return judge('OriginClientCertificatesReady', first.reason, faults.map(({ message }) => message).join('; '));
}

function examine({ secret, observed }: ClientCertificate, now: EpochMs): Reading {
  const name = secretText(secret);
  switch (observed.kind) {
    case 'absent':
      return { faults: [{ reason: 'SecretNotFound', message: `${name} does not exist` }] };
    case 'unavailable': {
      const message = `${name} cannot be read just now: ${observed.detail}; it is tried again`;
      return { faults: [{ reason: 'SecretUnavailable', message }] };
    }
    case 'found': {
      const { first, faults } = examineTlsSecret(observed.value, { purpose: 'clientAuth', now });
      return { first, faults: faults.map(({ kind, message }) => ({ reason: reasons[kind], message })) };
    }
    default:
      return observed satisfies never;
  }
}

// Judges the Secrets with client certificates for origins: every problem of every Secret in one message, the first gives
// the reason. Pure.
import type { EpochMs } from '../clock.ts';
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

export function judgeClientCertificates(certificates: readonly ClientCertificate[], now: EpochMs): Judgement<Reason> {
  const faults = certificates.flatMap((certificate) => faultsOf(certificate, now));
  const [first] = faults;
  if (first === undefined) {
    const names = certificates.map(({ secret }) => secretText(secret)).join(', ');
    return judge('OriginClientCertificatesReady', 'SecretsReady', `good: ${names}`);
  }
  return judge('OriginClientCertificatesReady', first.reason, faults.map(({ message }) => message).join('; '));
}

/** Each certificate is gated on its own: the files of a gateway leave out only what is not good. */
export function isClientCertificateGood(certificate: ClientCertificate, now: EpochMs): boolean {
  return faultsOf(certificate, now).length === 0;
}

function faultsOf({ secret, observed }: ClientCertificate, now: EpochMs): readonly Fault[] {
  const name = secretText(secret);
  switch (observed.kind) {
    case 'absent':
      return [{ reason: 'SecretNotFound', message: `${name} does not exist` }];
    case 'unavailable':
      return [
        {
          reason: 'SecretUnavailable',
          message: `${name} cannot be read just now: ${observed.detail}; it is tried again`,
        },
      ];
    case 'found':
      return examineTlsSecret(observed.value, { purpose: 'clientAuth', now }).faults.map(({ kind, message }) => ({
        reason: reasons[kind],
        message,
      }));
    default:
      return observed satisfies never;
  }
}

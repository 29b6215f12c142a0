// Judges the Secret with the proxy's own certificate: the reasons of sei-k8s-controller, and two that it leaves to the
// handshake (expired, key of another certificate). All problems stand in one message, the gravest gives the reason. Pure.
import type { EpochMs } from '../clock.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { timeText } from './bundle-record.ts';
import { datesOf } from './certificate-dates.ts';
import type { ReasonOf } from './condition-table.ts';
import type { Judgement, ObjectName, Observed, SecretContent } from './controller-types.ts';
import { examineTlsSecret, type TlsSecretFault } from './examine-tls-secret.ts';
import { gravestFirst, judge, sayFirst, secretText } from './judge.ts';

export type ServingSecretTerms = {
  /** of the Secret, there or not */
  readonly secret: ObjectName;
  readonly requiredDnsNames: readonly string[];
  readonly now: EpochMs;
};

type Reason = ReasonOf<'ServingTLSSecretReady'>;
type Fault = { readonly reason: Reason; readonly message: string };

export type ServingSecretJudgement = {
  readonly judgement: Judgement<Reason>;
  /** when it may be judged otherwise, past times among them */
  readonly changesAt: readonly EpochMs[];
};

export function judgeServingSecret(
  observed: Observed<SecretContent>,
  terms: ServingSecretTerms,
): ServingSecretJudgement {
  const secret = secretText(terms.secret);
  switch (observed.kind) {
    case 'absent':
      return verdict(
        'TLSSecretNotFound',
        `${secret} does not exist: create it for ${terms.requiredDnsNames.join(', ')}`,
      );
    case 'unavailable':
      return verdict(
        'TLSSecretUnavailable',
        `${secret} cannot be read just now: ${observed.detail}; it is tried again`,
      );
    case 'found':
      return judgeContent(observed.value, terms);
    default:
      return observed satisfies never;
  }
}

/** from the gravest down: what cannot be read says nothing about the rest */
const order: readonly Reason[] = [
  'TLSSecretMalformed',
  'TLSSecretSANsMismatch',
  'TLSSecretKeyMismatch',
  'TLSSecretExpired',
];

const reasons: { readonly [kind in TlsSecretFault['kind']]: Reason } = {
  malformed: 'TLSSecretMalformed',
  'key-mismatch': 'TLSSecretKeyMismatch',
  expired: 'TLSSecretExpired',
};

function judgeContent(content: SecretContent, { requiredDnsNames, now }: ServingSecretTerms): ServingSecretJudgement {
  const { first, faults } = examineTlsSecret(content, { purpose: 'serverAuth', now });
  const found: readonly Fault[] = [
    ...faults.map(({ kind, message }) => ({ reason: reasons[kind], message })),
    ...(first === undefined ? [] : nameFaults(content, first, requiredDnsNames)),
  ];
  const sorted = gravestFirst(found, order);
  const [gravest] = sorted;
  if (gravest === undefined) {
    const message = `${secretText(content)} is good for ${requiredDnsNames.join(', ')}${untilText(first)}`;
    return verdict('TLSSecretReady', message, first);
  }
  return verdict(gravest.reason, sorted.map(({ message }) => message).join('; '), first);
}

function untilText(first: Certificate | undefined): string {
  return first === undefined ? '' : `, until ${timeText(first.notAfter)}`;
}

/** Exact text among the DNS names: a wildcard, the common name or an address does not count (sei-k8s-controller). */
function nameFaults(content: ObjectName, first: Certificate, required: readonly string[]): readonly Fault[] {
  const present = (first.subjectAltName?.names ?? []).flatMap((name) => (name.kind === 'dns' ? [name.text] : []));
  const missing = required.filter((name) => !present.includes(name));
  if (missing.length === 0) return [];
  const message = `the certificate in ${secretText(content)} has not every DNS name that it needs; missing: ${listed(missing)}; present: ${listed(present)}; exact names count, no wildcards`;
  return [{ reason: 'TLSSecretSANsMismatch', message }];
}

/** a certificate may have thousands */
const maxListed = 20;

function listed(names: readonly string[]): string {
  return names.length === 0 ? 'none' : sayFirst(names, maxListed);
}

function verdict(reason: Reason, message: string, shown?: Certificate): ServingSecretJudgement {
  return { judgement: judge('ServingTLSSecretReady', reason, message), changesAt: datesOf(shown ? [shown] : []) };
}

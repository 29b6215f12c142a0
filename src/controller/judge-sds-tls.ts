// Judges how Envoy and the SDS server are to speak, by virtrigaud's table: no TLS block is refused, plaintext is a choice
// that somebody must have made. Beyond it, the Secrets of both sides are looked at before anybody dials. Pure.
import type { EpochMs } from '../clock.ts';
import type { SdsSpec, SdsTls } from '../settings/egress-gateway-types.ts';
import { allowedClientsOf } from '../settings/sds-server-settings.ts';
import type { Certificate } from '../x509/certificate-types.ts';
import { timeText } from './bundle-record.ts';
import { datesOf } from './certificate-dates.ts';
import type { ReasonOf } from './condition-table.ts';
import type { Judgement, ObjectName, Observed, SecretContent } from './controller-types.ts';
import {
  examineClientSecret,
  examinePair,
  examineServerSecret,
  type ChannelFault,
  type ChannelReading,
} from './examine-channel-secret.ts';
import { gravestFirst, judge, secretText } from './judge.ts';

type Reason = ReasonOf<'TLSConfigured'>;

type ChannelSecret = {
  /** there or not */
  readonly secret: ObjectName;
  readonly observed: Observed<SecretContent>;
};

/** Asked for only where the spec names the server's Secret. */
export type ChannelFacts = {
  readonly server: ChannelSecret;
  /** the same where the spec names no other */
  readonly client: ChannelSecret;
  /** what Envoy asks for and verifies */
  readonly serverName: string;
  readonly now: EpochMs;
};

export type SdsTlsJudgement = {
  readonly judgement: Judgement<Reason>;
  /** when it may be judged otherwise, past times among them */
  readonly changesAt: readonly EpochMs[];
};

export function judgeSdsTls({ transport, tls }: SdsSpec, channel?: ChannelFacts): SdsTlsJudgement {
  if (transport === 'UnixSocket')
    return verdict('UnixSocket', 'Envoy and the SDS server speak through a unix socket in their pod');
  if (tls === undefined)
    return verdict(
      'TLSBlockMissing',
      'spec.sds.transport is TCP, and spec.sds.tls is missing: name a Secret in spec.sds.tls.secretRef, or choose plaintext by spec.sds.tls.enabled: false',
    );
  if (!tls.enabled)
    return verdict(
      'ExplicitlyDisabled',
      'spec.sds.tls.enabled is false: Envoy asks its SDS servers in plaintext, and leaf keys cross the network for everybody on the way to read; the servers speak it only where their Deployment sets LEAFGATE_SDS_INSECURE=true',
    );
  if (tls.secretName === undefined || channel === undefined)
    return verdict('SecretRefMissing', 'spec.sds.tls is enabled: name its Secret in spec.sds.tls.secretRef');
  return judgeSecrets(tls, channel);
}

type Fault = { readonly reason: Reason; readonly message: string };

function judgeSecrets(tls: SdsTls, { server, client, serverName, now }: ChannelFacts): SdsTlsJudgement {
  const verifiesServer = !tls.insecureSkipVerify;
  const isShared = secretText(server.secret) === secretText(client.secret);
  const one = readOne(server, (content) =>
    examineServerSecret(content, { serverName: verifiesServer ? serverName : undefined, now }),
  );
  const other = readOne(client, (content) => examineClientSecret(content, now));
  const pair =
    one.reading && other.reading
      ? examinePair(one.reading, other.reading, { clients: allowedClientsOf(tls), verifiesServer, now })
      : [];
  const faults: readonly Fault[] = [...one.faults, ...other.faults, ...pair];
  const shown = [one.reading, ...(isShared ? [] : [other.reading])].filter((reading) => reading !== undefined);
  const dates = datesOf(shown.flatMap(({ chain, roots }) => [...(chain ? [chain.leaf] : []), ...roots]));
  const sorted = gravestFirst(faults, order);
  const [gravest] = sorted;
  if (gravest !== undefined) {
    return verdict(gravest.reason, [...new Set(sorted.map(({ message }) => message))].join('; '), dates);
  }
  const by = `${untilText(one.reading)} for the server, ${untilText(other.reading)} for Envoy`;
  return verifiesServer
    ? verdict('Enabled', `mutual TLS as ${serverName}: ${by}`, dates)
    : verdict(
        'InsecureSkipVerify',
        `mutual TLS, but Envoy does not verify the SDS server: for development only; ${by}`,
        dates,
      );
}

/** from the gravest down: what cannot be read says nothing about the rest */
const order: readonly Reason[] = [
  'SecretNotFound',
  'SecretUnavailable',
  'SecretMalformed',
  'SecretSANsMismatch',
  'ClientNotAllowed',
  'SecretKeyMismatch',
  'SecretExpired',
  'ChainNotVerified',
];

type Read = { readonly reading?: ChannelReading; readonly faults: readonly (Fault | ChannelFault)[] };

function readOne({ secret, observed }: ChannelSecret, examine: (content: SecretContent) => ChannelReading): Read {
  const name = secretText(secret);
  switch (observed.kind) {
    case 'absent': {
      const message = `${name} does not exist: create it with tls.crt, tls.key and ca.crt`;
      return { faults: [{ reason: 'SecretNotFound', message }] };
    }
    case 'unavailable': {
      const message = `${name} cannot be read just now: ${observed.detail}; it is tried again`;
      return { faults: [{ reason: 'SecretUnavailable', message }] };
    }
    case 'found': {
      const reading = examine(observed.value);
      return { reading, faults: reading.faults };
    }
    default:
      return observed satisfies never;
  }
}

function untilText(reading: ChannelReading | undefined): string {
  if (reading?.chain === undefined) return '';
  const ends = (certificate: Certificate): string => timeText(certificate.notAfter);
  return `${secretText(reading.content)}, until ${ends(reading.chain.leaf)},`;
}

function verdict(reason: Reason, message: string, changesAt: readonly EpochMs[] = []): SdsTlsJudgement {
  return { judgement: judge('TLSConfigured', reason, message), changesAt };
}

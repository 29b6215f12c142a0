// Judges how Envoy and the SDS server are to speak, by virtrigaud's table: no TLS block is refused, plaintext is a choice
// that somebody must have made. Beyond it, the Secret is looked at before anybody dials. Pure.
import type { EpochMs } from '../clock.ts';
import { problemsOf } from '../errors.ts';
import type { SdsSpec } from '../settings/egress-gateway-types.ts';
import { examineRoots } from '../x509/examine-credential.ts';
import type { ReasonOf } from './condition-table.ts';
import type { Judgement, ObjectName, Observed, SecretContent } from './controller-types.ts';
import { examineTlsKeys, namedKey } from './examine-tls-secret.ts';
import { judge, secretText } from './judge.ts';

type Reason = ReasonOf<'TLSConfigured'>;

/** The Secret of the server; asked for only where the spec names one. */
export type ChannelSecret = {
  readonly secret: ObjectName;
  readonly observed: Observed<SecretContent>;
  readonly now: EpochMs;
};

export function judgeSdsTls({ transport, tls }: SdsSpec, channel?: ChannelSecret): Judgement<Reason> {
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
      'spec.sds.tls.enabled is false: leaf keys cross the network in plaintext, for everybody on the way',
    );
  if (tls.secretName === undefined)
    return verdict('SecretRefMissing', 'spec.sds.tls is enabled: name its Secret in spec.sds.tls.secretRef');
  const fault = channel === undefined ? undefined : channelFault(channel);
  if (fault !== undefined) return fault;
  return tls.insecureSkipVerify
    ? verdict('InsecureSkipVerify', 'mutual TLS, but Envoy does not verify the SDS server: for development only')
    : verdict('Enabled', `mutual TLS with the Secret ${tls.secretName}`);
}

function channelFault({ secret, observed, now }: ChannelSecret): Judgement<Reason> | undefined {
  const name = secretText(secret);
  switch (observed.kind) {
    case 'absent':
      return verdict('SecretNotFound', `${name} does not exist: create it with tls.crt, tls.key and ca.crt`);
    case 'unavailable':
      return verdict('SecretUnavailable', `${name} cannot be read just now: ${observed.detail}; it is tried again`);
    case 'found': {
      const faults = examineChannelSecret(observed.value, now);
      return faults.length === 0 ? undefined : verdict('SecretMalformed', faults.join('; '));
    }
    default:
      return observed satisfies never;
  }
}

const channelKeys = ['tls.crt', 'tls.key', 'ca.crt'] as const;
const channelTypes: readonly string[] = ['kubernetes.io/tls', 'Opaque'];

/** Every fault; keys that are missing are listed at once, since they are missing together. */
function examineChannelSecret(content: SecretContent, now: EpochMs): readonly string[] {
  const name = secretText(content);
  const wrongType = channelTypes.includes(content.type)
    ? []
    : [`${name} has the type ${content.type}, where kubernetes.io/tls or Opaque is expected`];
  const missing = channelKeys.filter((key) => namedKey(content, key).text.length === 0);
  if (missing.length > 0) return [...wrongType, `${name} lacks ${missing.join(', ')}`];
  const { faults } = examineTlsKeys(content, { purpose: 'serverAuth', now });
  return [...wrongType, ...faults.map(({ message }) => message), ...rootFaults(content, now)];
}

function rootFaults(content: SecretContent, now: EpochMs): readonly string[] {
  try {
    examineRoots(namedKey(content, 'ca.crt'), now);
    return [];
  } catch (thrown) {
    return problemsOf(thrown).map(({ message }) => message);
  }
}

function verdict(reason: Reason, message: string): Judgement<Reason> {
  return judge('TLSConfigured', reason, message);
}

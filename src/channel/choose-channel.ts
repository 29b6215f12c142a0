// The table of a start: which of three files are there and what somebody chose decide between mutual TLS, plaintext and no
// start at all. Nothing becomes plaintext because a file is missing. The servers of a gateway are told by its files as well:
// those and the variable have to say the same before anything is plaintext. Pure.
import { channelErrors } from './channel-errors.ts';

/** as a Secret of type kubernetes.io/tls with `ca.crt` is mounted; cert-manager writes the same */
export const channelFiles = { certificate: 'tls.crt', key: 'tls.key', roots: 'ca.crt' } as const;

export type ChannelFile = (typeof channelFiles)[keyof typeof channelFiles];
const allFiles: readonly ChannelFile[] = Object.values(channelFiles);

/** the environment variable, and nothing else, chooses plaintext */
const insecureVariable = 'LEAFGATE_SDS_INSECURE';

export type StartFacts = {
  readonly dir: string;
  /** those that are there, readable or not */
  readonly present: ReadonlySet<ChannelFile>;
  /** the variable as it was given */
  readonly insecure: string | undefined;
  /** what the files of a gateway say; undefined: there is none */
  readonly gatewaySays?: GatewayChannel | undefined;
};

export type GatewayChannel = 'tls' | 'plaintext';

export type ChannelChoice =
  /** `isInsecureAsked`: somebody asked for plaintext, and does not get it; `isGatewayInClear`: nor do the Envoys that ask so */
  | { readonly kind: 'tls'; readonly isInsecureAsked: boolean; readonly isGatewayInClear: boolean }
  | { readonly kind: 'plaintext' };

/**
 * Throws `channel-files-missing` or `channel-files-incomplete`, and of a gateway `channel-gateway-wants-tls` or
 * `channel-plaintext-half-chosen`.
 */
export function chooseChannel({ dir, present, insecure, gatewaySays }: StartFacts): ChannelChoice {
  const isInsecureAsked = insecure?.toLowerCase() === 'true';
  const missing = allFiles.filter((file) => !present.has(file));
  if (missing.length === 0) return { kind: 'tls', isInsecureAsked, isGatewayInClear: gatewaySays === 'plaintext' };
  if (missing.length < allFiles.length) {
    throw channelErrors.error('channel-files-incomplete', { dir, missing: missing.join(', ') });
  }
  const files = allFiles.join(', ');
  if (gatewaySays === 'tls') {
    const chosen = isInsecureAsked ? `: ${insecureVariable} alone chooses nothing` : '';
    throw channelErrors.error('channel-gateway-wants-tls', { dir, files, chosen });
  }
  if (isInsecureAsked) return { kind: 'plaintext' };
  const chosen = insecure === undefined || insecure === '' ? '' : ` (${insecureVariable} is "${insecure}", not "true")`;
  if (gatewaySays === 'plaintext') throw channelErrors.error('channel-plaintext-half-chosen', { chosen });
  throw channelErrors.error('channel-files-missing', { dir, files, chosen });
}

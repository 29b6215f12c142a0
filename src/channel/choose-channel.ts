// The table of a start: which of three files are there and what somebody chose decide between mutual TLS, plaintext and no
// start at all. Nothing becomes plaintext because a file is missing. Pure.
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
};

export type ChannelChoice =
  /** `isInsecureAsked`: somebody asked for plaintext, and does not get it */
  { readonly kind: 'tls'; readonly isInsecureAsked: boolean } | { readonly kind: 'plaintext' };

/** Throws `channel-files-missing` or `channel-files-incomplete`. */
export function chooseChannel({ dir, present, insecure }: StartFacts): ChannelChoice {
  const isInsecureAsked = insecure?.toLowerCase() === 'true';
  const missing = allFiles.filter((file) => !present.has(file));
  if (missing.length === 0) return { kind: 'tls', isInsecureAsked };
  if (missing.length < allFiles.length) {
    throw channelErrors.error('channel-files-incomplete', { dir, missing: missing.join(', ') });
  }
  if (isInsecureAsked) return { kind: 'plaintext' };
  const chosen = insecure === undefined || insecure === '' ? '' : ` (${insecureVariable} is "${insecure}", not "true")`;
  throw channelErrors.error('channel-files-missing', { dir, files: allFiles.join(', '), chosen });
}

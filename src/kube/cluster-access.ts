// The way to one API server: its address, whom to trust there and what to show of ourselves, as it stands at each call.
// Files behind it may change while the process runs. Must not know requests.
import type { ClientCredential } from '../transport/client-credential.ts';
import type { ServerTrust } from '../transport/server-trust.ts';
import type { SecretBytes } from '../secret-bytes.ts';

export type AccessNow = {
  readonly trust: ServerTrust;
  /** a bearer token, trimmed */
  readonly token?: SecretBytes;
  readonly credential?: ClientCredential;
};

export interface ClusterAccess {
  /** https://HOST[:PORT], perhaps with a path that every call stands under; no slash at its end */
  readonly server: string;
  /** that of the pod or of the kubeconfig's context */
  readonly namespace: string | undefined;
  /** Rejects only when something was never read; later faults leave the last good state and are told in the log. */
  now(): Promise<AccessNow>;
  /** the server refused what was shown, or we the server: the files are read again at the next call */
  expire(): void;
}

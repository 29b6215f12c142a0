// A DeltaDiscoveryRequest as the protocol machine takes it: what we use of it, nothing else. Must not know the wire.
import type { AskedName } from '../names/name-types.ts';

/** the one type that this server has something to say about */
export const secretTypeUrl = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret';

export type DeltaRequest = {
  /** empty on a per-name stream that leaves it out */
  readonly typeUrl: string;
  readonly subscribe: readonly AskedName[];
  readonly unsubscribe: readonly AskedName[];
  /** what the peer still holds, on the first request of a stream */
  readonly heldVersions: ReadonlyMap<AskedName, string>;
  /** the response that this request answers; empty when it answers none */
  readonly nonce: string;
  /** set on a NACK; text of the peer, which may contain what we sent, keys included */
  readonly rejection: string | undefined;
};

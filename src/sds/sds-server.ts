// The SDS server as the commands see it: a minter in, delta ADS and delta SDS out, on a unix socket of its own or on
// connections that somebody else has accepted.
import type { Socket } from 'node:net';
import { millis } from '../clock.ts';
import { GrpcEdge } from './grpc-edge.ts';
import { SdsCore, type SdsParts, type SdsStatus } from './sds-core.ts';

export type SdsServer = {
  /** Call it once, with a usable pool at hand: Envoy would get an accepted stream and no leaf (facts: istio #22443). */
  listenOnSocket(path: string): Promise<void>;
  /** Speaks on a socket that somebody accepted, and let in; as above, with a usable pool at hand. */
  serve(socket: Socket): void;
  /** The pool or the policy has changed: what is held is judged anew, removed or re-minted, a few names a turn. */
  reviewHeldNames(): void;
  status(): SdsStatus;
  /** Ends every stream, waits at most `graceMs` for the connections to close, then cuts them. */
  close(graceMs: number): Promise<void>;
};

export type SdsServerParts = SdsParts & {
  /** of all peers together; by default as many as the gateway's own Envoy and a few helpers need */
  readonly maxConnections?: number;
};

export function createSdsServer(parts: SdsServerParts): SdsServer {
  const core = new SdsCore(parts);
  const edge = new GrpcEdge({ ...parts, core });
  return {
    listenOnSocket: (path) => edge.listen(path),
    serve: (socket) => edge.serve(socket),
    reviewHeldNames: () => core.reviewHeldNames(),
    status: () => core.status(),
    close: async (graceMs) => {
      core.stop();
      await edge.close(millis(graceMs));
    },
  };
}

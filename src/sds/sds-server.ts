// The SDS server as the commands see it: a minter in, a unix socket with delta ADS and delta SDS out.
import { millis } from '../clock.ts';
import { GrpcEdge } from './grpc-edge.ts';
import { SdsCore, type SdsParts, type SdsStatus } from './sds-core.ts';

export type SdsServer = {
  /** Call it once, with a usable pool at hand: Envoy would get an accepted stream and no leaf (facts: istio #22443). */
  listenOnSocket(path: string): Promise<void>;
  /** The pool or the policy has changed: what is held is judged anew, removed or re-minted, a few names a turn. */
  reviewHeldNames(): void;
  status(): SdsStatus;
  /** Ends every stream, waits at most `graceMs` for the connections to close, then cuts them. */
  close(graceMs: number): Promise<void>;
};

export function createSdsServer(parts: SdsParts): SdsServer {
  const core = new SdsCore(parts);
  const edge = new GrpcEdge({ ...parts, core });
  return {
    listenOnSocket: (path) => edge.listen(path),
    reviewHeldNames: () => core.reviewHeldNames(),
    status: () => core.status(),
    close: async (graceMs) => {
      core.stop();
      await edge.close(millis(graceMs));
    },
  };
}

// Asks an API server again for a short while, where another attempt may mend what failed. Must not know what is asked.
import { seconds, type Clock, type DurationMs } from '../clock.ts';
import { LeafgateError } from '../errors.ts';
import { pause } from '../pause.ts';
import { kubeFailureOf, type KubeFailureKind } from './kube-failure.ts';

/** what another attempt may mend */
export function isPassingFailure(kind: KubeFailureKind): boolean {
  return kind === 'unavailable' || kind === 'too-many-requests' || kind === 'conflict' || kind === 'bad-response';
}

/** whether it is a failure of a call to the API at all, and one that may pass */
export function isPassing(error: LeafgateError): boolean {
  return error.code.startsWith('kube-') && isPassingFailure(kubeFailureOf(error).kind);
}

/** 1, 2, 4 and 8 s apart: an API server that restarts is back by then, and whoever started us tries again otherwise */
const pauses: readonly DurationMs[] = [seconds(1), seconds(2), seconds(4), seconds(8)];

/** Runs `work` until it does not fail in a passing way. Throws what `givenUp` makes of the last failure, and whatever does not pass. */
export async function tryBriefly<Value>(
  clock: Clock,
  work: () => Promise<Value>,
  givenUp: (last: LeafgateError) => LeafgateError,
): Promise<Value> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work();
    } catch (thrown) {
      const error = LeafgateError.from(thrown);
      if (!isPassing(error)) throw error;
      const delay = pauses[attempt];
      if (delay === undefined) throw givenUp(error);
      await pause(clock, delay);
    }
  }
}

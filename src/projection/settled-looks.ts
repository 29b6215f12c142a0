// Looks at something again and again, and tells another sight once two looks have had the same: half of what is being
// written is never taken for the whole. Looking is what works for symlink swaps (Kubernetes' ..data), for replaced files,
// for folders that appear later and on every file system. Must not know what is looked at.
import { millis, type Clock, type DurationMs, type Timer } from '../clock.ts';

export type SettledLooks<Sight> = {
  /** never rejects */
  readonly look: () => Promise<Sight>;
  readonly isSame: (one: Sight, other: Sight) => boolean;
  /** how long to wait after a sight that was confirmed before */
  readonly lookAgainAfter: (sight: Sight) => DurationMs;
  readonly clock: Clock;
  /** a sight of before, which is no news; without it the first look is at once */
  readonly known?: Sight;
  /** the first sight, and each other one after it */
  readonly settled: (sight: Sight) => void;
};

/** between a new sight and the look that confirms it */
const settleFor = millis(100);

export function followSettled<Sight>(request: SettledLooks<Sight>): { close(): Promise<void> } {
  const { look, isSame, lookAgainAfter, clock, known, settled } = request;
  let told: { readonly sight: Sight } | undefined = known === undefined ? undefined : { sight: known };
  let unsettled: { readonly sight: Sight } | undefined;
  let isClosed = false;
  let timer: Timer | undefined;
  const lookOnce = async (): Promise<void> => {
    const sight = await look();
    if (isClosed) return;
    if (told !== undefined && isSame(told.sight, sight)) unsettled = undefined;
    else if (unsettled !== undefined && isSame(unsettled.sight, sight)) {
      told = { sight };
      unsettled = undefined;
      settled(sight);
    } else unsettled = { sight };
    timer = clock.after(unsettled === undefined ? lookAgainAfter(sight) : settleFor, begin);
  };
  let looking = Promise.resolve();
  function begin(): void {
    looking = lookOnce();
  }
  if (known === undefined) begin();
  else timer = clock.after(lookAgainAfter(known), begin);
  return {
    close: () => {
      isClosed = true;
      timer?.cancel();
      return looking;
    },
  };
}

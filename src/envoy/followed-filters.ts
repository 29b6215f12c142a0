// Whether Envoy holds what was written for it: it takes a followed file by itself, and of one that it cannot use it counts
// a refusal and goes on with the last good one. Must not know what a filter says.
import { millis, type Clock, type DurationMs } from '../clock.ts';
import type { AdminClient } from './admin-client.ts';
import { pause } from './drain-listeners.ts';

/** `version` is the one in the file that is in force; `refusals` are counted since Envoy's start. */
export type FilterState = { readonly version: string; readonly refusals: number };

/** @throws envoy-admin-failed */
export async function readFilterState(admin: AdminClient, filter: string): Promise<FilterState> {
  const prefix = `extension_config_discovery.http_filter.${filter}.`;
  const counted = await admin.readStats(`^${literally(prefix)}update_(failure|rejected)$`);
  const { body } = await admin.get(`/stats?filter=${encodeURIComponent(`^${literally(prefix)}version_text$`)}`);
  const [, version = ''] = /version_text: "([^"]*)"/.exec(body) ?? [];
  return { version, refusals: [...counted.values()].reduce((sum, count) => sum + count, 0) };
}

export type FilterWait = {
  readonly admin: AdminClient;
  readonly clock: Clock;
  readonly filter: string;
  readonly version: string;
  /** as they were before the file was written */
  readonly refusalsBefore: number;
  readonly deadline: DurationMs;
};

/** `late`: nothing was seen by the deadline, Envoy being busy, gone, or blind to the change */
export type FilterOutcome = 'taken' | 'refused' | 'late';

/** a small file is in force after some 20 ms, one of 10,000 rules after some 200 (measured) */
const lookEvery = millis(25);

/** Never rejects: an Envoy that does not answer is late. */
export async function filterOutcome(wait: FilterWait): Promise<FilterOutcome> {
  const { admin, clock, filter } = wait;
  const end = clock.monotonic() + wait.deadline;
  for (;;) {
    const state = await readFilterState(admin, filter).catch(() => undefined);
    if (state?.version === wait.version) return 'taken';
    if (state !== undefined && state.refusals > wait.refusalsBefore) return 'refused';
    if (clock.monotonic() >= end) return 'late';
    await pause(clock, lookEvery);
  }
}

function literally(text: string): string {
  return text.replaceAll('.', '\\.');
}

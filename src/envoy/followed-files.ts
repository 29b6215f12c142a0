// Whether Envoy holds what was written for it: it takes a followed file by itself, and of one that it cannot use it counts
// a refusal and goes on with the last good one. Must not know what the files say.
import { millis, seconds, type Clock, type DurationMs } from '../clock.ts';
import { pause } from '../pause.ts';
import { replaceFile } from '../replace-file.ts';
import { systemReason } from '../system-error.ts';
import type { AdminClient } from './admin-client.ts';

/** What a followed file configures. */
export type Followed = { readonly kind: 'filter'; readonly name: string } | { readonly kind: 'clusters' };

/** `version` is the one in the file that is in force; `refusals` are counted since Envoy's start. */
export type FollowedState = {
  readonly version: string;
  readonly refusals: number;
  /** false while clusters still wait for their certificates: until then the earlier ones serve */
  readonly isComplete: boolean;
};

/** @throws envoy-admin-failed */
export async function readFollowedState(admin: AdminClient, followed: Followed): Promise<FollowedState> {
  const prefix = literally(statPrefix(followed));
  const warming = 'cluster_manager.warming_clusters';
  const counted = await admin.readStats(`^(${prefix}update_(failure|rejected)|${literally(warming)})$`);
  const { body } = await admin.get(`/stats?filter=${encodeURIComponent(`^${prefix}version_text$`)}`);
  const [, version = ''] = /version_text: "([^"]*)"/.exec(body) ?? [];
  let refusals = 0;
  for (const [name, count] of counted) if (name !== warming) refusals += count;
  const isComplete = followed.kind === 'filter' || (counted.get(warming) ?? 0) === 0;
  return { version, refusals, isComplete };
}

export type FollowedWait = {
  readonly admin: AdminClient;
  readonly clock: Clock;
  readonly followed: Followed;
  readonly version: string;
  /** as they were before the file was written; undefined where nobody could ask */
  readonly refusalsBefore: number | undefined;
  readonly deadline: DurationMs;
};

/** `late`: nothing was seen by the deadline, Envoy being busy, gone, or blind to the change */
export type FollowedOutcome = 'taken' | 'refused' | 'late';

/** a small file is in force after some 20 ms, one of 10,000 rules after some 200 (measured) */
const lookEvery = millis(25);

/**
 * Never rejects: an Envoy that does not answer is late. A refusal that was not seen to be new is not called one: such a file
 * is late, and is written again.
 */
export async function followedOutcome(wait: FollowedWait): Promise<FollowedOutcome> {
  const { admin, clock, followed } = wait;
  const end = clock.monotonic() + wait.deadline;
  let before = wait.refusalsBefore;
  for (;;) {
    const state = await readFollowedState(admin, followed).catch(() => undefined);
    if (state?.version === wait.version && state.isComplete) return 'taken';
    before ??= state?.refusals;
    if (state !== undefined && before !== undefined && state.refusals > before) return 'refused';
    if (clock.monotonic() >= end) return 'late';
    await pause(clock, lookEvery);
  }
}

export type FollowedFile = {
  readonly path: string;
  readonly text: string;
  /** as the text has it */
  readonly version: string;
  readonly followed: Followed;
};

export type ReplacedFile = { readonly kind: FollowedOutcome } | { readonly kind: 'unwritten'; readonly detail: string };

/** 10,000 rules are in force after 0.2 s (measured); a machine may be busy */
export const takenWithin = seconds(5);

/** Writes a followed file and sees whether Envoy takes it. Never rejects. */
export async function replaceFollowedFile(
  { path, text, version, followed }: FollowedFile,
  { admin, clock }: { readonly admin: AdminClient; readonly clock: Clock },
): Promise<ReplacedFile> {
  const before = await readFollowedState(admin, followed).catch(() => undefined);
  try {
    await replaceFile(path, text, 0o600);
  } catch (thrown) {
    return { kind: 'unwritten', detail: systemReason(thrown) };
  }
  const wait = { admin, clock, followed, version, refusalsBefore: before?.refusals, deadline: takenWithin };
  return { kind: await followedOutcome(wait) };
}

function statPrefix(followed: Followed): string {
  switch (followed.kind) {
    case 'filter':
      return `extension_config_discovery.http_filter.${followed.name}.`;
    case 'clusters':
      return 'cluster_manager.cds.';
    default:
      return followed satisfies never;
  }
}

function literally(text: string): string {
  return text.replaceAll('.', '\\.');
}

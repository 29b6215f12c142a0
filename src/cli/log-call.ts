// The access records of a state folder, for people or programs: read from the files that are kept, joined as `up` does it.
// Nothing is written; a gateway that runs does not notice.
import type { Command } from 'commander';
import { epoch, millis, type EpochMs } from '../clock.ts';
import { parseHostPattern } from '../names/host-pattern.ts';
import type { HostPattern } from '../names/name-types.ts';
import type { AccessRecord } from '../observe/access-record.ts';
import { followLog, oldestPosition, type LogFollower } from '../observe/follow-log.ts';
import { formatRecordLine, formatWhy, localDay } from '../observe/format-record.ts';
import { closedSegments, fileSize } from '../observe/log-segments.ts';
import { fitsRecord, type RecordFilter } from '../observe/record-filter.ts';
import { createRecordJoiner, type RecordJoiner } from '../observe/record-joiner.ts';
import type { RecordOutcome } from '../observe/reason-table.ts';
import { trustFilePaths } from '../projection/trust-files.ts';
import { parseActorOption } from '../settings/actor-uri.ts';
import { parseDuration } from '../settings/quantities.ts';
import { isSwitchedOn } from '../settings/read-settings.ts';
import { settingsErrors } from '../settings/settings-errors.ts';
import { switchSettings } from '../settings/text-settings.ts';
import { systemReason } from '../system-error.ts';
import { cliErrors } from './cli-errors.ts';
import type { CommandContext, Io } from './command-context.ts';
import { accessLogPath, gatewayTrustDir } from './gateway-folder.ts';
import { createProblems } from '../problems.ts';
import { isOfSelfCheck, maxLineBytes } from './record-source.ts';
import { settingSource } from './setting-options.ts';
import { chosenState, type StateFolder } from './state-folder.ts';
import { lockHolder } from './state-lock.ts';
import { signalHeard } from './stop-signals.ts';

export type LogValues = {
  readonly follow?: boolean;
  readonly host?: readonly string[];
  readonly rule?: string;
  readonly actor?: string;
  readonly since?: string;
  readonly outcome?: RecordOutcome;
  readonly why?: boolean;
};

export type LogCall = { readonly values: LogValues; readonly command: Command; readonly context: CommandContext };

const pollMs = millis(200);
const sweepMs = millis(1_000);

export async function showLog({ values, command, context }: LogCall): Promise<void> {
  const { io } = context;
  const source = settingSource(command, io);
  const filter = readFilter(values, io.clock.now());
  const state = chosenState(source, io.env);
  const path = accessLogPath(state.gatewayDir);
  if (values.follow !== true && !(await isKept(path))) {
    throw cliErrors.error('log-missing', { folder: state.folder });
  }
  const isJson = isSwitchedOn(switchSettings.json, source);
  const print = isJson ? jsonPrinter(io) : textPrinter(io, state, values.why === true);
  const shown: Shown = { records: 0, fitting: 0, unreadable: 0 };
  const joiner = createRecordJoiner(
    { lineLost: (reason) => (shown.unreadable += reason === 'not-json' ? 1 : 0) },
    undefined,
    true,
  );
  const showing: Showing = {
    ...{ io, path, joiner, shown },
    show: (records) => {
      for (const record of records) {
        if (isOfSelfCheck(record)) continue;
        shown.records += 1;
        if (!fitsRecord(record, filter)) continue;
        shown.fitting += 1;
        print(record);
      }
    },
  };
  if (values.follow === true) await followToSignal(showing);
  else await readToEnd(showing, state);
  if (!isJson) sayWhatWasLeftOut(shown, context);
}

async function isKept(path: string): Promise<boolean> {
  try {
    return (await fileSize(path)) !== undefined || (await closedSegments(path)).length > 0;
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, error: unknown): Error {
  return cliErrors.error('log-unreadable', { path, reason: systemReason(error) }, error);
}

type Shown = { records: number; fitting: number; unreadable: number };

type Showing = {
  readonly io: Io;
  readonly path: string;
  readonly joiner: RecordJoiner;
  readonly shown: Shown;
  readonly show: (records: readonly AccessRecord[]) => void;
};

async function readToEnd(showing: Showing, state: StateFolder): Promise<void> {
  const { io, joiner, show } = showing;
  const ended = Promise.withResolvers<undefined>();
  const follower = await read(showing, ended);
  await follower.close();
  ended.resolve(undefined);
  await ended.promise;
  // of a gateway that does not run no more lines can come
  show(lockHolder(state.lockFile) === undefined ? joiner.finish() : joiner.sweep(io.clock.now()));
  await io.stdoutTaken();
}

async function followToSignal(showing: Showing): Promise<void> {
  const { io, joiner, show } = showing;
  const stopped = signalHeard(io).first;
  const ended = Promise.withResolvers<undefined>();
  const follower = await read(showing, ended);
  const sweepAgain = (): void => {
    // while old lines are read, the clock says nothing about their tunnels
    if (follower.isAtEnd()) show(joiner.sweep(io.clock.now()));
    io.clock.after(sweepMs, sweepAgain);
  };
  sweepAgain();
  // the clock's timers do not keep a process alive, and nothing else here does
  const alive = setInterval(() => undefined, aliveMs);
  await Promise.race([stopped, ended.promise]).finally(() => {
    clearInterval(alive);
    return follower.close();
  });
}

const aliveMs = 60_000;

/** resolved when nobody reads stdout any more, as after `| head`; rejected when the log cannot be read */
type Ended = PromiseWithResolvers<undefined>;

async function read({ io, path, joiner, shown, show }: Showing, ended: Ended): Promise<LogFollower> {
  // whoever waits for the end sees the failure
  ended.promise.catch(() => undefined);
  return followLog({
    ...{ path, clock: io.clock, pollMs, maxLineBytes, from: await oldestPosition(path) },
    onBatch: async ({ lines }) => {
      for (const line of lines) show(joiner.take(line));
      show(joiner.sweep(joiner.latest()));
      await io.stdoutTaken();
      if (io.linesLost() === 0) return true;
      ended.resolve(undefined);
      return false;
    },
    events: {
      lineTooLong: () => (shown.unreadable += 1),
      lineCut: () => (shown.unreadable += 1),
      truncated: () => undefined,
      segmentsMissed: () => undefined,
      failed: (error) => ended.reject(unreadable(path, error)),
    },
  });
}

/** @throws one error with every malformed value */
function readFilter(values: LogValues, now: EpochMs): RecordFilter {
  const problems = createProblems();
  const hosts = (values.host ?? []).flatMap((text) => problems.attempt(() => [hostPattern(text)]) ?? []);
  const { since: span, rule, outcome } = values;
  const given = values.actor;
  const actor = given === undefined ? undefined : problems.attempt(() => parseActorOption(given));
  const since =
    span === undefined ? undefined : problems.attempt(() => epoch(Math.max(0, now - parseDuration(span, '--since'))));
  problems.throwAny();
  return {
    hosts,
    ...(rule === undefined ? {} : { rule }),
    ...(actor === undefined ? {} : { actor }),
    ...(since === undefined ? {} : { since }),
    ...(outcome === undefined ? {} : { outcome }),
  };
}

function hostPattern(text: string): HostPattern {
  const pattern = parseHostPattern(text);
  if (pattern !== undefined) return pattern;
  const expected = 'a host, *.suffix or address';
  throw settingsErrors.error('setting-malformed', {
    ...{ setting: '--host', value: text, expected, example: 'api.example.com, *.example.com or 192.0.2.1' },
  });
}

function jsonPrinter(io: Io): (record: AccessRecord) => void {
  return (record) => io.stdout(`${JSON.stringify(record)}\n`);
}

/** A line shows the time of day, so that each new day is told first. */
function textPrinter(io: Io, state: StateFolder, withWhy: boolean): (record: AccessRecord) => void {
  const trust = trustFilePaths(gatewayTrustDir(state.gatewayDir));
  let day = '';
  return (record) => {
    const ofRecord = localDay(record);
    if (ofRecord !== day) io.stdout(`${ofRecord}\n`);
    day = ofRecord;
    io.stdout(`${formatRecordLine(record, { withReason: !withWhy })}\n`);
    if (withWhy) for (const line of formatWhy(record, trust)) io.stdout(`${line}\n`);
  };
}

function sayWhatWasLeftOut({ records, fitting, unreadable }: Shown, { say }: CommandContext): void {
  if (fitting === 0)
    say(records === 0 ? 'no records are kept yet' : `none of the ${records} records that are kept fits`);
  if (unreadable > 0) say(`${unreadable} ${unreadable === 1 ? 'line' : 'lines'} of the access log could not be read`);
}

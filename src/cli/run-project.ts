// Trust delivery as a command: joins the list of bundles, the volumes of one actor or of all of a node, and the folder for
// their files; says when they are there, and keeps them until it is told to stop.
import { opendir } from 'node:fs/promises';
import { LeafgateError } from '../errors.ts';
import { startHealthServer } from '../observe/health-server.ts';
import { followTextFile } from '../projection/follow-text-file.ts';
import { readRegularFile, type FileContent } from '../read-regular-file.ts';
import type { BundleAllowlist } from '../settings/bundle-allowlist.ts';
import { allowlistWords, volumeWords } from '../settings/delivery-errors.ts';
import type { DeliveryReading } from '../settings/delivery-file.ts';
import type { SettingSource } from '../settings/read-settings.ts';
import { systemReason } from '../system-error.ts';
import { cliErrors } from './cli-errors.ts';
import { closeAndTell, createClosers } from './closers.ts';
import type { CommandContext } from './command-context.ts';
import { countLostLines } from './count-lost-lines.ts';
import { readAllowlist, readVolume } from './delivery-inputs.ts';
import { holdProcess } from './hold-process.ts';
import { inTurn } from './in-turn.ts';
import { keepActors, writtenEarlier } from './keep-actors.ts';
import { keepOneVolume, type OneVolume } from './keep-one-volume.ts';
import { createBundleOpener, type BundleOpener } from './open-bundles.ts';
import { createProblems, type Problems } from '../problems.ts';
import { createProjectHealth } from './project-health.ts';
import { readProjectOptions, type ProjectSettings, type ProjectValues } from './project-options.ts';
import { createProjectionParts, type ProjectionParts } from './projection-parts.ts';
import { interruptedExitCode, signalHeard } from './stop-signals.ts';

export async function runProject(values: ProjectValues, source: SettingSource, context: CommandContext): Promise<void> {
  const settings = readProjectOptions(values, source);
  const { io } = context;
  const log = context.createLog(settings.json);
  const closers = createClosers();
  const signals = signalHeard(io);
  closers.add('wait', holdProcess());
  const progress = { isDone: false };
  try {
    const work = project(createProjectionParts({ settings, io, log, closers }), progress);
    const signal = await Promise.race([signals.first, work]);
    if (signal === undefined) return;
    log.info('stopping', { signal });
    // whoever waits for the files must not take them for done
    if (!progress.isDone) context.finishWith(interruptedExitCode(signal));
  } finally {
    await closeAndTell(closers, log);
  }
}

/** Resolves only where the files are written once; rejects when the start fails. */
async function project(parts: ProjectionParts, progress: { isDone: boolean }): Promise<undefined> {
  const { settings, io, log, closers, keeper, metrics } = parts;
  countLostLines(metrics, io);
  await serveHealth(parts);
  const { bundles, allowlist, one } = await readInputs(settings);
  const opener = createBundleOpener(parts);
  closers.add('trust files', () => keeper.close());
  const { asked, answered } = probe(opener, allowlist, parts);
  // a right that is missing is found before anything is written
  await Promise.race([asked, answered]);
  await keeper.use(await opener.open(allowlist));
  await Promise.all([answered, one === undefined ? keepActors(parts) : keepOneVolume(one, parts)]);
  progress.isDone = true;
  log.info('trust files are in place', { path: settings.dir, volumes: parts.start.initial?.size });
  if (one?.isOnce === true) return undefined;
  followBundles(bundles, opener, parts);
  return new Promise(() => undefined);
}

type Inputs = {
  /** what stood in the list of bundles at the start */
  readonly bundles: FileContent;
  readonly allowlist: BundleAllowlist;
  /** undefined: there is a folder of volumes */
  readonly one: OneVolume | undefined;
};

/** @throws one error with everything that is wrong in the two files */
async function readInputs({ bundlesFile, what, rootsFrom }: ProjectSettings): Promise<Inputs> {
  if (rootsFrom !== undefined) await needFileSystem(rootsFrom);
  const { attempt, throwAny } = createProblems();
  const bundles = await readRegularFile(bundlesFile, allowlistWords.maxBytes);
  const allowlist = attempt(() => valueOf(readAllowlist(bundles, bundlesFile)));
  const one = what.kind === 'actors' ? undefined : await readOne(what, attempt);
  throwAny();
  if (allowlist === undefined) throw LeafgateError.from('the list of bundles was lost');
  return { bundles, allowlist, one };
}

/** One that is not there has no roots, for which the built-in ones would be taken: a name that is wrong must not widen trust. */
async function needFileSystem(folder: string): Promise<void> {
  try {
    await (await opendir(folder)).close();
  } catch (thrown) {
    throw cliErrors.error('project-roots-unreadable', { folder, detail: systemReason(thrown) }, thrown);
  }
}

type WantedVolume = { readonly file: string; readonly isOnce: boolean };

async function readOne({ file, isOnce }: WantedVolume, attempt: Problems['attempt']): Promise<OneVolume | undefined> {
  const content = await readRegularFile(file, volumeWords.maxBytes);
  const volume = attempt(() => valueOf(readVolume(content, file)));
  return volume && { file, isOnce, content, volume };
}

function valueOf<Value>(reading: DeliveryReading<Value>): Value {
  if (reading.kind === 'refused') throw LeafgateError.all(reading.problems);
  return reading.value;
}

type Probe = { readonly asked: Promise<void>; readonly answered: Promise<void> };

/** `asked`: an API server that is away has been asked in vain, which must not hold up those who want nothing of it. */
function probe(opener: BundleOpener, allowlist: BundleAllowlist, parts: ProjectionParts): Probe {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const answered = opener.probe(allowlist, resolve).catch((thrown: unknown) => goOnWithFiles(thrown, parts));
  return { asked, answered };
}

/** Whoever has files to keep goes on when the API server cannot be asked: the projection says what that means for them. */
async function goOnWithFiles(thrown: unknown, parts: ProjectionParts): Promise<void> {
  const error = LeafgateError.from(thrown);
  if (error.code !== 'trust-api-unavailable') throw error;
  // the first projection of one volume tells more, and fails or goes on by itself
  if (parts.settings.what.kind === 'volume') return;
  if (!(await hasFiles(parts))) throw error;
  const { code, message, remedy } = error;
  parts.log.warn('the trust files of an earlier run stay in use', { code, detail: message, remedy });
}

async function hasFiles(parts: ProjectionParts): Promise<boolean> {
  for (const actor of writtenEarlier(parts)) if ((await parts.openWriter(actor).held()).size > 0) return true;
  return false;
}

function followBundles(known: FileContent, opener: BundleOpener, parts: ProjectionParts): void {
  const { settings, io, closers } = parts;
  const { bundlesFile: path } = settings;
  const take = inTurn<FileContent>((content) => takeBundles(content, opener, parts));
  const follower = followTextFile({
    ...{ path, maxBytes: allowlistWords.maxBytes, clock: io.clock, known },
    changed: (content) => void take(content),
  });
  closers.add('list of bundles', () => follower.close());
}

/** Never rejects. */
async function takeBundles(content: FileContent, opener: BundleOpener, parts: ProjectionParts): Promise<void> {
  const { settings, keeper, log, troubles } = parts;
  const reading = readAllowlist(content, settings.bundlesFile);
  if (reading.kind === 'refused') {
    troubles.refused({ of: 'bundles' }, reading.problems);
    return;
  }
  try {
    await keeper.use(await opener.open(reading.value));
    troubles.taken({ of: 'bundles' });
  } catch (thrown) {
    troubles.refused({ of: 'bundles' }, [LeafgateError.from(thrown)]);
    return;
  }
  await opener.probe(reading.value).catch((thrown: unknown) => {
    const { code, message, remedy } = LeafgateError.from(thrown);
    log.warn('bundles of the cluster cannot be read', { code, detail: message, remedy });
  });
}

async function serveHealth({
  settings,
  metrics,
  closers,
  book,
  troubles,
  views,
  start,
}: ProjectionParts): Promise<void> {
  const { health: listen } = settings;
  if (listen === undefined) return;
  let isStopping = false;
  const { ready, status } = createProjectHealth({
    book,
    initial: () => start.initial,
    troubles: () => [...troubles.lines(), ...views.troubles()],
    viewAge: () => views.age(),
  });
  const health = await startHealthServer({
    ...{ listen, metrics, status },
    live: () => ({ isOk: true, reasons: [] }),
    ready: () => (isStopping ? { isOk: false, reasons: ['stopping'] } : ready()),
  });
  closers.add('health', () => health.close());
  closers.add('readiness', () => void (isStopping = true));
}

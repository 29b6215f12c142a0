// One command through a running gateway, or through one that lives as long as the command.
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import { millis } from '../clock.ts';
import { formatRecordLine } from '../observe/format-record.ts';
import { givenTexts } from '../settings/read-settings.ts';
import { settingsTable } from '../settings/settings-table.ts';
import { flagOf } from '../settings/setting-types.ts';
import { textSettings } from '../settings/text-settings.ts';
import { runChildCommand } from './child-command.ts';
import { cliErrors } from './cli-errors.ts';
import type { CommandContext } from './command-context.ts';
import { makeGatewayFolder } from './gateway-folder.ts';
import { readGatewayOptions, type GatewayOptions } from './gateway-options.ts';
import { interruptedStart, withGateway } from './gateway-session.ts';
import { printError } from './print-error.ts';
import { makeRunFolder, sweepRunFolders } from './run-folders.ts';
import { interruptedExitCode } from './stop-signals.ts';
import { findRunningGateway, type RunningGatewayNote } from './running-gateway-file.ts';
import { ownTrustRoot } from '../projection/write-own-trust.ts';
import { claimsOfCommand, sweepOwnTrust } from './own-trust-folders.ts';
import { camelCase, settingSource } from './setting-options.ts';
import { prepareActor, type ActorRequest } from './prepare-actor.ts';
import { readWithout } from './without-runtimes.ts';
import { existingState, openStateFolder, stateFolderPath, type StateFolder } from './state-folder.ts';

/** a temporary gateway takes any free port, so that it is in nobody's way */
const anyPort = '127.0.0.1:0';

export async function runThroughGateway(
  words: readonly string[],
  command: Command,
  context: CommandContext,
): Promise<void> {
  const source = settingSource(command, context.io);
  const options = readGatewayOptions(source, anyPort);
  const without = readWithout(source);
  sweepRunFolders();
  const folderPath = stateFolderPath(givenTexts(textSettings.state, source).at(-1)?.text, context.io.env);
  // nothing has to be written beside a gateway that runs: its folder may be read-only
  const existing = existingState(folderPath);
  const running = existing && findRunningGateway(existing);
  if (running !== undefined) {
    context.finishWith(await runThroughRunning(words, { running, without, command, context }));
    return;
  }
  const { state, poolCreated } = await openStateFolder(folderPath, context.io.clock);
  if (poolCreated) context.say(`leafgate: made a CA pool, once: ${state.poolFile}`);
  context.finishWith(await runThroughTemporary(words, { state, options, without, context }));
}

type RunningParts = {
  readonly without: ReadonlySet<string>;
  readonly running: RunningGatewayNote;
  readonly command: Command;
  readonly context: CommandContext;
};

async function runThroughRunning(
  words: readonly string[],
  { running, without, command, context }: RunningParts,
): Promise<number> {
  const ignored = settingsTable
    .filter(({ name }) => !['state', 'without', 'json', 'verbose'].includes(name))
    .filter((setting) => {
      return command.getOptionValueSource(camelCase(setting.name)) === 'cli';
    });
  if (ignored.length > 0) {
    throw cliErrors.error('run-options-ignored', { pid: running.pid, options: ignored.map(flagOf).join(', ') });
  }
  const gateway = { proxyUrl: running.proxyUrl, trustDir: dirname(running.caFile) };
  return runIn(words, { gateway, without, context, ended: neverEnds });
}

type TemporaryParts = {
  readonly without: ReadonlySet<string>;
  readonly state: StateFolder;
  readonly options: GatewayOptions;
  readonly context: CommandContext;
};

async function runThroughTemporary(words: readonly string[], parts: TemporaryParts): Promise<number> {
  const { context, options, state, without } = parts;
  const dir = makeRunFolder();
  const interrupted = Promise.withResolvers<NodeJS.Signals>();
  const stopListening = context.io.onSignal(interrupted.resolve);
  try {
    const exitCode = await withGateway(
      {
        options,
        // the command has ended, and whatever it left behind has no claim on its gateway
        drainMs: millis(0),
        folder: makeGatewayFolder(dir),
        poolFile: state.poolFile,
        io: context.io,
        log: context.createLog(options.json),
        progress: context.say,
        interrupted: interrupted.promise,
        // the terminal is the command's: only what explains a failure is worth a line
        onRecord: (record) => {
          if (record.reason !== undefined) context.say(`leafgate: ${formatRecordLine(record)}`);
        },
        recordsTaken: () => Promise.resolve(true),
      },
      ({ proxyUrl, trust }, ended) => {
        const gateway = { proxyUrl, trustDir: dirname(trust.caFile) };
        return runIn(words, { gateway, without, context, ended });
      },
    );
    if (exitCode !== interruptedStart) return exitCode;
    const signal = await interrupted.promise;
    context.say(`leafgate: stopped by ${signal} before the command was started`);
    return interruptedExitCode(signal);
  } finally {
    stopListening();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** a gateway of somebody else's is theirs to end */
const neverEnds = new Promise<never>(() => undefined);

const elsewhereWarning =
  'the state folder cannot be written to, so that the files with your own certificates do not follow a new CA of the gateway';

type CommandPlace = {
  readonly without: ReadonlySet<string>;
  readonly gateway: Pick<ActorRequest, 'proxyUrl' | 'trustDir'>;
  readonly context: CommandContext;
  /** settles when the gateway is gone */
  readonly ended: Promise<unknown>;
};

async function runIn(words: readonly string[], { gateway, without, context, ended }: CommandPlace): Promise<number> {
  const [command = '', ...args] = words;
  const { env: own, clock } = context.io;
  const folders = { root: ownTrustRoot(gateway.trustDir), clock };
  await sweepOwnTrust(folders);
  const { claim, isElsewhere, release } = claimsOfCommand(folders);
  try {
    const { variables, warnings } = await prepareActor({ ...gateway, own, without, claim });
    for (const warning of [...warnings, ...(isElsewhere() ? [elsewhereWarning] : [])]) {
      context.say(`leafgate: ${warning}`);
    }
    const env = { ...own, ...variables };
    const outcome = await runChildCommand({ command, args, env, ended }, context.io);
    if (outcome.kind === 'ended') return outcome.exitCode;
    printError(outcome.error, context);
    return outcome.error.exitCode;
  } finally {
    await release();
  }
}

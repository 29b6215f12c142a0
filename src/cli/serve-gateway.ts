// The gateway in the foreground. Ctrl-C drains, a second one does not wait. What is printed is up-output.ts's.
import { LeafgateError, exitCodes } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import type { StateFolder } from './state-folder.ts';
import { openStateFolder, stateFolderPath } from './state-folder.ts';
import { takeLock } from './state-lock.ts';
import { givenTexts, isSwitchedOn, type SettingSource } from '../settings/read-settings.ts';
import { switchSettings, textSettings } from '../settings/text-settings.ts';
import { cliErrors } from './cli-errors.ts';
import type { CommandContext } from './command-context.ts';
import type { Gateway } from './gateway.ts';
import { makeGatewayFolder } from './gateway-folder.ts';
import { readGatewayOptions, type GatewayOptions } from './gateway-options.ts';
import { interruptedStart, withGateway } from './gateway-session.ts';
import { ownCommand } from './own-command.ts';
import { interruptedExitCode, signalHeard } from './stop-signals.ts';
import { readVersion } from './read-version.ts';
import { givenSettings } from './running-settings.ts';
import { removeGatewayNote, writeGatewayNote } from './running-gateway-file.ts';
import { outputForPeople, outputForPrograms, type ReadyFacts, type StopCause, type UpOutput } from './up-output.ts';

export async function serveGateway(source: SettingSource, context: CommandContext): Promise<void> {
  const { io } = context;
  const isJson = isJsonWanted(source);
  const log = context.createLog(isJson);
  const output = isJson
    ? outputForPrograms({ stdout: io.stdout, log, clock: io.clock })
    : outputForPeople({ stdout: io.stdout, say: context.say });
  try {
    await serve(source, { context, log, output });
  } catch (thrown) {
    output.stopped({ cause: 'error', error: LeafgateError.from(thrown) });
    throw thrown;
  }
}

/** a malformed LEAFGATE_JSON is told with the other problems of the call */
function isJsonWanted(source: SettingSource): boolean {
  try {
    return isSwitchedOn(switchSettings.json, source);
  } catch {
    return false;
  }
}

type UpPlace = Pick<UpSession, 'context' | 'log' | 'output'>;

async function serve(source: SettingSource, place: UpPlace): Promise<void> {
  const { context, output } = place;
  const { io } = context;
  const options = readGatewayOptions(source, textSettings.listen.default ?? '');
  const folderPath = stateFolderPath(givenTexts(textSettings.state, source).at(-1)?.text, io.env);
  const { state, poolCreated } = await openStateFolder(folderPath, io.clock);
  const attempt = takeLock(state.lockFile);
  if (attempt.kind === 'taken')
    throw cliErrors.error('state-locked', { folder: state.folder, pid: attempt.holder.pid });
  const signals = signalHeard(io);
  try {
    if (poolCreated) output.poolCreated(state.poolFile);
    const session = runUntilSignal({ ...place, state, options, source, signal: signals.first });
    output.stopped(await Promise.race([session, forced(signals.second, context)]));
  } finally {
    removeGatewayNote(state);
    attempt.lock.release();
  }
}

type UpSession = {
  readonly state: StateFolder;
  readonly options: GatewayOptions;
  readonly source: SettingSource;
  readonly context: CommandContext;
  readonly log: Log;
  readonly output: UpOutput;
  readonly signal: Promise<NodeJS.Signals>;
};

async function runUntilSignal(session: UpSession): Promise<StopCause> {
  const { state, options, source, context, log, output, signal } = session;
  const folder = makeGatewayFolder(state.gatewayDir);
  const { adminSocket, sdsSocket, policyInForce } = folder;
  const outcome = await withGateway(
    {
      options,
      folder,
      poolFile: state.poolFile,
      io: context.io,
      log,
      progress: output.progress,
      interrupted: signal,
      drainMs: options.quantities.drain,
      onRecord: output.record,
      recordsTaken: async () => {
        await context.io.stdoutTaken();
        return !output.isHoldingBack();
      },
    },
    async (gateway, ended, healthAddress) => {
      const { proxyUrl, trust } = gateway;
      const places = { healthAddress, adminSocket, sdsSocket, policyInForce };
      const settings = givenSettings(source, proxyUrl);
      await writeGatewayNote(state, { pid: process.pid, proxyUrl, ...trust, ...places, settings });
      output.ready(readyFacts(gateway, state, context));
      await Promise.race([signal, ended]);
      // a command that starts now must not come through a gateway that is going
      removeGatewayNote(state);
      const { drain } = options.quantities;
      output.stopping(drain > 0 && (await gateway.openConnections()) > 0 ? drain : 0);
    },
  );
  // a gateway that ends by itself throws
  const heard = await signal;
  if (outcome !== interruptedStart) return { cause: 'signal', signal: heard };
  context.finishWith(interruptedExitCode(heard));
  return { cause: 'interrupted', signal: heard };
}

/** a second signal ends the wait; Envoy ends with this process */
async function forced(second: Promise<NodeJS.Signals>, context: CommandContext): Promise<StopCause> {
  await second;
  context.finishWith(exitCodes.failed);
  return { cause: 'forced' };
}

/** how this person calls leafgate for the gateway of this state folder */
function commandFor({ folder }: StateFolder, { io }: CommandContext): string {
  const isDefault = folder === stateFolderPath(undefined, io.env);
  return `${ownCommand()} run${isDefault ? '' : ` --state ${folder}`} --`;
}

function readyFacts(
  { proxyUrl, front, transparentPort, trust, minting, hostToTry }: Gateway,
  state: StateFolder,
  context: CommandContext,
): ReadyFacts {
  const { signer, active } = minting.pool();
  const notAfter = new Date(signer.notAfter).toISOString();
  return {
    version: readVersion(),
    proxyUrl,
    front,
    transparentPort,
    trust,
    stateFolder: state.folder,
    ca: { id: active.id, subject: signer.certificate.subject, notAfter },
    runCommand: commandFor(state, context),
    hostToTry: hostToTry(),
  };
}

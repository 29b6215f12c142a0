// The gateway in the foreground. Records go to stdout, everything else to stderr; Ctrl-C drains, a second one does not
// wait.
import { seconds } from '../clock.ts';
import { exitCodes } from '../errors.ts';
import type { AccessRecord } from '../observe/access-record.ts';
import { formatRecordLine } from '../observe/format-record.ts';
import type { StateFolder } from './state-folder.ts';
import { openStateFolder, stateFolderPath } from './state-folder.ts';
import { takeLock } from './state-lock.ts';
import { givenTexts, type SettingSource } from '../settings/read-settings.ts';
import { textSettings } from '../settings/text-settings.ts';
import { cliErrors } from './cli-errors.ts';
import type { CommandContext } from './command-context.ts';
import type { Gateway } from './gateway.ts';
import { makeGatewayFolder } from './gateway-folder.ts';
import { readGatewayOptions, type GatewayOptions } from './gateway-options.ts';
import { withGateway } from './gateway-session.ts';
import { signalHeard } from './stop-signals.ts';
import { readVersion } from './read-version.ts';
import { removeGatewayNote, writeGatewayNote } from './running-gateway-file.ts';

/** Ctrl-C on a laptop must feel prompt */
const drainMs = seconds(5);

export async function serveGateway(source: SettingSource, context: CommandContext): Promise<void> {
  const { io } = context;
  const options = readGatewayOptions(source, textSettings.listen.default ?? '');
  const folderPath = stateFolderPath(givenTexts(textSettings.state, source).at(-1)?.text, io.env);
  const { state, poolCreated } = await openStateFolder(folderPath, io.clock);
  const attempt = takeLock(state.lockFile);
  if (attempt.kind === 'taken')
    throw cliErrors.error('state-locked', { folder: state.folder, pid: attempt.holder.pid });
  const signals = signalHeard(io);
  try {
    if (poolCreated) context.say(`made a CA pool, once: ${state.poolFile}`);
    const session = runUntilSignal({ state, options, context, signal: signals.first });
    await Promise.race([session, forced(signals.second, context)]);
  } finally {
    removeGatewayNote(state);
    attempt.lock.release();
  }
}

type UpSession = {
  readonly state: StateFolder;
  readonly options: GatewayOptions;
  readonly context: CommandContext;
  readonly signal: Promise<NodeJS.Signals>;
};

async function runUntilSignal({ state, options, context, signal }: UpSession): Promise<void> {
  const running = withGateway(
    {
      options,
      folder: makeGatewayFolder(state.gatewayDir),
      poolFile: state.poolFile,
      io: context.io,
      log: context.createLog(options.json),
      progress: context.say,
      interrupted: signal,
      drainMs,
      onRecord: (record) => context.io.stdout(`${recordText(record, options.json)}\n`),
    },
    async (gateway, ended) => {
      const { proxyUrl, trust } = gateway;
      await writeGatewayNote(state, { pid: process.pid, proxyUrl, ...trust });
      context.say(banner(gateway, commandFor(state, context)));
      await Promise.race([signal, ended]);
      // a command that starts now must not come through a gateway that is going
      removeGatewayNote(state);
      context.say('stopping: open connections get a few seconds; Ctrl-C again ends them at once');
    },
  );
  await running;
}

/** a second signal ends the wait; Envoy ends with this process */
async function forced(second: Promise<NodeJS.Signals>, context: CommandContext): Promise<void> {
  await second;
  context.finishWith(exitCodes.failed);
}

function recordText(record: AccessRecord, json: boolean): string {
  return json ? JSON.stringify(record) : formatRecordLine(record);
}

/** how this person calls leafgate for the gateway of this state folder */
function commandFor({ folder }: StateFolder, { io }: CommandContext): string {
  const name = io.env['npm_lifecycle_event'] === undefined ? 'leafgate' : 'npm run -s leafgate --';
  const isDefault = folder === stateFolderPath(undefined, io.env);
  return `${name} run${isDefault ? '' : ` --state ${folder}`} --`;
}

function banner({ proxyUrl, trust, minting }: Gateway, run: string): string {
  const { signer } = minting.pool();
  const until = new Date(signer.notAfter).toISOString().slice(0, 10);
  return [
    `leafgate ${readVersion()}: gateway on ${proxyUrl}`,
    `  CA     ${signer.certificate.subject.replaceAll('\n', ', ')}, valid to ${until}`,
    `  trust  ${trust.caFile} (the CA alone)`,
    `         ${trust.mergedFile} (with the system's roots)`,
    `  check  with these files a request succeeds, with the system's roots it fails: both shown`,
    `  try    ${run} curl https://example.com/`,
  ].join('\n');
}

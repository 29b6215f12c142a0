// The command line: which commands there are, how a wrong call is answered, what an error looks like to a person.
// Returns an exit code; only main.ts ends the process.
import { Command, CommanderError } from 'commander';
import { LeafgateError, exitCodes } from '../errors.ts';
import type { ExitCode } from '../errors.ts';
import type { CommandContext, Io } from './command-context.ts';
import { createContext } from './command-context.ts';
import { cliErrors } from './cli-errors.ts';
import { addControllerCommand } from './controller-command.ts';
import { addEnvCommand } from './env-command.ts';
import { addDrainCommand } from './drain-command.ts';
import { addDoctorCommand } from './doctor-command.ts';
import { addPolicyCommands } from './policy-commands.ts';
import { addLogCommand } from './log-command.ts';
import { addPoolCommands } from './pool-commands.ts';
import { addProjectCommand } from './project-command.ts';
import { addProbeCommands } from './probe-commands.ts';
import { addRunCommand } from './run-command.ts';
import { addSdsCommand } from './sds-command.ts';
import { addStatusCommand } from './status-command.ts';
import { isSwitchedOn } from '../settings/read-settings.ts';
import { environmentNameOf, flagOf } from '../settings/setting-types.ts';
import { switchSettings } from '../settings/text-settings.ts';
import { settingSource } from './setting-options.ts';
import { addTransparentCommands } from './transparent-commands.ts';
import { addUpCommand } from './up-command.ts';
import { logError, printError } from './print-error.ts';
import { readVersion } from './read-version.ts';

const examples = `Examples:
  leafgate up                                 a gateway on 127.0.0.1:3128 that decrypts, shows and forwards
  leafgate run -- curl https://example.com/   one command through it, with proxy and trust set for the usual tools
  eval "$(leafgate env)"                       the same for all that this shell starts, while a gateway runs
  leafgate status                             what runs, its versions, policy, counts and memory
  leafgate doctor                             what is broken, with its remedy, and a handshake that proves the rest
  leafgate policy explain api.example.com     which rule decides about it, and what a client sees
  leafgate log --follow --why                 what came through it, with reasons and what to do
  leafgate probe check https://example.com/   shows that the traffic is intercepted, from an actor's place
  leafgate sds --pool pool.json --listen unix:/run/leafgate/sds.sock --allow '*.example.com'
                                              the on-demand SDS server alone, for an Envoy of your own
  leafgate controller --namespace egress --signer 'egress=egress.example.com/*'
                                              publishes the trust of EgressGateways in a cluster
  leafgate project --volume volume.yaml --bundles bundles.yaml --dir /run/leafgate/trust
                                              writes trust bundles as files for an actor, and keeps them
  leafgate pool create --out pool.json        a new CA pool
`;

const exitCodeHelp = `
Exit codes:
  0  done   1  failed   2  a wrong flag, file or setting   3  something the machine lacks   4  a check said no
  130  Ctrl-C before the gateway was up
  \`run\` passes on the exit code of its command: 127 when there is none of that name, 126 when it is no program.`;

/** Runs one command line (without node and script) to its end. Never throws. */
export async function runCommandLine(args: readonly string[], io: Io): Promise<number> {
  const context = createContext(io);
  let hasBegun = false;
  const program = buildProgram(context, () => (hasBegun = true));
  try {
    await program.parseAsync([...args], { from: 'user' });
    return context.exitCode();
  } catch (error) {
    return reportFailure(error, context, { args, hasBegun, named: commandIn(program, args) });
  }
}

/** `begun` is told when a command takes over */
function buildProgram(context: CommandContext, begun: () => void): Command {
  const program = new Command('leafgate');
  program
    .description('mints a TLS leaf for the name a client has just sent, for an Envoy egress gateway')
    .version(readVersion(), '--version', 'print the version')
    .addHelpText('before', examples)
    .addHelpText('after', exitCodeHelp)
    .enablePositionalOptions()
    .showSuggestionAfterError(true)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.io.stdout(text),
      writeErr: () => undefined,
    });
  for (const add of [
    addUpCommand,
    addRunCommand,
    addEnvCommand,
    addStatusCommand,
    addDoctorCommand,
    addLogCommand,
    addSdsCommand,
    addControllerCommand,
    addProjectCommand,
    addDrainCommand,
    addPolicyCommands,
    addPoolCommands,
    addProbeCommands,
    addTransparentCommands,
  ])
    add(program, context);
  for (const command of allCommands(program)) {
    command.exitOverride().configureOutput({ writeErr: () => undefined });
    if (command.commands.length === 0) command.option('--verbose', 'debug lines and stack traces (LEAFGATE_VERBOSE=1)');
  }
  program.hook('preAction', (_, command) => {
    const source = settingSource(command, context.io);
    if (isSwitchedOn(switchSettings.verbose, source)) context.beVerbose();
    begun();
  });
  return program;
}

function allCommands(command: Command): readonly Command[] {
  return command.commands.flatMap((child) => [child, ...allCommands(child)]);
}

type FailedCall = { readonly args: readonly string[]; readonly hasBegun: boolean; readonly named: string };

async function reportFailure(error: unknown, context: CommandContext, call: FailedCall): Promise<ExitCode> {
  if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.ok;
  const known = error instanceof CommanderError ? usageError(error, call.named) : LeafgateError.from(error);
  if (!isForPrograms(call, context.io)) {
    printError(known, context);
    return known.exitCode;
  }
  logError(known, context);
  // one that has begun says itself how it ended
  if (call.named === 'up ' && !call.hasBegun) {
    const { outputForPrograms } = await import('./up-output.ts');
    const { stdout, clock } = context.io;
    outputForPrograms({ stdout, clock, log: context.createLog(true) }).stopped({ cause: 'error', error: known });
  }
  return known.exitCode;
}

/** The servers, whose whole stderr is JSON lines then. Their options may not have been read: the words must do. */
function isForPrograms({ named, args }: FailedCall, { env }: Io): boolean {
  const isServer = named === 'up ' || named === 'sds ' || named === 'controller ' || named === 'project ';
  return (
    isServer && (args.includes(flagOf(switchSettings.json)) || env[environmentNameOf(switchSettings.json)] === '1')
  );
}

function usageError(error: CommanderError, command: string): LeafgateError {
  if (error.code === 'commander.help') return cliErrors.error('usage', { detail: 'no command was given', command });
  const detail = error.message
    .replace(/^error: /, '')
    .replace(/\s+/g, ' ')
    .replace(/\.$/, '');
  return cliErrors.error('usage', { detail, command }, error);
}

/** the commands that were named, with a space after each: `pool create ` */
function commandIn(program: Command, args: readonly string[]): string {
  let named = '';
  let command: Command | undefined = program;
  for (const arg of args) {
    command = command.commands.find((child) => child.name() === arg);
    if (command === undefined) break;
    named += `${arg} `;
  }
  return named;
}

// `leafgate env`: its options. What it does is loaded when it is called.
import { Option, type Command } from 'commander';
import { environmentFormats } from '../projection/environment-text.ts';
import type { CommandContext } from './command-context.ts';
import type { EnvValues } from './env-call.ts';
import { addSettingOptions, collect } from './setting-options.ts';

export function addEnvCommand(program: Command, context: CommandContext): void {
  const env = program
    .command('env')
    .description(
      'prints the variables that send a shell, a container or a pod through the gateway and make it trust it',
    )
    .addOption(new Option('--format <FORMAT>', 'how').choices(environmentFormats).default('shell'))
    .option('--dir <DIR>', 'the trust folder as the actor sees it, for another place than this shell')
    .option('--proxy <URL>', 'the gateway as the actor reaches it (default: the one running on the state folder)')
    .option(
      '--around <HOST>',
      'a host that the actor reaches without the gateway, as in NO_PROXY; repeatable',
      collect,
    );
  addSettingOptions(env, 'env').action(async (values: EnvValues, command: Command) => {
    const { printEnvironment } = await import('./env-call.ts');
    await printEnvironment({ values, command, context });
  });
}

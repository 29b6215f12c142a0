// `leafgate log`: its options. What it does is loaded when it is called.
import { Option, type Command } from 'commander';
import type { CommandContext } from './command-context.ts';
import type { LogValues } from './log-call.ts';
import { addSettingOptions, collect } from './setting-options.ts';

export function addLogCommand(program: Command, context: CommandContext): void {
  const log = program
    .command('log')
    .description('shows the access records that a state folder keeps, whether or not its gateway runs')
    .option('-f, --follow', 'goes on with what comes, until Ctrl-C')
    .option('--host <PATTERN>', 'api.example.com, *.example.com or an address; repeatable', collect)
    .option('--rule <NAME>', 'what this rule decided: ads, or deny:ads')
    .option('--actor <URI>', 'what came with this verified client certificate')
    .option('--since <DURATION>', 'what had not ended longer ago, such as 10m or 2h')
    .addOption(new Option('--outcome <OUTCOME>', 'how it ended').choices(['ok', 'refused', 'failed']))
    .option('--why', 'with the reason of what was refused or failed, and what to do');
  addSettingOptions(log, 'log').action(async (values: LogValues, command: Command) => {
    const { showLog } = await import('./log-call.ts');
    await showLog({ values, command, context });
  });
}

// `leafgate run -- COMMAND`: its options. What it does is loaded when it is called.
import type { Command } from 'commander';
import type { CommandContext } from './command-context.ts';
import { addSettingOptions } from './setting-options.ts';

export function addRunCommand(program: Command, context: CommandContext): void {
  const run = program
    .command('run')
    .description('runs a command through the gateway, with proxy and trust set for the common runtimes')
    .argument('<COMMAND...>', 'the command and its arguments, after --')
    .passThroughOptions();
  addSettingOptions(run, 'run').action(async (words: readonly string[], _: unknown, command: Command) => {
    const { runThroughGateway } = await import('./run-through-gateway.ts');
    await runThroughGateway(words, command, context);
  });
}

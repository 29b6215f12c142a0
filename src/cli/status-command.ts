// `leafgate status`: its options. What it does is loaded when it is called.
import type { Command } from 'commander';
import type { CommandContext } from './command-context.ts';
import { addSettingOptions, settingSource } from './setting-options.ts';

export function addStatusCommand(program: Command, context: CommandContext): void {
  const status = program
    .command('status')
    .description(
      'shows what runs on the state folder: versions, policy, counts, memory; exit code 4 unless it is ready',
    );
  addSettingOptions(status, 'status').action(async (_: unknown, command: Command) => {
    const { showStatus } = await import('./show-status.ts');
    await showStatus(settingSource(command, context.io), context);
  });
}

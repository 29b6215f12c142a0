// `leafgate sds`: its options. What it does is loaded when it is called.
import type { Command } from 'commander';
import type { CommandContext } from './command-context.ts';
import type { SdsValues } from './serve-sds.ts';
import { addSettingOptions, settingSource } from './setting-options.ts';

const examples = `
Examples:
  leafgate sds --pool pool.json --listen unix:/run/leafgate/sds.sock --allow '*.example.com' --allow api.example.org
  leafgate sds --pool pool.json --listen unix:/run/leafgate/sds.sock --policy policy.yaml
  leafgate sds --pool pool.json --listen unix:/run/leafgate/sds.sock --allow-any`;

export function addSdsCommand(program: Command, context: CommandContext): void {
  const sds = program
    .command('sds')
    .description('runs the on-demand SDS server alone: delta ADS and DeltaSecrets on one unix socket')
    .requiredOption('--pool <FILE>', 'the CA pool; followed, so that a change is in force within a second')
    .requiredOption('--listen <unix:PATH>', 'the socket, made with mode 0600')
    .addHelpText('after', examples);
  addSettingOptions(sds, 'sds').action(async (values: SdsValues, command: Command) => {
    const { serveSds } = await import('./serve-sds.ts');
    await serveSds(values, settingSource(command, context.io), context);
  });
}

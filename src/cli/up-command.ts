// `leafgate up`: its options. What it does is loaded when it is called.
import type { Command } from 'commander';
import type { CommandContext } from './command-context.ts';
import { addSettingOptions, settingSource } from './setting-options.ts';

export function addUpCommand(program: Command, context: CommandContext): void {
  const up = program
    .command('up')
    .description(
      'runs a gateway: Envoy, its SDS server and the trust files; shows one line a request; Ctrl-C stops it',
    );
  addSettingOptions(up, 'up').action(async (_: unknown, command: Command) => {
    const { serveGateway } = await import('./serve-gateway.ts');
    await serveGateway(settingSource(command, context.io), context);
  });
}

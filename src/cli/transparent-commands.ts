// `leafgate transparent rules`: prints what the system needs to redirect connections; loads nothing.
import type { Command } from 'commander';
import { textSettings } from '../settings/text-settings.ts';
import { flagOf } from '../settings/setting-types.ts';
import type { CommandContext } from './command-context.ts';
import { parsePortSetting } from './transparent-options.ts';
import { parseDestinationPorts, parseInterfaceName, transparentRules } from './transparent-rules.ts';

type RulesValues = { readonly interface?: string; readonly port: string; readonly ports: string };

/** as other gateways have it */
const defaultPort = '15001';

export function addTransparentCommands(program: Command, context: CommandContext): void {
  const transparent = program
    .command('transparent')
    .description('connections of clients that know of no proxy, redirected by the system (Linux)');
  transparent
    .command('rules')
    .description(`prints nftables rules that redirect connections to \`up ${flagOf(textSettings.transparent)} PORT\``)
    .option(
      '--interface <IF>',
      'where they come in, with * at the end for any ending; everywhere but loopback otherwise',
    )
    .option('--port <PORT>', 'port of the gateway', defaultPort)
    .option('--ports <PORTS>', 'destination ports to redirect, as 80,443, or all', '80,443')
    .action((values: RulesValues) => {
      const rules = {
        interfaceName: values.interface === undefined ? undefined : parseInterfaceName(values.interface),
        port: parsePortSetting({ text: values.port, setting: '--port' }),
        destinationPorts: parseDestinationPorts(values.ports),
      };
      context.io.stdout(transparentRules(rules));
    });
}

// `leafgate sds`: its options. What it does is loaded when it is called.
import type { Command } from 'commander';
import { cliErrors } from './cli-errors.ts';
import type { CommandContext } from './command-context.ts';
import { addSettingOptions, settingSource } from './setting-options.ts';

const examples = `
Examples:
  leafgate sds --pool pool.json --listen unix:/run/leafgate/sds.sock --allow '*.example.com' --allow api.example.org
  leafgate sds --pool pool.json --listen unix:/run/leafgate/sds.sock --policy policy.yaml
  leafgate sds --pool pool.json --listen unix:/run/leafgate/sds.sock --allow-any
  leafgate sds --pool pool.json --listen tcp:0.0.0.0:8443 --server-name sds.example.com --allowed-san envoy.example.com --allow-any
  leafgate sds --gateway /etc/leafgate/gateway --metrics 0.0.0.0:8081    the sidecar of a gateway's pod
  leafgate sds --gateway /etc/leafgate/gateway --listen tcp:0.0.0.0:8443 --metrics 0.0.0.0:8081    its SDS server, where its pods have no pool`;

export function addSdsCommand(program: Command, context: CommandContext): void {
  const sds = program
    .command('sds')
    .description(
      'runs the on-demand SDS server alone: delta ADS and DeltaSecrets on a unix socket, or by TCP with mutual TLS',
    )
    .option('--pool <FILE>', 'the CA pool; followed, so that a change is in force within a second')
    .option(
      '--listen <unix:PATH | tcp:ADDRESS:PORT>',
      'a socket, made with mode 0600, or a port where clients show certificates (docs/sds-channel.md)',
    )
    .option(
      '--gateway <DIR>',
      "runs in a gateway's pod: reads pool, sockets, policy and limits from the files mounted there, in place of the options for them; with --listen tcp:… as its SDS server in a pod of its own",
    )
    .addHelpText('after', examples);
  addSettingOptions(sds, 'sds').action(async (values: GivenValues, command: Command) => {
    const source = settingSource(command, context.io);
    const { pool, listen, gateway } = values;
    if (gateway !== undefined) {
      const alone = pool === undefined ? [] : ['--pool'];
      if (listen !== undefined) {
        const { serveGatewaySds } = await import('./serve-gateway-sds.ts');
        return serveGatewaySds({ dir: gateway, listen, alone }, source, context);
      }
      const { servePod } = await import('./serve-pod.ts');
      return servePod({ dir: gateway, alone }, source, context);
    }
    if (pool === undefined || listen === undefined) throw cliErrors.error('sds-place-missing');
    const { serveSds } = await import('./serve-sds.ts');
    return serveSds({ pool, listen }, source, context);
  });
}

type GivenValues = { readonly pool?: string; readonly listen?: string; readonly gateway?: string };

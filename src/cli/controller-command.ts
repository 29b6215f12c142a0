// `leafgate controller`: its options. What it does is loaded when it is called.
import type { Command } from 'commander';
import type { CommandContext } from './command-context.ts';
import type { ControllerValues } from './controller-options.ts';
import { addSettingOptions, settingSource } from './setting-options.ts';

const examples = `
Examples:
  leafgate controller --namespace egress --signer 'egress=egress.example.com/*' --metrics 0.0.0.0:8081
  leafgate controller --namespace team-a --signer 'team-a=a.example.com/*' \\
                      --namespace team-b --signer 'team-b=b.example.com/mitm'
  leafgate controller --namespace egress --kubeconfig ~/.kube/config --release
                                              before an uninstall: lets go of every EgressGateway`;

export function addControllerCommand(program: Command, context: CommandContext): void {
  const controller = program
    .command('controller')
    .description('publishes the trust of EgressGateways in a cluster, and says in their conditions what it saw')
    .option('--release', 'takes the finalizer off every EgressGateway of the namespaces, says so, and ends')
    .addHelpText('after', examples);
  addSettingOptions(controller, 'controller').action(async (values: ControllerValues, command: Command) => {
    const { runController } = await import('./run-controller.ts');
    await runController(values, settingSource(command, context.io), context);
  });
}

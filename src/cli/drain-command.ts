// `leafgate drain`: its options. What it does is loaded when it is called.
import type { Command } from 'commander';
import type { CommandContext } from './command-context.ts';

const examples = `
Examples:
  leafgate drain --gateway /etc/leafgate/gateway    the preStop hook of the sidecar, in its own container`;

export function addDrainCommand(program: Command, context: CommandContext): void {
  program
    .command('drain')
    .description("tells the sidecar of a gateway's pod that the pod ends, and waits until Envoy is drained")
    .requiredOption('--gateway <DIR>', 'the folder that the sidecar was started with')
    .addHelpText('after', examples)
    .action(async ({ gateway }: { readonly gateway: string }) => {
      const { drainPod } = await import('./drain-pod.ts');
      await drainPod(gateway, context);
    });
}

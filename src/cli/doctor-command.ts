// `leafgate doctor`: its options. What it does is loaded when it is called.
import type { Command } from 'commander';
import type { CommandContext } from './command-context.ts';
import { addSettingOptions, settingSource } from './setting-options.ts';

type DoctorValues = { readonly bootstrap?: string };

const examples = `Examples:
  leafgate doctor                             the gateway that runs, or would run, on the state folder
  leafgate doctor --policy policy.yaml        the same with options of up
  leafgate doctor --bootstrap bootstrap.yaml  the configuration of an Envoy of your own, for \`leafgate sds\`
`;

export function addDoctorCommand(program: Command, context: CommandContext): void {
  const doctor = program
    .command('doctor')
    .description(
      'looks for what is broken around a gateway with these options, names it with its remedy, and tries a handshake; exit code 4 for a fault',
    )
    .option('--bootstrap <FILE>', 'looks at the bootstrap of an Envoy of your own instead, and lets Envoy validate it')
    .addHelpText('before', examples);
  addSettingOptions(doctor, 'doctor').action(async (values: DoctorValues, command: Command) => {
    const source = settingSource(command, context.io);
    if (values.bootstrap === undefined) {
      const { runDoctor } = await import('./doctor/run-doctor.ts');
      await runDoctor(source, context);
    } else {
      const { runBootstrapDoctor } = await import('./doctor/run-bootstrap-doctor.ts');
      await runBootstrapDoctor(values.bootstrap, source, context);
    }
  });
}

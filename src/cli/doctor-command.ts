// `leafgate doctor`: its options. What it does is loaded when it is called.
import type { Command } from 'commander';
import type { CommandContext } from './command-context.ts';
import { addSettingOptions, settingSource } from './setting-options.ts';

export function addDoctorCommand(program: Command, context: CommandContext): void {
  const doctor = program
    .command('doctor')
    .description(
      'looks for what is broken around a gateway with these options, names it with its remedy, and tries a handshake; exit code 4 for a fault',
    );
  addSettingOptions(doctor, 'doctor').action(async (_: unknown, command: Command) => {
    const { runDoctor } = await import('./doctor/run-doctor.ts');
    await runDoctor(settingSource(command, context.io), context);
  });
}

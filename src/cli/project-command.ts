// `leafgate project`: its options. What it does is loaded when it is called.
import type { Command } from 'commander';
import type { CommandContext } from './command-context.ts';
import type { ProjectValues } from './project-options.ts';
import { addSettingOptions, settingSource } from './setting-options.ts';

const examples = `
Examples:
  leafgate project --volume volume.yaml --bundles bundles.yaml --dir /run/leafgate/trust --once
                                              before an actor starts: writes its trust files, or fails
  leafgate project --volume volume.yaml --bundles bundles.yaml --dir /run/leafgate/trust
                                              while it runs: a change of a bundle is in the files within 2 s
  leafgate project --actors /run/leafgate/actors --bundles bundles.yaml --dir /run/leafgate/trust --metrics unix:/run/leafgate/project.sock
                                              for all actors of a node: /run/leafgate/actors/NAME.yaml is the volume of NAME`;

export function addProjectCommand(program: Command, context: CommandContext): void {
  const project = program
    .command('project')
    .description('writes the trust bundles that an actor asks for as files, and keeps them as the bundles are')
    .option('--volume <FILE>', 'what one actor asks for: names of bundles, and where their files go; followed')
    .option('--actors <DIR>', 'in place of --volume: a folder with the volume of each actor, as NAME.yaml; followed')
    .requiredOption('--bundles <FILE>', 'where the bundle of each name comes from; no other can be asked for; followed')
    .requiredOption('--dir <DIR>', 'the folder for the files; with --actors a folder in it for each actor')
    .option('--once', 'writes the files and ends; fails where the files of now cannot be had')
    .option('--roots-from <DIR>', "takes the system roots from this root file system, such as the actor's")
    .option('--mode <OCTAL>', 'of the files; folders get the same with the right to enter (default 0644)')
    .option('--owner <UID:GID>', 'of files and folders; default: this user')
    .addHelpText('after', examples);
  addSettingOptions(project, 'project').action(async (values: ProjectValues, command: Command) => {
    const { runProject } = await import('./run-project.ts');
    await runProject(values, settingSource(command, context.io), context);
  });
}

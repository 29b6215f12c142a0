// `leafgate policy check | explain | hits`: their options. What they do is loaded when one is called.
import type { Command } from 'commander';
import type { CommandContext } from './command-context.ts';
import type { CheckValues, ExplainValues } from './policy-call.ts';
import { addSettingOptions, settingSource } from './setting-options.ts';

export function addPolicyCommands(program: Command, context: CommandContext): void {
  const policy = program.command('policy').description('checks policy files, explains decisions, counts hits per rule');
  policy
    .command('check')
    .description('names everything that is wrong or odd in a policy file at once; exit code 4 when something is wrong')
    .argument('<FILE>', 'or - for what comes on stdin')
    .option('--json', 'as one JSON object')
    .option('--without-files', 'does not look for the files that origins name: the policy is for another machine')
    .action(async (file: string, values: CheckValues) => {
      const { checkPolicyFile } = await import('./policy-call.ts');
      await checkPolicyFile(file, values, context);
    });
  const explain = policy
    .command('explain')
    .description('says which rule decides about a host and why, and what a client then sees')
    .argument('<HOST[:PORT]>', 'or a URL; the port is 443 unless said')
    .option('--actor <URI>', "the verified URI of the client's certificate")
    .option('--policy <FILE>', 'the policy file (default: what decides in the gateway that runs on the state folder)');
  addSettingOptions(explain, 'policy').action(async (host: string, values: ExplainValues, command: Command) => {
    const { explainPolicy } = await import('./policy-call.ts');
    await explainPolicy(host, values, { source: settingSource(command, context.io), context });
  });
  const hits = policy
    .command('hits')
    .description('shows how often each rule of the running gateway decided, and which never did');
  addSettingOptions(hits, 'policy').action(async (_: unknown, command: Command) => {
    const { showHits } = await import('./policy-call.ts');
    await showHits({ source: settingSource(command, context.io), context });
  });
}

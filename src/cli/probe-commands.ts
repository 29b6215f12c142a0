// `leafgate probe check | serve`: their options. What they do is loaded when one is called.
import type { Command } from 'commander';
import type { CommandContext } from './command-context.ts';
import type { ProbeValues } from './probe-call.ts';
import { addSettingOptions, collect } from './setting-options.ts';

type ServeValues = ProbeValues & { readonly listen: string };

const defaultProbeListen = '127.0.0.1:8080';

export function addProbeCommands(program: Command, context: CommandContext): void {
  const probe = program
    .command('probe')
    .description("proves both sides: with the gateway's CA it works, with the system's roots it fails");
  const check = probe
    .command('check')
    .description('fetches each URL with both trusts and says what was met; exit code 4 unless all are intercepted')
    .argument('<URL...>')
    .option('--dial <HOST:PORT>', "connect there instead of the URL's own host and port")
    .option('--wait <DURATION>', 'ask again while nobody trusts the certificate: a new anchor may be on its way (2m)');
  addSettingOptions(withTrustOptions(check), 'probe').action(
    async (urls: readonly string[], values: ProbeValues, command: Command) => {
      const { checkUrls } = await import('./probe-call.ts');
      await checkUrls(urls, { values, command, context });
    },
  );
  const serve = probe
    .command('serve')
    .description('answers GET /fetch?url=&roots=bundle|system[&dial=] with what one fetch met, as JSON')
    .option('--listen <ADDRESS:PORT>', 'where to answer', defaultProbeListen)
    .option('--allow-host <NAME>', 'a Host header to accept beside the listening address; repeatable', collect);
  addSettingOptions(withTrustOptions(serve), 'probe').action(async (values: ServeValues, command: Command) => {
    const { serveProbe } = await import('./probe-call.ts');
    await serveProbe(values.listen, { values, command, context });
  });
}

function withTrustOptions(command: Command): Command {
  return command
    .option('--ca <FILE>', "the bundle (default: the trust files of the state folder's gateway)")
    .option('--server-name <NAME>', "the name to verify instead of the URL's host, in both halves")
    .option('--system-roots <FILE>', "roots that stand for the system's")
    .option('--proxy <URL>', 'the gateway (default: the one running on the state folder, else $HTTPS_PROXY)')
    .option('--no-proxy', 'connect without a proxy')
    .option('--state <DIR>', 'state folder of the gateway');
}

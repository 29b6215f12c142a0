// The SDS server of a gateway whose pods have no pool: its Envoys ask it by TCP. The gateway's files say nearly all; who may
// connect is followed, and so is the policy. Plaintext takes a second choice, beside theirs. Must not know how it is served.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { LeafgateError, problemsOf } from '../errors.ts';
import { givenTexts, isSwitchedOn, readQuantities, type SettingSource } from '../settings/read-settings.ts';
import { parseListenAddress } from '../settings/parse-listen.ts';
import { parseSdsClients } from '../settings/parse-sds-server-settings.ts';
import { podFiles } from '../settings/pod-layout.ts';
import { switchSettings, textSettings } from '../settings/text-settings.ts';
import { openCheckedFiles, type CheckedFiles } from './checked-files.ts';
import { cliErrors } from './cli-errors.ts';
import type { CommandContext } from './command-context.ts';
import { parseHealthTarget } from './health-target.ts';
import { checkAlone, saidByFiles } from './pod-options.ts';
import type { Log } from '../observe/log.ts';
import { createProblems } from '../problems.ts';
import { problemsText } from './problems-text.ts';
import { readSdsServerFile } from './read-sidecar-file.ts';
import { runSds, type RunningSds } from './serve-sds.ts';
import { insecureChoice, tcpPrefix, type TcpListen } from './sds-listen.ts';
import type { AllowedClients } from '../settings/sds-server-settings.ts';

export type GatewaySdsCall = {
  /** folder of the gateway's files */
  readonly dir: string;
  readonly listen: string;
  /** options that were given and that those files say */
  readonly alone: readonly string[];
};

export async function serveGatewaySds(
  call: GatewaySdsCall,
  source: SettingSource,
  context: CommandContext,
): Promise<void> {
  const path = join(call.dir, podFiles.sdsClients);
  const { listen, ...options } = await readOptions(call, source);
  const files = await openClients(path, { clock: context.io.clock, mayLack: listen.gatewaySays === 'plaintext' });
  try {
    const followClients: RunningSds['followClients'] = (use, log) =>
      files === undefined ? () => [] : follow(files, use, { log, path });
    await runSds({ ...options, listen: { ...listen, clients: files?.current() }, followClients }, context);
  } finally {
    files?.close();
  }
}

type ListTerms = {
  readonly clock: CommandContext['io']['clock'];
  /** in plaintext nobody need be named */
  readonly mayLack: boolean;
};

function openClients(path: string, { clock, mayLack }: ListTerms): Promise<CheckedFiles<AllowedClients> | undefined> {
  return openCheckedFiles({
    files: [{ path, source: path }],
    clock,
    check: ([bytes]) => parseSdsClients(new TextDecoder().decode(bytes), path),
    unreadable: (source, detail) => cliErrors.error('sidecar-file-unreadable', { path: source, detail }),
  }).catch((thrown: unknown) => {
    if (mayLack && !existsSync(path)) return undefined;
    throw thrown;
  });
}

type Following = { readonly log: Log; readonly path: string };

function follow(
  files: CheckedFiles<AllowedClients>,
  use: (clients: AllowedClients) => void,
  { log, path }: Following,
): () => readonly string[] {
  let trouble: string | undefined;
  files.follow({
    taken: (clients) => {
      trouble = undefined;
      use(clients);
      log.info('the list of SDS peers is taken', { path });
    },
    refused: (error) => {
      trouble = `the last good list of SDS peers is in force: ${problemsText(problemsOf(error))}`;
      for (const { message, code } of problemsOf(error))
        log.error('the list of SDS peers is refused, the last good one stays', { path, detail: message, code });
    },
  });
  return () => (trouble === undefined ? [] : [trouble]);
}

type GatewayListen = { readonly kind: 'tcp' } & TcpListen;

/** @throws one error with everything that is wrong, before anything is started */
async function readOptions(
  { dir, listen, alone }: GatewaySdsCall,
  source: SettingSource,
): Promise<RunningSds & { readonly listen: GatewayListen }> {
  const { attempt, attemptLater, throwAny } = createProblems();
  attempt(() => checkAlone([...alone, ...saidByFiles(source)]));
  const address = attempt(() => readAddress(listen));
  const quantities = attempt(() => readQuantities(source));
  const metrics = givenTexts(textSettings.metrics, source)
    .map((given) => attempt(() => parseHealthTarget(given, true)))
    .at(-1);
  const json = attempt(() => isSwitchedOn(switchSettings.json, source)) ?? false;
  const settings = await attemptLater(readSdsServerFile(dir));
  throwAny();
  if (settings === undefined || quantities === undefined || address === undefined)
    throw LeafgateError.from('a setting was lost');
  const { pool, channel, leafLifetimeMs, allowEd25519 } = settings;
  const serverName = channel.kind === 'tls' ? channel.serverName : undefined;
  const place = { address, dir: channel.dir, serverName, clients: undefined };
  return {
    pool: pool.file,
    isPoolMounted: true,
    policy: { kind: 'file', path: join(dir, podFiles.policy) },
    listen: { kind: 'tcp', ...place, insecure: insecureChoice(source), gatewaySays: channel.kind },
    quantities: { ...quantities, leafTtl: leafLifetimeMs },
    ...{ allowEd25519, json, ...(metrics === undefined ? {} : { metrics }) },
  };
}

function readAddress(text: string): ReturnType<typeof parseListenAddress> {
  if (!text.startsWith(tcpPrefix)) throw cliErrors.error('sds-gateway-alone', { options: `--listen ${text}` });
  return parseListenAddress(text.slice(tcpPrefix.length));
}

// The SDS server of a gateway whose pods have no pool: its Envoys ask it by TCP with mutual TLS. The gateway's files say nearly
// all; who may connect is followed, and so is the policy. Must not know how it is served.
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
import { tcpPrefix } from './sds-listen.ts';
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
  const { clock } = context.io;
  const path = join(call.dir, podFiles.sdsClients);
  const files = await openClients(path, clock);
  try {
    const options = await readOptions(call, source, files.current());
    await runSds({ ...options, followClients: (use, log) => follow(files, use, { log, path }) }, context);
  } finally {
    files.close();
  }
}

function openClients(path: string, clock: CommandContext['io']['clock']): Promise<CheckedFiles<AllowedClients>> {
  return openCheckedFiles({
    files: [{ path, source: path }],
    clock,
    check: ([bytes]) => parseSdsClients(new TextDecoder().decode(bytes), path),
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

/** @throws one error with everything that is wrong, before anything is started */
async function readOptions(
  { dir, listen, alone }: GatewaySdsCall,
  source: SettingSource,
  clients: AllowedClients,
): Promise<RunningSds> {
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
  const { pool, tls, leafLifetimeMs, allowEd25519 } = settings;
  return {
    pool: pool.file,
    isPoolMounted: true,
    policy: { kind: 'file', path: join(dir, podFiles.policy) },
    // the files say TLS: no variable makes it plaintext
    listen: { kind: 'tcp', address, dir: tls.dir, serverName: tls.serverName, clients, insecure: undefined },
    quantities: { ...quantities, leafTtl: leafLifetimeMs },
    ...{ allowEd25519, json, ...(metrics === undefined ? {} : { metrics }) },
  };
}

function readAddress(text: string): ReturnType<typeof parseListenAddress> {
  if (!text.startsWith(tcpPrefix)) throw cliErrors.error('sds-gateway-alone', { options: `--listen ${text}` });
  return parseListenAddress(text.slice(tcpPrefix.length));
}

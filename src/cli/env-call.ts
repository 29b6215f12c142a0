// The variables of an actor as text: for this shell, beside a running gateway, or for another place that is named.
import { dirname, isAbsolute, normalize } from 'node:path';
import type { Command } from 'commander';
import { actorEnvironment, type ActorEnvironment } from '../projection/actor-environment.ts';
import { environmentText, type EnvironmentFormat } from '../projection/environment-text.ts';
import { trustFilePaths } from '../projection/trust-files.ts';
import { ownTrustRoot } from '../projection/write-own-trust.ts';
import type { SettingSource } from '../settings/read-settings.ts';
import { cliErrors } from './cli-errors.ts';
import type { CommandContext } from './command-context.ts';
import { claimForShells, sweepOwnTrust } from './own-trust-folders.ts';
import { prepareActor } from './prepare-actor.ts';
import { findRunningGateway } from './running-gateway-file.ts';
import { settingSource } from './setting-options.ts';
import { chosenState, existingState } from './state-folder.ts';
import { readWithout } from './without-runtimes.ts';

export type EnvValues = {
  readonly format: EnvironmentFormat;
  readonly dir?: string;
  readonly proxy?: string;
  readonly around?: readonly string[];
};

export type EnvCall = { readonly values: EnvValues; readonly command: Command; readonly context: CommandContext };

export async function printEnvironment({ values, command, context }: EnvCall): Promise<void> {
  const source = settingSource(command, context.io);
  const { dir } = values;
  const { variables, warnings } =
    dir === undefined ? await environmentHere(values, source, context) : environmentThere(dir, values, source);
  const text = environmentText(variables, values.format);
  for (const warning of warnings) context.say(`leafgate: ${warning}`);
  context.io.stdout(text);
}

/** beside what this shell has already */
async function environmentHere(
  values: EnvValues,
  source: SettingSource,
  { io }: CommandContext,
): Promise<ActorEnvironment> {
  const without = readWithout(source);
  const { folder } = chosenState(source, io.env);
  const state = existingState(folder);
  const running = state && findRunningGateway(state);
  if (running === undefined) throw cliErrors.error('env-no-gateway', { folder });
  const proxyUrl = values.proxy === undefined ? running.proxyUrl : checkedProxy(values.proxy);
  const trustDir = dirname(running.caFile);
  const folders = { root: ownTrustRoot(trustDir), clock: io.clock };
  await sweepOwnTrust(folders);
  const claim = claimForShells(folders);
  return prepareActor({ proxyUrl, trustDir, own: withAround(io.env, values), without, claim });
}

/** nothing of this shell is in it */
function environmentThere(dir: string, values: EnvValues, source: SettingSource): ActorEnvironment {
  const without = readWithout(source);
  if (!isAbsolute(dir)) throw cliErrors.error('env-dir-relative', { dir });
  if (values.proxy === undefined && !without.has('proxy')) throw cliErrors.error('env-proxy-missing');
  const proxyUrl = values.proxy === undefined ? '' : checkedProxy(values.proxy);
  const trust = { proxyUrl, ...trustFilePaths(normalize(dir)) };
  return actorEnvironment({ trust, own: withAround({}, values), without, left: new Set() });
}

type Environment = { readonly [name: string]: string | undefined };

function withAround(env: Environment, { around = [] }: EnvValues): Environment {
  return { ...env, NO_PROXY: [env['NO_PROXY'] ?? '', ...around].join(',') };
}

/** as clients read it: scheme, host and port, nothing after them */
function checkedProxy(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isProxy = url !== undefined && /^https?:$/.test(url.protocol) && url.hostname !== '';
  if (!isProxy || url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    throw cliErrors.error('env-proxy-invalid', { value: text.replace(/\/\/.*@/, '//…@') });
  }
  return text.replace(/\/$/, '');
}

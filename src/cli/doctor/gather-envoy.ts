// Facts about the Envoy that `up` would start. Nothing is downloaded.
import { execFile } from 'node:child_process';
import { homedir } from 'node:os';
import type { EnvoyFacts } from '../../doctor/doctor-facts.ts';
import { readProgramMachine } from '../../envoy/binary-machine.ts';
import { platformText, wheelFor, type Platform } from '../../envoy/envoy-wheel.ts';
import { versionText } from '../../envoy/envoy-version.ts';
import { defaultCacheDir, findEnvoy, gatewayMinVersion, type NamedEnvoy } from '../../envoy/find-envoy.ts';
import { machinePlatform } from '../../envoy/machine-platform.ts';
import { LeafgateError } from '../../errors.ts';

export type EnvoyQuestions = {
  readonly named: NamedEnvoy | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform?: Platform;
};

export async function gatherEnvoy({ named, env, platform = machinePlatform() }: EnvoyQuestions): Promise<EnvoyFacts> {
  const minimum = versionText(gatewayMinVersion);
  const passedOver: string[] = [];
  try {
    const found = await findEnvoy({
      ...(named === undefined ? {} : { named }),
      ...{ env, platform, cacheDir: defaultCacheDir(env, homedir()), minVersion: gatewayMinVersion, install: false },
      progress: (sentence) => void passedOver.push(sentence),
    });
    const { path, version } = found;
    return { minimum, passedOver, search: { kind: 'found', path, version: versionText(version) } };
  } catch (thrown) {
    const error = LeafgateError.from(thrown);
    const search =
      named === undefined ? await nothingFound(platform, env) : await namedUnusable(named, error, platform);
    return { minimum, passedOver, search };
  }
}

async function namedUnusable(
  { path, setting }: NamedEnvoy,
  error: LeafgateError,
  { cpu, os }: Platform,
): Promise<EnvoyFacts['search']> {
  const made = await readProgramMachine(path);
  const machine = os === 'linux' ? cpu : os;
  const madeFor = made === undefined || made === machine ? undefined : made;
  return { kind: 'unusable', setting, path, detail: String(error.fields['detail'] ?? error.message), madeFor, machine };
}

async function nothingFound(platform: Platform, env: EnvoyQuestions['env']): Promise<EnvoyFacts['search']> {
  if (wheelFor(platform) === undefined) {
    return { kind: 'none', cannotBringBecause: `there is none for ${platformText(platform)}` };
  }
  const hasPip = await runs('python3', ['-m', 'pip', '--version'], env);
  return { kind: 'none', cannotBringBecause: hasPip ? undefined : '`python3 -m pip` does not run here' };
}

const pipTimeoutMs = 20_000;

function runs(file: string, args: readonly string[], env: EnvoyQuestions['env']): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(file, args, { env, timeout: pipTimeoutMs }, (error) => resolve(error === null));
  });
}

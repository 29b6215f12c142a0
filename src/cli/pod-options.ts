// What `leafgate sds --gateway` is told: the gateway's files say nearly all, flags and environment the rest. All that is wrong
// is told at once, before anything is started.
import { LeafgateError } from '../errors.ts';
import type { HealthListen } from '../observe/health-server.ts';
import {
  givenNames,
  givenTexts,
  isSwitchedOn,
  readQuantities,
  type Quantities,
  type SettingSource,
} from '../settings/read-settings.ts';
import { quantitySettings } from '../settings/quantity-settings.ts';
import type { SidecarSettings } from '../settings/sidecar-settings.ts';
import { switchSettings, textSettings } from '../settings/text-settings.ts';
import { cliErrors } from './cli-errors.ts';
import { parseHealthTarget } from './health-target.ts';
import { createProblems } from '../problems.ts';
import { readSidecarFile } from './read-sidecar-file.ts';

export type PodOptions = {
  /** absolute or not, as it was given */
  readonly dir: string;
  readonly settings: SidecarSettings;
  readonly quantities: Quantities;
  readonly json: boolean;
  readonly metrics: HealthListen | undefined;
};

/** `alone` are options of the command that have no row in the table of settings and were given */
export async function readPodOptions(
  dir: string,
  source: SettingSource,
  alone: readonly string[],
): Promise<PodOptions> {
  const { attempt, attemptLater, throwAny } = createProblems();
  attempt(() => checkAlone([...alone, ...saidByFiles(source)]));
  const quantities = attempt(() => readQuantities(source));
  const metrics = givenTexts(textSettings.metrics, source)
    .map((given) => attempt(() => parseHealthTarget(given, true)))
    .at(-1);
  const json = attempt(() => isSwitchedOn(switchSettings.json, source)) ?? false;
  const settings = await attemptLater(readSidecarFile(dir));
  throwAny();
  if (settings === undefined || quantities === undefined) throw LeafgateError.from('a setting was lost');
  return { dir, settings, quantities: { ...quantities, leafTtl: settings.leafLifetimeMs }, json, metrics };
}

const rowsOfFiles = [
  ...[textSettings.policy, textSettings.allow, quantitySettings.leafTtl, quantitySettings.drain],
  ...[textSettings.tlsDir, textSettings.serverName, textSettings.allowedSan],
];
const switchesOfFiles = [switchSettings.allowAny, switchSettings.allowEd25519, switchSettings.allowAnyClient];

/** what was given although the gateway's files say it, as it was given */
export function saidByFiles(source: SettingSource): readonly string[] {
  return givenNames(rowsOfFiles, switchesOfFiles, source);
}

/** @throws sds-gateway-alone */
export function checkAlone(options: readonly string[]): void {
  if (options.length > 0) throw cliErrors.error('sds-gateway-alone', { options: options.join(', ') });
}

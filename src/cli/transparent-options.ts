// `--transparent PORT`: whether this machine can take redirected connections, and who may send some.
import type { Cidr } from '../names/name-types.ts';
import { settingsErrors } from '../settings/settings-errors.ts';
import { givenTexts, type GivenText, type SettingSource } from '../settings/read-settings.ts';
import { textSettings } from '../settings/text-settings.ts';
import { cliErrors } from './cli-errors.ts';
import type { Problems } from '../problems.ts';

const maxPort = 65_535;

/** Throws `setting-malformed`. */
export function parsePortSetting({ text, setting }: GivenText): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= maxPort) return port;
  throw settingsErrors.error('setting-malformed', { setting, value: text, expected: 'a port', example: '15001' });
}

export type TransparentRequest = {
  readonly source: SettingSource;
  readonly allowFrom: readonly Cidr[];
  readonly platform: NodeJS.Platform;
};

/** The port, where one is given. It is on every address, so that somebody has to say who may come. */
export function readTransparentPort(
  { source, allowFrom, platform }: TransparentRequest,
  { attempt }: Problems,
): number | undefined {
  const given = givenTexts(textSettings.transparent, source).at(-1);
  if (given === undefined) return undefined;
  return attempt(() => {
    if (platform !== 'linux') throw cliErrors.error('transparent-not-here', { setting: given.setting, platform });
    if (allowFrom.length === 0) throw cliErrors.error('transparent-unguarded', { setting: given.setting });
    return parsePortSetting(given);
  });
}

// The settings that a gateway was started with, as the note of it keeps them, so that `leafgate doctor` in another shell
// looks at that gateway and not at the defaults. Must not know what a setting means.
import { resolve } from 'node:path';
import { givenTexts, isSwitchedOn, type SettingSource } from '../settings/read-settings.ts';
import { environmentNameOf, type Setting } from '../settings/setting-types.ts';
import { settingsTable } from '../settings/settings-table.ts';
import { textSettings } from '../settings/text-settings.ts';

export type SettingValues = Readonly<Record<string, string | readonly string[] | boolean>>;

/** they say where and how it is asked, not what runs */
const ofTheCall: ReadonlySet<string> = new Set(['state', 'json', 'verbose']);
const pathPlaceholders: ReadonlySet<string> = new Set(['FILE', 'DIR']);

/** What was given with flags and variables, paths made absolute, and the address that the gateway really has. */
export function givenSettings(source: SettingSource, proxyUrl: string, cwd: string = process.cwd()): SettingValues {
  const given = settingsTable.flatMap((setting): [string, string[] | boolean][] => {
    if (ofTheCall.has(setting.name) || setting.kind === 'variable') return [];
    if (setting.kind === 'switch') return isSwitchedOn(setting, source) ? [[setting.name, true]] : [];
    const texts = givenTexts(setting, source).map(({ text }) => absolute(setting, text, cwd));
    return texts.length === 0 ? [] : [[setting.name, texts]];
  });
  return { ...Object.fromEntries(given), [textSettings.listen.name]: new URL(proxyUrl).host };
}

function absolute(setting: Setting, text: string, cwd: string): string {
  return setting.kind === 'text' && pathPlaceholders.has(setting.placeholder) ? resolve(cwd, text) : text;
}

/** a policy is chosen with one of them or with several that add up: half of somebody else's choice is neither's */
const policyNames: readonly string[] = ['policy', 'allow', 'deny', 'relay', 'tcp', 'allow-any'];

/** What the call does not give is as the gateway has it. */
export function withRunningSettings(source: SettingSource, running: SettingValues): SettingSource {
  const isGiven = (name: string): boolean => {
    return source.flag(name) !== undefined || (source.environment[environmentNameOf({ name })] ?? '') !== '';
  };
  const hasPolicy = policyNames.some(isGiven);
  return {
    environment: source.environment,
    flag: (name) => {
      if (isGiven(name) || (hasPolicy && policyNames.includes(name))) return source.flag(name);
      return running[name];
    },
  };
}

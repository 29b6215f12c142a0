// From flags and environment to values: a flag wins over the environment, the environment over the default. All
// problems are reported at once. Must not know where flags come from.
import type { DurationMs } from '../clock.ts';
import { createProblems } from '../problems.ts';
import { formatQuantity, parseQuantity, type QuantityUnit } from './quantities.ts';
import { quantitySettings, type QuantityName } from './quantity-settings.ts';
import {
  environmentNameOf,
  flagOf,
  type QuantitySetting,
  type SwitchSetting,
  type TextSetting,
} from './setting-types.ts';
import { settingsErrors } from './settings-errors.ts';

export type SettingSource = {
  /** the value or values of a flag, by its name without dashes; undefined when it was not given */
  readonly flag: (name: string) => string | readonly string[] | boolean | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
};

type ValueOf<Setting> = Setting extends QuantitySetting<'duration'> ? DurationMs : number;
export type Quantities = { readonly [Name in QuantityName]: ValueOf<(typeof quantitySettings)[Name]> };

/** A text and the name of what the person used to give it, for messages. */
export type GivenText = { readonly text: string; readonly setting: string };

/** One value in its range. Throws `setting-malformed` or `setting-out-of-range`. */
export function parseSetting<Unit extends QuantityUnit>(
  row: QuantitySetting<Unit>,
  { text, setting }: GivenText,
): ValueOf<QuantitySetting<Unit>> {
  const value = parseQuantity(text, row.unit, setting);
  if (value < row.least || value > row.most) {
    const [least, most] = [formatQuantity(row.least, row.unit), formatQuantity(row.most, row.unit)];
    throw settingsErrors.error('setting-out-of-range', { setting, value: text, least, most });
  }
  return value as ValueOf<QuantitySetting<Unit>>;
}

/** Every quantity, given or by default. Throws one error with all problems. */
export function readQuantities(source: SettingSource): Quantities {
  const { attempt, throwAny } = createProblems();
  const values = Object.entries(quantitySettings).map(([name, row]) => {
    const [given] = givenTexts(row, source);
    return [name, (given && attempt(() => parseSetting(row, given))) ?? row.default];
  });
  throwAny();
  return Object.fromEntries(values) as Quantities;
}

/** The texts given for a setting, in order; the default is for the caller, since some depend on the machine. */
export function givenTexts(row: TextSetting | QuantitySetting, source: SettingSource): readonly GivenText[] {
  const flag = source.flag(row.name);
  if (typeof flag === 'string' || Array.isArray(flag)) {
    const texts: readonly string[] = typeof flag === 'string' ? [flag] : flag;
    return texts.map((text) => ({ text, setting: flagOf(row) }));
  }
  const setting = environmentNameOf(row);
  const variable = source.environment[setting];
  if (variable === undefined || variable === '') return [];
  const texts = row.kind === 'text' && row.isRepeatable ? variable.split(',').map((text) => text.trim()) : [variable];
  return texts.map((text) => ({ text, setting }));
}

/** Which of these rows were given, as they were given: the flag, or the variable. */
export function givenNames(
  rows: readonly (TextSetting | QuantitySetting)[],
  switches: readonly SwitchSetting[],
  source: SettingSource,
): readonly string[] {
  const texts = rows.flatMap((row) => givenTexts(row, source).map(({ setting }) => setting));
  return [...new Set([...texts, ...switches.filter((row) => isSwitchedOn(row, source)).map(flagOf)])];
}

/** Throws `setting-malformed` for an environment value other than 0 and 1. */
export function isSwitchedOn(row: SwitchSetting, source: SettingSource): boolean {
  const flag = source.flag(row.name);
  if (typeof flag === 'boolean') return flag;
  const setting = environmentNameOf(row);
  const value = source.environment[setting] ?? '';
  if (value === '' || value === '0') return false;
  if (value === '1') return true;
  throw settingsErrors.error('setting-malformed', { setting, value, expected: '1 or 0', example: `${setting}=1` });
}

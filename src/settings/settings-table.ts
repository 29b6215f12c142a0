// One table of all settings, for help, README and checks of the environment. A setting that is not in it is an error.
import type { LeafgateError } from '../errors.ts';
import { formatQuantity } from './quantities.ts';
import { fixedLimits, quantitySettings } from './quantity-settings.ts';
import { environmentNameOf, flagOf, type FixedLimit, type Setting } from './setting-types.ts';
import { settingsErrors } from './settings-errors.ts';
import { switchSettings, textSettings, variableSettings } from './text-settings.ts';

export const settingsTable: readonly Setting[] = [
  ...Object.values(textSettings),
  ...Object.values(quantitySettings),
  ...Object.values(switchSettings),
  ...Object.values(variableSettings),
];

/** One line of the table as people read it; `S` can be set, `C` is a constant (design section 5). */
export type SettingLine = {
  readonly mark: 'S' | 'C';
  readonly name: string;
  readonly flag: string;
  readonly environment: string;
  readonly default: string;
  readonly range: string;
  readonly reason: string;
};

export const settingLines: readonly SettingLine[] = [
  ...settingsTable.map(lineOfSetting),
  ...Object.values(fixedLimits).map(lineOfLimit),
];

const environmentPrefix = 'LEAFGATE_';
/** belongs to the test suite, not to the product */
const testPrefix = 'LEAFGATE_TEST_';

/** Every `LEAFGATE_…` variable that no row knows: most likely a typing error, which must not pass in silence. */
export function unknownEnvironment(environment: Readonly<Record<string, string | undefined>>): LeafgateError[] {
  const known = new Set(settingsTable.map(environmentNameOf));
  return Object.keys(environment)
    .filter((name) => name.startsWith(environmentPrefix) && !name.startsWith(testPrefix) && !known.has(name))
    .map((name) => settingsErrors.error('setting-unknown', { setting: name }));
}

function lineOfSetting(setting: Setting): SettingLine {
  return {
    mark: 'S',
    name: setting.name,
    flag: flagText(setting),
    environment: environmentNameOf(setting),
    reason: setting.reason,
    ...defaultAndRange(setting),
  };
}

function flagText(setting: Setting): string {
  if (setting.kind === 'variable') return '';
  return setting.kind === 'text' ? `${flagOf(setting)} ${setting.placeholder}` : flagOf(setting);
}

function defaultAndRange(setting: Setting): { readonly default: string; readonly range: string } {
  switch (setting.kind) {
    case 'quantity': {
      const [value, least, most] = [setting.default, setting.least, setting.most].map((n) => {
        return formatQuantity(n, setting.unit);
      });
      return { default: value ?? '', range: `${least ?? ''} to ${most ?? ''}` };
    }
    case 'text':
      return { default: setting.default ?? '', range: setting.isRepeatable ? 'any number' : '' };
    case 'switch':
    case 'variable':
      return { default: 'off', range: '' };
    default:
      return setting satisfies never;
  }
}

function lineOfLimit(limit: FixedLimit): SettingLine {
  const value = formatQuantity(limit.value, limit.unit);
  return { mark: 'C', name: limit.name, flag: '', environment: '', default: value, range: '', reason: limit.reason };
}

// The shape of a row in the table of settings. Help, README, environment names and manifests are made from these rows,
// or checked against them.
import type { QuantityUnit } from './quantities.ts';

type SettingGroup =
  'listening' | 'policy' | 'destinations' | 'minting' | 'limits' | 'cluster' | 'actors' | 'files' | 'output';

/** a command that takes the setting */
export type SettingCommand =
  'up' | 'run' | 'sds' | 'controller' | 'project' | 'probe' | 'status' | 'doctor' | 'policy' | 'log' | 'env';

type SettingBase = {
  /** kebab case: the flag without its dashes, and the environment name in lower case */
  readonly name: string;
  readonly group: SettingGroup;
  readonly commands: readonly SettingCommand[];
  /** one line for people: what it does and why it has this default */
  readonly reason: string;
};

/** a number with a unit and a range, both ends included */
export type QuantitySetting<Unit extends QuantityUnit = QuantityUnit> = SettingBase & {
  readonly kind: 'quantity';
  readonly unit: Unit;
  /** in milliseconds, bytes or pieces, as are `least` and `most` */
  readonly default: number;
  readonly least: number;
  readonly most: number;
};

/** a text with a parser of its own; `default` is what is shown, absent when there is none */
export type TextSetting = SettingBase & {
  readonly kind: 'text';
  /** what stands after the flag in help, like `ADDRESS:PORT` */
  readonly placeholder: string;
  readonly default?: string;
  /** given once for each value on the command line, separated by commas in the environment */
  readonly isRepeatable: boolean;
};

/** off unless given; `1` in the environment */
export type SwitchSetting = SettingBase & { readonly kind: 'switch' };

/** given in the environment alone, never by a flag */
export type VariableSetting = SettingBase & { readonly kind: 'variable' };

export type Setting = QuantitySetting | TextSetting | SwitchSetting | VariableSetting;

/** a limit that nobody can set; it stands in the table so that people can look it up */
export type FixedLimit = {
  readonly name: string;
  readonly unit: QuantityUnit;
  readonly value: number;
  readonly reason: string;
};

export function flagOf(setting: { readonly name: string }): string {
  return `--${setting.name}`;
}

export function environmentNameOf(setting: { readonly name: string }): string {
  return `LEAFGATE_${setting.name.toUpperCase().replaceAll('-', '_')}`;
}

// Options of the command line made from the table of settings, so that help, environment and table cannot differ.
import type { Command } from 'commander';
import { Option } from 'commander';
import { throwAll } from '../problems.ts';
import type { SettingSource } from '../settings/read-settings.ts';
import type { Setting, SettingCommand } from '../settings/setting-types.ts';
import { environmentNameOf, flagOf } from '../settings/setting-types.ts';
import { settingsTable, unknownEnvironment } from '../settings/settings-table.ts';
import { formatQuantity } from '../settings/quantities.ts';
import type { Io } from './command-context.ts';

/** Adds every setting of the table that `name` takes, grouped as the table groups them. */
export function addSettingOptions(command: Command, name: SettingCommand): Command {
  for (const setting of settingsTable) {
    if (!setting.commands.includes(name) || setting.name === 'verbose' || setting.kind === 'variable') continue;
    command.addOption(optionOf(setting).helpGroup(`${titleOf(setting.group)}:`));
  }
  return command;
}

function optionOf(setting: Exclude<Setting, { kind: 'variable' }>): Option {
  const environment = environmentNameOf(setting);
  switch (setting.kind) {
    case 'switch':
      return new Option(flagOf(setting), `${setting.reason} (${environment}=1)`);
    case 'quantity': {
      const value = formatQuantity(setting.default, setting.unit);
      return new Option(`${flagOf(setting)} <${setting.unit}>`, `${setting.reason} (default ${value}, ${environment})`);
    }
    case 'text': {
      const shown = setting.default === undefined ? environment : `default ${setting.default}, ${environment}`;
      const option = new Option(`${flagOf(setting)} <${setting.placeholder}>`, `${setting.reason} (${shown})`);
      return setting.isRepeatable ? option.argParser(collect) : option;
    }
    default:
      return setting satisfies never;
  }
}

/** for options that may be given more than once */
export function collect(value: string, earlier: readonly string[] | undefined): readonly string[] {
  return [...(earlier ?? []), value];
}

/** Where the settings of one call come from; a `LEAFGATE_…` variable that no setting has is an error. */
export function settingSource(command: Command, io: Io): SettingSource {
  throwAll(unknownEnvironment(io.env));
  const values: Readonly<Record<string, unknown>> = command.opts();
  return {
    flag: (name) => {
      const value = values[camelCase(name)];
      if (typeof value === 'string' || typeof value === 'boolean') return value;
      return Array.isArray(value) ? value.map(String) : undefined;
    },
    environment: io.env,
  };
}

/** `leaf-ttl` as commander calls it: `leafTtl` */
export function camelCase(name: string): string {
  return name.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function titleOf(group: string): string {
  return `${group.charAt(0).toUpperCase()}${group.slice(1)}`;
}

// docs/settings.md, made from the table of settings; a test holds the file equal to it. Pure.
import { settingLines, type SettingLine } from '../settings/settings-table.ts';

export function settingsMarkdown(): string {
  const settable = settingLines.filter(({ mark }) => mark === 'S');
  const fixed = settingLines.filter(({ mark }) => mark === 'C');
  return [
    '# Settings and limits',
    '',
    'Each setting is a flag and an environment variable; the flag wins. A variable that begins with `LEAFGATE_` and is not in this table',
    'is an error. A repeatable flag takes its values separated by commas in the environment. What has no flag is chosen in the',
    'environment alone.',
    '',
    '| flag | environment | default | range | what it does and why |',
    '|---|---|---|---|---|',
    ...settable.map(settableRow),
    '',
    'Limits that nobody can change:',
    '',
    '| limit | value | why |',
    '|---|---|---|',
    ...fixed.map((line) => `| ${line.name} | ${line.default} | ${cell(line.reason)} |`),
    '',
  ].join('\n');
}

function settableRow(line: SettingLine): string {
  const flag = line.flag === '' ? '' : `\`${cell(line.flag)}\``;
  return `| ${flag} | \`${line.environment}\` | ${cell(line.default)} | ${line.range} | ${cell(line.reason)} |`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

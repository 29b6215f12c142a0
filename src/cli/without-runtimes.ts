// `--without KEY`: the runtimes of the table that a command gets nothing for.
import { throwAll } from '../problems.ts';
import { actorRuntimes } from '../projection/actor-runtimes.ts';
import { givenTexts, type SettingSource } from '../settings/read-settings.ts';
import { textSettings } from '../settings/text-settings.ts';
import { cliErrors } from './cli-errors.ts';

/** @throws runtime-unknown */
export function readWithout(source: SettingSource): ReadonlySet<string> {
  const known = actorRuntimes.map(({ key }) => key);
  const given = givenTexts(textSettings.without, source).flatMap(({ text, setting }) => {
    return text.split(',').map((key) => ({ key: key.trim(), setting }));
  });
  const unknown = given.filter(({ key }) => !known.includes(key));
  throwAll(
    unknown.map(({ key, setting }) => cliErrors.error('runtime-unknown', { setting, key, known: known.join(', ') })),
  );
  return new Set(given.map(({ key }) => key));
}

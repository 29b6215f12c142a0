// `--without KEY`: the runtimes of the table that a command gets nothing for.
import { LeafgateError } from '../errors.ts';
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
  const [first, ...more] = given
    .filter(({ key }) => !known.includes(key))
    .map(({ key, setting }) => cliErrors.error('runtime-unknown', { setting, key, known: known.join(', ') }));
  if (first !== undefined) throw LeafgateError.all([first, ...more]);
  return new Set(given.map(({ key }) => key));
}

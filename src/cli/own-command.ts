// How a person calls leafgate where it runs from: by its name where it is installed, through npm in a checkout, whose
// sources are TypeScript.
import { isAbsolute, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** `place` is the URL of a file two folders below that of package.json; `cwd` where the person is */
export function ownCommand(place: string = import.meta.url, cwd: string = process.cwd()): string {
  if (!place.endsWith('.ts')) return 'leafgate';
  const root = fileURLToPath(new URL('../..', place)).replace(/(.)\/$/, '$1');
  const within = relative(root, cwd);
  const isInside = within !== '..' && !within.startsWith('../') && !isAbsolute(within);
  return isInside ? 'npm run -s leafgate --' : `npm --prefix ${shellWord(root)} run -s leafgate --`;
}

function shellWord(text: string): string {
  return /^[\w./@+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

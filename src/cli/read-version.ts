// The version of this package, read from the package.json beside the sources or the build.
import { readFileSync } from 'node:fs';
import { z } from 'zod';

export function readVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return z.object({ version: z.string() }).parse(JSON.parse(text)).version;
}

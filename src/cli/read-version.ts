// The version of this package, read from the package.json beside the sources or the build.
import { readFileSync } from 'node:fs';

export function readVersion(): string {
  const parsed: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const hasVersion = typeof parsed === 'object' && parsed !== null && 'version' in parsed;
  return hasVersion ? String(parsed.version) : 'unknown';
}

// Contents for a volume whose wholeness can be told at a glance, and what a folder holds.
import { readdirSync } from 'node:fs';
import { relative, join } from 'node:path';
import type { Pem } from '../../src/x509/certificate-types.ts';

/** the name of a draft that a killed run left */
export const draftName = '.0123456789abcdef0123456789abcdef.leafgate-new';

/** A text that names its generation at both ends; the writer of a volume does not look into it. */
export function bundleOf(generation: number, size = 2000): Pem {
  return `begin ${generation}\n${'x'.repeat(size)}\nend ${generation}\n` as Pem;
}

/** The generation of a whole bundle; undefined for a part of one or for parts of two. */
export function generationOf(text: string): number | undefined {
  const found = /^begin (\d+)\nx+\nend \1\n$/.exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}

/** Relative paths of all that is below a folder, folders with a slash at their end. */
export function everythingIn(dir: string): readonly string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .map((entry) => `${relative(dir, join(entry.parentPath, entry.name))}${entry.isDirectory() ? '/' : ''}`)
    .sort();
}

// What the controller writes for the pods of a gateway, read strictly: a word that nobody reads is a wish that nobody
// fulfils. Must not know which documents there are.
import type { z } from 'zod';
import type { LeafgateError } from '../errors.ts';
import { throwAll } from '../problems.ts';
import { settingsErrors } from './settings-errors.ts';

/** `source` is what the file is called in messages. @throws sidecar-settings-malformed, with everything that is wrong */
export function readDocument<Value>(schema: z.ZodType<Value>, value: unknown, source: string): Value {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throwAll(
    parsed.error.issues.map(({ path, message }) => {
      const place = path.length === 0 ? '' : `${path.join('.')}: `;
      return malformed(source, `${place}${message}`);
    }),
  );
  throw malformed(source, 'unreadable');
}

export function malformed(source: string, detail: string): LeafgateError {
  return settingsErrors.error('sidecar-settings-malformed', { source, detail });
}

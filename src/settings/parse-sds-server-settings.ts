// Reads what the controller wrote for the SDS servers of a gateway (sds-server-settings.ts); strict, since a word that nobody
// reads is a wish that nobody fulfils.
import { z } from 'zod';
import { LeafgateError } from '../errors.ts';
import { parseDuration } from './quantities.ts';
import type { SdsClients, SdsClientsDocument, SdsServerDocument, SdsServerSettings } from './sds-server-settings.ts';
import { settingsErrors } from './settings-errors.ts';

/** `source` is what the file is called in messages. @throws sidecar-settings-malformed, with everything that is wrong */
export function parseSdsServerSettings(text: string, source: string): SdsServerSettings {
  const { leafLifetime, ...plain } = read(serverSchema, text, source);
  return { ...plain, leafLifetimeMs: parseDuration(leafLifetime, `leafLifetime in ${source}`) };
}

/** @throws sidecar-settings-malformed */
export function parseSdsClients(text: string, source: string): SdsClients {
  const document = read(clientsSchema, text, source);
  return 'any' in document ? { kind: 'any' } : { kind: 'listed', names: new Set(document.names) };
}

const path = z.string().regex(/^\//, 'not an absolute path');
const name = z.string().min(1);
const serverSchema: z.ZodType<SdsServerDocument> = z.strictObject({
  pool: z.strictObject({ secret: name, file: path }),
  tls: z.strictObject({ secret: name, dir: path, serverName: name.optional() }),
  leafLifetime: z.string(),
  allowEd25519: z.boolean(),
});
const clientsSchema: z.ZodType<SdsClientsDocument> = z.union([
  z.strictObject({ any: z.literal(true) }),
  z.strictObject({ names: z.array(name).min(1).readonly() }),
]);

function read<Value>(schema: z.ZodType<Value>, text: string, source: string): Value {
  const parsed = schema.safeParse(readJson(text, source));
  if (parsed.success) return parsed.data;
  const [first, ...more] = parsed.error.issues.map(({ path: at, message }) =>
    malformed(source, `${at.length === 0 ? '' : `${at.join('.')}: `}${message}`),
  );
  throw LeafgateError.all([first ?? malformed(source, 'unreadable'), ...more]);
}

function readJson(text: string, source: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw malformed(source, 'it is no JSON');
  }
}

function malformed(source: string, detail: string): LeafgateError {
  return settingsErrors.error('sidecar-settings-malformed', { source, detail });
}

// Reads what the controller wrote for the SDS servers of a gateway (sds-server-settings.ts); strict, since a word that nobody
// reads is a wish that nobody fulfils.
import { z } from 'zod';
import { parseDuration } from './quantities.ts';
import { malformed, readDocument } from './read-document.ts';
import type {
  AllowedClients,
  SdsClientsDocument,
  SdsServerDocument,
  SdsServerSettings,
} from './sds-server-settings.ts';

/** `source` is what the file is called in messages. @throws sidecar-settings-malformed, with everything that is wrong */
export function parseSdsServerSettings(text: string, source: string): SdsServerSettings {
  const { leafLifetime, ...plain } = read(serverSchema, text, source);
  return { ...plain, leafLifetimeMs: parseDuration(leafLifetime, `leafLifetime in ${source}`) };
}

/** @throws sidecar-settings-malformed */
export function parseSdsClients(text: string, source: string): AllowedClients {
  const document = read(clientsSchema, text, source);
  return 'any' in document ? { kind: 'any' } : { kind: 'listed', names: new Set(document.names) };
}

const path = z.string().regex(/^\//, 'not an absolute path');
const name = z.string().min(1);
const serverSchema: z.ZodType<SdsServerDocument> = z.strictObject({
  pool: z.strictObject({ secret: name, file: path }),
  channel: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('tls'), secret: name, dir: path, serverName: name.optional() }),
    z.strictObject({ kind: z.literal('plaintext'), dir: path }),
  ]),
  leafLifetime: z.string(),
  allowEd25519: z.boolean(),
});
const clientsSchema: z.ZodType<SdsClientsDocument> = z.union([
  z.strictObject({ any: z.literal(true) }),
  z.strictObject({ names: z.array(name).min(1).readonly() }),
]);

function read<Value>(schema: z.ZodType<Value>, text: string, source: string): Value {
  return readDocument(schema, readJson(text, source), source);
}

function readJson(text: string, source: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw malformed(source, 'it is no JSON');
  }
}

// Reads sidecar.yaml, which the controller wrote for the sidecar (sidecar-settings.ts); strict, since a word that nobody reads is
// a wish that nobody fulfils.
import { parse } from 'yaml';
import { z } from 'zod';
import { LeafgateError } from '../errors.ts';
import { parseListenAddress } from './parse-listen.ts';
import { parseDuration } from './quantities.ts';
import { malformed, readDocument } from './read-document.ts';
import type { SidecarDocument, SidecarSettings } from './sidecar-settings.ts';

/** `source` is what the file is called in messages. @throws sidecar-settings-malformed, with everything that is wrong */
export function parseSidecarSettings(text: string, source: string): SidecarSettings {
  const document = readDocument(documentSchema, readYaml(text, source), source);
  const { pool, remoteSds, leafLifetime, drain, proxy, serving, clientRoots, ...plain } = document;
  if ((pool === undefined) === (remoteSds === undefined))
    throw malformed(source, 'it needs pool or remoteSds, and one of them');
  return {
    ...plain,
    pool,
    remoteSds,
    proxy: parseListenAddress(proxy, `proxy in ${source}`),
    leafLifetimeMs: parseDuration(leafLifetime, `leafLifetime in ${source}`),
    drainMs: parseDuration(drain, `drain in ${source}`),
    serving,
    clientRoots,
  };
}

const path = z.string().regex(/^\//, 'not an absolute path');
const mountedFolder = { secret: z.string().min(1), dir: path };
const channelSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.enum(['tls', 'tls-unverified']), ...mountedFolder }),
  z.strictObject({ kind: z.literal('plaintext') }),
]);
const documentSchema: z.ZodType<SidecarDocument> = z.strictObject({
  pool: z.strictObject({ secret: z.string().min(1), file: path }).optional(),
  remoteSds: z.strictObject({ anchors: path, channel: channelSchema }).optional(),
  sockets: z.strictObject({ sds: path, admin: path, selfCheck: path, control: path }),
  selfCheckCa: path,
  accessLog: path,
  proxy: z.string(),
  leafLifetime: z.string(),
  allowEd25519: z.boolean(),
  drain: z.string(),
  serving: z.strictObject(mountedFolder).optional(),
  clientRoots: path.optional(),
  originCertificates: z.array(z.strictObject(mountedFolder)).readonly(),
});

function readYaml(text: string, source: string): unknown {
  try {
    return parse(text, { maxAliasCount: 0 });
  } catch (thrown) {
    const [sentence = ''] = LeafgateError.from(thrown).message.split('\n');
    throw malformed(source, sentence.replace(/:$/, ''));
  }
}

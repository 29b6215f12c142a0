// The settings of a sidecar, or of an SDS server, from the folder that a gateway's ConfigMap is mounted at.
import { join } from 'node:path';
import { readRegularFile } from '../read-regular-file.ts';
import { parseSidecarSettings } from '../settings/parse-sidecar-settings.ts';
import { podFiles } from '../settings/pod-layout.ts';
import { parseSdsServerSettings } from '../settings/parse-sds-server-settings.ts';
import type { SdsServerSettings } from '../settings/sds-server-settings.ts';
import type { SidecarSettings } from '../settings/sidecar-settings.ts';
import { cliErrors } from './cli-errors.ts';

/** a few lines, and one for each certificate for origins */
const maxSettingsBytes = 256 * 1024;

/** @throws sidecar-file-unreadable, sidecar-settings-malformed */
export function readSidecarFile(dir: string): Promise<SidecarSettings> {
  return readFileOf(dir, podFiles.sidecar, parseSidecarSettings);
}

/** The same for what its SDS servers outside of its pods are told. */
export function readSdsServerFile(dir: string): Promise<SdsServerSettings> {
  return readFileOf(dir, podFiles.sdsServer, parseSdsServerSettings);
}

async function readFileOf<Value>(
  dir: string,
  file: string,
  parse: (text: string, source: string) => Value,
): Promise<Value> {
  const path = join(dir, file);
  return parse(new TextDecoder().decode(await readGatewayFile(path, maxSettingsBytes)), path);
}

/** One of the gateway's files, whole. @throws sidecar-file-unreadable */
export async function readGatewayFile(path: string, maxBytes: number): Promise<Uint8Array> {
  const content = await readRegularFile(path, maxBytes);
  if (content.kind === 'bytes') return content.bytes;
  const detail = content.kind === 'too-large' ? `it is larger than ${maxBytes} bytes` : content.reason;
  throw cliErrors.error('sidecar-file-unreadable', { path, detail });
}

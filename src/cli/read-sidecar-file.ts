// The sidecar's settings from the folder that a gateway's ConfigMap is mounted at.
import { join } from 'node:path';
import { readRegularFile } from '../read-regular-file.ts';
import { parseSidecarSettings } from '../settings/parse-sidecar-settings.ts';
import { podFiles } from '../settings/pod-layout.ts';
import type { SidecarSettings } from '../settings/sidecar-settings.ts';
import { cliErrors } from './cli-errors.ts';

/** a few lines, and one for each certificate for origins */
const maxBytes = 256 * 1024;

/** @throws sidecar-file-unreadable, sidecar-settings-malformed */
export async function readSidecarFile(dir: string): Promise<SidecarSettings> {
  const path = join(dir, podFiles.sidecar);
  const content = await readRegularFile(path, maxBytes);
  if (content.kind === 'bytes') return parseSidecarSettings(new TextDecoder().decode(content.bytes), path);
  const detail = content.kind === 'too-large' ? `it is larger than ${maxBytes} bytes` : content.reason;
  throw cliErrors.error('sidecar-file-unreadable', { path, detail });
}

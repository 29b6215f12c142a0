// Makes a running Envoy read certificates anew and sees whether it did: it says nothing at all about a pair that it does
// not take (measured), so that what it holds is compared with what it should. Must not know what makes a certificate good.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { millis, type Clock } from '../clock.ts';
import { pause } from '../pause.ts';
import { replaceFile } from '../replace-file.ts';
import type { AdminClient } from './admin-client.ts';

export type CertificateReload = {
  readonly admin: AdminClient;
  readonly clock: Clock;
  /** the folder that Envoy watches; undefined where it sees by itself that the files have changed */
  readonly reloadDir: string | undefined;
};

/** What Envoy should hold: a secret's name, and the bytes of its certificate or of its roots. */
export type WantedSecret = { readonly secret: string; readonly text: Uint8Array };

const lookEvery = millis(100);
/** a reload takes milliseconds; a busy Envoy may need longer */
const looks = 50;

/** Whether Envoy holds what it should, within five seconds. Rejects when the reload folder cannot be written. */
export async function reloadCertificates(reload: CertificateReload, wanted: WantedSecret): Promise<boolean> {
  // Envoy looks for moves into the folder and reads no byte of what is moved
  if (reload.reloadDir !== undefined) await replaceFile(join(reload.reloadDir, 'reload'), '', 0o600);
  return waitForSecret(reload, wanted);
}

export async function waitForSecret(
  { admin, clock }: Omit<CertificateReload, 'reloadDir'>,
  wanted: WantedSecret,
): Promise<boolean> {
  const digest = digestOf(wanted.text);
  for (let look = 0; look < looks; look += 1) {
    if ((await heldSecret(admin, wanted.secret)) === digest) return true;
    await pause(clock, lookEvery);
  }
  return false;
}

/** Digest of the certificate or roots that Envoy holds under that name; undefined when it holds none or does not say. */
async function heldSecret(admin: AdminClient, secret: string): Promise<string | undefined> {
  const filter = encodeURIComponent(`^${secret.replaceAll('.', '\\.')}$`);
  const answer = await admin
    .get(`/config_dump?resource=dynamic_active_secrets&name_regex=${filter}`)
    .catch(() => undefined);
  const inline = answer?.status === 200 ? inlineBytes(answer.body) : undefined;
  return inline === undefined ? undefined : digestOf(Buffer.from(inline, 'base64'));
}

/** the first is that of the certificate, its key is not shown */
function inlineBytes(dump: string): string | undefined {
  return /"(?:certificate_chain|trusted_ca)":\s*\{\s*"inline_bytes":\s*"([A-Za-z0-9+/=]*)"/.exec(dump)?.[1];
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

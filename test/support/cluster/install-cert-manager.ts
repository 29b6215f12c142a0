// The definitions of cert-manager's Certificate and Issuer in a control plane of a test; nothing of it runs.
import { applyManifest, waitUntilServed } from './apply-manifests.ts';
import type { RawApi } from './raw-api.ts';
import { readManifests } from '../shipped-manifests.ts';

const definitionsFile = new URL('cert-manager-definitions.yaml', import.meta.url).pathname;

/** Back when objects of both kinds can be made. */
export async function installCertManager(admin: RawApi): Promise<void> {
  for (const definition of readManifests(definitionsFile)) await applyManifest(admin, definition);
  for (const kind of ['Certificate', 'Issuer']) {
    const metadata = { namespace: 'default', name: 'any' };
    await waitUntilServed(admin, { apiVersion: 'cert-manager.io/v1', kind, metadata });
  }
}

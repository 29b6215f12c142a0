// Gateways whose pods ask SDS servers over a channel that somebody chose to guard less, from the rendered files: it works as
// chosen, and says so where it is looked at.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeCurrentCa } from '../support/credential-workshop.ts';
import { describeWithMachine } from '../support/describe-with-tools.ts';
import { healthPort, whyNoPodWorld } from '../support/pod-world.ts';
import {
  remoteClientName,
  remoteServerHealth,
  remoteServerName,
  startRemotePodWorld,
  type RemotePodWorld,
} from '../support/remote-pod-world.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';

const needs = { tools: ['envoy-1.40.0', 'curl', 'ip', 'nsenter'], whyNot: whyNoPodWorld } as const;

describeWithMachine('a channel that is guarded less', needs, ({ 'envoy-1.40.0': envoy, curl }) => {
  let temp: TempFolder;
  let world: RemotePodWorld;
  beforeEach(async () => {
    temp = createTempFolder();
    world = await startRemotePodWorld(temp, { envoy, curl });
  }, 60_000);
  afterEach(async () => {
    await world.stop();
    temp.remove();
  });

  test('takes a server of any CA and name where it verifies none, which log, metric and readiness say', async () => {
    world.bring({ insecureSkipVerify: true });
    world.pod.volume('tls').update(world.secretFor('other.example', 'server', makeCurrentCa('strange')));
    world.pod.volume('sds-client').update(world.secretFor(remoteClientName, 'client'));
    const server = world.startServer();
    await world.until('ready server', async () => (await world.get(remoteServerHealth, '/readyz')) === 'ready\n');
    const { sidecar } = await world.startGateway();
    await world.until('ready pod', async () => (await world.get(healthPort, '/readyz')).startsWith('ready'));
    expect((await world.fetchThrough()).stdout).toMatch(/^secure api\.example\.com.* 200$/);
    expect(await world.get(healthPort, '/readyz')).toContain('Envoy takes any SDS server, as spec.sds.tls');
    expect(await world.get(healthPort, '/metrics')).toMatch(/^leafgate_sds_channel\{kind="tls-unverified"\} 1$/m);
    expect(sidecar.stderr()).toMatch(/"level":"warn".*"reason":"audit".*Envoy takes any SDS server/);
    // the server asks for a certificate all the same
    expect(server.stderr()).toMatch(/an SDS peer was let in/);
    expect(server.stderr()).toContain(remoteClientName);
  });

  test('is plaintext where the gateway and the servers say so, without any certificate, and both say it', async () => {
    world.bring({ enabled: false, secretName: undefined, clientSecretName: undefined, allowedSans: [] });
    const server = world.startServer({ LEAFGATE_SDS_INSECURE: 'true' });
    await world.until('ready server', async () => (await world.get(remoteServerHealth, '/readyz')).startsWith('ready'));
    const { sidecar } = await world.startGateway();
    await world.until('ready pod', async () => (await world.get(healthPort, '/readyz')).startsWith('ready'));
    expect((await world.fetchThrough()).stdout).toMatch(/^secure api\.example\.com.* 200$/);
    const channel = /^leafgate_sds_channel\{kind="plaintext"\} 1$/m;
    for (const port of [remoteServerHealth, healthPort]) {
      expect(await world.get(port, '/metrics')).toMatch(channel);
      expect(await world.get(port, '/readyz')).toMatch(/plaintext, as .*spec\.sds\.tls\.enabled says/);
    }
    expect(server.stderr()).toMatch(/"level":"warn".*"reason":"audit".*the SDS server speaks plaintext/);
    expect(sidecar.stderr()).toMatch(/"level":"warn".*"reason":"audit".*Envoy asks its SDS servers in plaintext/);
  });

  test('is none where only the gateway says plaintext: the server speaks TLS, says so, and lets no Envoy in', async () => {
    world.bring({ enabled: false });
    world.pod.volume('tls').update(world.secretFor(remoteServerName, 'server'));
    const server = world.startServer({ LEAFGATE_SDS_INSECURE: 'true' });
    await world.until('ready server', async () => (await world.get(remoteServerHealth, '/readyz')).startsWith('ready'));
    expect(await world.get(remoteServerHealth, '/readyz')).toContain('ask in plaintext: none of them is let in');
    await world.startGateway();
    const refused = /^leafgate_sds_peers_refused_total\{reason="not-tls"\} [1-9]/m;
    await world.until('refused peer', async () => refused.test(await world.get(remoteServerHealth, '/metrics')));
    expect(await world.get(healthPort, '/readyz')).toMatch(/^not ready/);
    expect(server.stderr()).toMatch(/"level":"error".*mutual TLS is spoken, since its files are there/);
    expect((await world.fetchThrough()).stdout).not.toMatch(/ 200$/);
  });
});

// Gateways whose pods ask SDS servers over a channel that somebody chose to guard less, from the rendered files: it works as
// chosen, and says so where it is looked at.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeCurrentCa } from '../support/credential-workshop.ts';
import { describeWithMachine } from '../support/describe-with-tools.ts';
import { healthPort, whyNoPodWorld } from '../support/pod-world.ts';
import {
  remoteClientName,
  remoteServerHealth,
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
});

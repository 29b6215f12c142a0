// A gateway whose pods have no pool, from the rendered files: a real Envoy and the sidecar beside it ask an SDS server of its own
// by TCP with mutual TLS. Who may connect is followed, and what readiness says is what clients see.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWithMachine } from '../support/describe-with-tools.ts';
import { healthPort, whyNoPodWorld } from '../support/pod-world.ts';
import {
  remoteClientName,
  remoteServerHealth,
  remoteServerName,
  startRemotePodWorld,
  type RemotePodWorld,
} from '../support/remote-pod-world.ts';
import type { StartedProcess } from '../support/run-command.ts';
import { createTempFolder } from '../support/temp-folder.ts';

const needs = { tools: ['envoy-1.40.0', 'curl', 'ip', 'nsenter'], whyNot: whyNoPodWorld } as const;

describeWithMachine('a gateway whose pods have no pool', needs, ({ 'envoy-1.40.0': envoy, curl }) => {
  const temp = createTempFolder();
  let world: RemotePodWorld;
  let server: StartedProcess;
  const bring = (allowedSans: readonly string[]): void => world.bring({ allowedSans });

  beforeAll(async () => {
    world = await startRemotePodWorld(temp, { envoy, curl });
    world.pod.volume('tls').update(world.secretFor(remoteServerName, 'server'));
    world.pod.volume('sds-client').update(world.secretFor(remoteClientName, 'client'));
    bring(['nobody.example']);
    server = world.startServer();
    await world.until('ready server', async () => (await world.get(remoteServerHealth, '/readyz')) === 'ready\n');
    await world.startGateway();
  }, 90_000);
  afterAll(async () => {
    await world.stop();
    temp.remove();
  });

  test('is not ready while its Envoy is not on the list, and the server says who knocked', async () => {
    await world.until('refused peer', () =>
      Promise.resolve(/not-listed.*an SDS peer was not let in/.test(server.stderr())),
    );
    expect(server.stderr()).toContain(remoteClientName);
    expect(await world.get(healthPort, '/readyz')).toMatch(/^not ready/);
  });

  test('serves its clients once the list has its Envoy, without a restart of anything', async () => {
    bring([remoteClientName]);
    await world.until('ready pod', async () => (await world.get(healthPort, '/readyz')) === 'ready\n');
    expect((await world.fetchThrough()).stdout).toMatch(/^secure api\.example\.com.* 200$/);
    const channel = /^leafgate_sds_channel\{kind="tls"\} 1$/m;
    expect(await world.get(remoteServerHealth, '/metrics')).toMatch(channel);
    expect(await world.get(healthPort, '/metrics')).toMatch(channel);
  });

  test('loses its connection at once when the list no longer has it, and Envoy serves what it holds', async () => {
    bring(['nobody.example']);
    await world.until('end of the connection', () =>
      Promise.resolve(/connection of an SDS peer was ended/.test(server.stderr())),
    );
    expect((await world.fetchThrough()).stdout).toMatch(/ 200$/);
    bring([remoteClientName]);
    const admitted = /^leafgate_sds_peers_admitted_total\{by="dns"\} [2-9]/m;
    await world.until('other connection', async () => admitted.test(await world.get(remoteServerHealth, '/metrics')));
  });
});

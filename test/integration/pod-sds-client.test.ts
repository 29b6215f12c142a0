// A pod without a pool whose Envoy shows a certificate that is no good: the sidecar names what is wrong where Envoy only fails to
// connect, follows the Secret, and sees that a real Envoy holds what it should.
import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hours, plus } from '../../src/clock.ts';
import { makeCa, type MadeCa } from '../support/ca-workshop.ts';
import { caPem, hoursAgo, issueCredential } from '../support/credential-workshop.ts';
import { describeWithMachine } from '../support/describe-with-tools.ts';
import type { MountedVolume } from '../support/mounted-volume.ts';
import { healthPort, whyNoPodWorld } from '../support/pod-world.ts';
import {
  remoteClientName,
  remoteServerName,
  startRemotePodWorld,
  type RemotePodWorld,
} from '../support/remote-pod-world.ts';
import type { StartedProcess } from '../support/run-command.ts';
import { createTempFolder } from '../support/temp-folder.ts';

const needs = { tools: ['envoy-1.40.0', 'curl', 'ip', 'nsenter'], whyNot: whyNoPodWorld } as const;

describeWithMachine('the certificate that a pod without a pool shows', needs, ({ 'envoy-1.40.0': envoy, curl }) => {
  const temp = createTempFolder();
  let world: RemotePodWorld;
  let sidecar: StartedProcess;
  let shown: MountedVolume;
  let served: MountedVolume;
  let server: StartedProcess;
  const expired = (): Record<string, string> => {
    const request = { dnsNames: [remoteClientName], purposes: ['client'], notAfter: hoursAgo(1) } as const;
    const { certificatePem, keyPem } = issueCredential(world.channelCa, request);
    return { 'tls.crt': certificatePem, 'tls.key': keyPem, 'ca.crt': caPem(world.channelCa) };
  };
  const readiness = (): Promise<string> => world.get(healthPort, '/readyz');
  const isSaid = (text: RegExp) => (): Promise<boolean> => Promise.resolve(text.test(sidecar.stderr()));

  beforeAll(async () => {
    world = await startRemotePodWorld(temp, { envoy, curl });
    world.bring({ allowedSans: [remoteClientName] });
    served = world.pod.volume('tls');
    served.update(world.secretFor(remoteServerName, 'server'));
    shown = world.pod.volume('sds-client');
    shown.update(expired());
    server = world.startServer();
    ({ sidecar } = await world.startGateway());
  }, 90_000);
  afterAll(async () => {
    await world.stop();
    temp.remove();
  });

  test('is named at the start, in log and readiness, where it has expired', async () => {
    const named =
      /the certificate for the SDS servers \/etc\/leafgate\/sds-client\/tls\.crt has a certificate that expired at/;
    await world.until('the word', isSaid(named));
    expect(await readiness()).toMatch(/^not ready/);
    expect(await readiness()).toMatch(named);
  });

  test('is taken when it is good, and nothing is left to say', async () => {
    const good = world.secretFor(remoteClientName, 'client');
    shown.update(good);
    await world.until('a ready pod', async () => (await readiness()) === 'ready\n');
    const end = new X509Certificate(good['tls.crt'] ?? '').validToDate.getTime() / 1000;
    expect(await world.get(healthPort, '/metrics')).toContain(
      `leafgate_sds_client_not_after_seconds{of="leaf"} ${end}\n`,
    );
    expect((await world.fetchThrough()).stdout).toMatch(/ 200$/);
  });

  test('may be as cert-manager makes it: without a subject, and of a CA that was renewed with its key', async () => {
    const { subjectDer, notAfter } = world.channelCa.certificate;
    const renewed = makeCa({
      key: world.channelCa.key,
      subjectDer,
      notBefore: hoursAgo(1),
      notAfter: plus(notAfter, hours(1)),
    });
    const side = (name: string, purpose: 'client' | 'server', ca: MadeCa): Record<string, string> => {
      const request = { dnsNames: [name], purposes: [purpose], subjectDer: Buffer.from([0x30, 0]) };
      const { certificatePem, keyPem } = issueCredential(ca, request);
      return { 'tls.crt': certificatePem, 'tls.key': keyPem, 'ca.crt': caPem(ca) };
    };
    await server.stop();
    // the one side has heard of the renewal, the other has not
    served.update(side(remoteServerName, 'server', renewed));
    shown.update(side(remoteClientName, 'client', world.channelCa));
    server = world.startServer();
    await world.until('a peer', () => Promise.resolve(/an SDS peer was let in/.test(server.stderr())));
    await world.until('a ready pod', async () => (await readiness()) === 'ready\n');
  });

  test('and its CAs are seen to be in Envoy when they are renewed; a bad one is refused aloud and named', async () => {
    shown.update(world.secretFor(remoteClientName, 'client'));
    await world.until('the word', isSaid(/"path":"\/etc\/leafgate\/sds-client\/tls\.crt".*certificates taken/));
    shown.update({ ...world.secretFor(remoteClientName, 'client'), 'ca.crt': caPem(world.channelCa).repeat(2) });
    await world.until('the word', isSaid(/"path":"\/etc\/leafgate\/sds-client\/ca\.crt".*certificates taken/));
    expect(await readiness()).toBe('ready\n');
    shown.update(expired());
    await world.until('the reason', async () =>
      /^ready\n.*Envoy follows its files by itself, .*expired at/.test(await readiness()),
    );
    expect(await world.get(healthPort, '/metrics')).toMatch(
      /^leafgate_certificate_reloads_total\{of="sds-client",taken="no"\} [1-9]/m,
    );
  });
});

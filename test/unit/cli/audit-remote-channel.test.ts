// What a gateway's pod says of its channel to SDS servers outside of it.
import { expect, test } from 'vitest';
import { auditRemoteChannel } from '../../../src/cli/audit-remote-channel.ts';
import { createClosers } from '../../../src/cli/closers.ts';
import { minutes } from '../../../src/clock.ts';
import { createMetrics } from '../../../src/observe/create-metrics.ts';
import type { RemoteChannel } from '../../../src/settings/sidecar-settings.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { recordingLog } from '../../support/recording-log.ts';

function audit(channel: RemoteChannel) {
  const parts = {
    ...{ clock: createFakeClock(), closers: createClosers(), metrics: createMetrics({ withProcessMetrics: false }) },
    ...recordingLog(),
  };
  return { ...parts, reasons: auditRemoteChannel(channel, parts) };
}

const folder = { secret: 'sds-client', dir: '/etc/leafgate/sds-client' };

test('a channel that verifies both sides is a metric, and nothing to talk about', async () => {
  const { clock, lines, metrics, reasons } = audit({ kind: 'tls', ...folder });
  clock.advance(minutes(60));
  expect([lines, reasons()]).toEqual([[], []]);
  expect(await metrics.render()).toContain('leafgate_sds_channel{kind="tls"} 1');
});

test.each<[string, RemoteChannel, string, string]>([
  [
    'that verifies no server',
    { kind: 'tls-unverified', ...folder },
    'Envoy takes any SDS server',
    'spec.sds.tls.insecureSkipVerify',
  ],
  ['in plaintext', { kind: 'plaintext' }, 'Envoy asks its SDS servers in plaintext', 'spec.sds.tls.enabled'],
])(
  'a channel %s is warned about at the start and every ten minutes, until the end',
  async (_, channel, fact, choice) => {
    const { clock, lines, metrics, reasons, closers } = audit(channel);
    expect(lines).toMatchObject([{ level: 'warn', sentence: expect.stringContaining(`${fact}: whoever `) as string }]);
    expect(lines[0]?.fields).toEqual({ reason: 'audit', detail: `chosen by ${choice}` });
    clock.advance(minutes(20));
    expect(lines).toHaveLength(3);
    expect(reasons()).toEqual([`${fact}, as ${choice} says`]);
    const text = await metrics.render();
    expect(text).toContain(`leafgate_sds_channel{kind="${channel.kind}"} 1`);
    expect(text).toContain('leafgate_sds_channel{kind="tls"} 0');
    await closers.closeAll(() => undefined);
    expect(clock.pendingTimers()).toBe(0);
  },
);

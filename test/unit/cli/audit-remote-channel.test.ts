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

test('a channel that verifies no server is warned about at the start and every ten minutes, until the end', async () => {
  const { clock, lines, metrics, reasons, closers } = audit({ kind: 'tls-unverified', ...folder });
  expect(lines).toMatchObject([
    {
      level: 'warn',
      sentence: 'Envoy takes any SDS server: whoever answers in its place gives out the keys of leaves',
      fields: { reason: 'audit', detail: 'chosen by spec.sds.tls.insecureSkipVerify', path: folder.dir },
    },
  ]);
  clock.advance(minutes(20));
  expect(lines).toHaveLength(3);
  expect(reasons()).toEqual(['Envoy takes any SDS server, as spec.sds.tls.insecureSkipVerify says']);
  const text = await metrics.render();
  expect(text).toContain('leafgate_sds_channel{kind="tls-unverified"} 1');
  expect(text).toContain('leafgate_sds_channel{kind="tls"} 0');
  await closers.closeAll(() => undefined);
  expect(clock.pendingTimers()).toBe(0);
});

// What the controller tells, again and again, of gateways whose channel guards less than it could.
import { beforeEach, describe, expect, test } from 'vitest';
import { minutes } from '../../../src/clock.ts';
import { auditChannels, countChannels, type ChannelAudit } from '../../../src/controller/audit-channels.ts';
import type { EgressGatewayStatus } from '../../../src/settings/egress-gateway-types.ts';
import { createFakeClock, type FakeClock } from '../../support/fake-clock.ts';
import { recordingLog, type LoggedLine } from '../../support/recording-log.ts';

function statusWith(reason: string): EgressGatewayStatus {
  const condition = { type: 'TLSConfigured', status: 'True', reason, message: '', lastTransitionTime: '' } as const;
  return { conditions: [condition] };
}

describe('the audit of channels', () => {
  let clock: FakeClock;
  let lines: LoggedLine[];
  let audit: ChannelAudit;
  beforeEach(() => {
    clock = createFakeClock();
    const recorded = recordingLog();
    lines = recorded.lines;
    audit = auditChannels({ clock, log: recorded.log });
  });
  const told = (): readonly unknown[] => lines.splice(0).map(({ level, fields }) => [level, fields]);
  const line = (gateway: string): unknown => ['warn', { reason: 'audit', gateway }];

  test('warns of a gateway that verifies no server when it is seen, once, and every ten minutes', () => {
    audit.seen('egress/a', statusWith('InsecureSkipVerify'));
    audit.seen('egress/a', statusWith('InsecureSkipVerify'));
    expect(lines[0]?.sentence).toContain('Envoy takes any SDS server');
    expect(told()).toEqual([line('egress/a')]);
    clock.advance(minutes(10) - 1);
    expect(told()).toEqual([]);
    clock.advance(1);
    expect(told()).toEqual([line('egress/a')]);
    clock.advance(minutes(10));
    expect(told()).toEqual([line('egress/a')]);
  });

  test('warns of plaintext in a line of its own', () => {
    audit.seen('egress/a', statusWith('ExplicitlyDisabled'));
    audit.seen('egress/b', statusWith('InsecureSkipVerify'));
    expect(lines.splice(0)[0]?.sentence).toContain('Envoy asks its SDS servers in plaintext');
    clock.advance(minutes(10));
    expect(told()).toEqual([line('egress/a'), line('egress/b')]);
  });

  test('has all of them in one line, and some names of very many', () => {
    for (let index = 0; index < 25; index += 1) audit.seen(`egress/gw-${index}`, statusWith('InsecureSkipVerify'));
    expect(told()).toHaveLength(25);
    clock.advance(minutes(10));
    const [[, fields] = []] = told() as readonly (readonly [string, { gateway: string }])[];
    expect(fields?.gateway).toMatch(/^egress\/gw-0, egress\/gw-1, .*, egress\/gw-19, and 5 more$/);
  });

  test.each([
    ['is gone', undefined],
    ['is verified', statusWith('Enabled')],
  ])('is silent of a gateway that %s', (_, status) => {
    audit.seen('egress/a', statusWith('InsecureSkipVerify'));
    audit.seen('egress/a', status);
    told();
    clock.advance(minutes(30));
    expect(told()).toEqual([]);
  });

  test('ends when it is closed', () => {
    audit.seen('egress/a', statusWith('InsecureSkipVerify'));
    audit.close();
    expect(clock.pendingTimers()).toBe(0);
  });
});

test('gateways are counted by the kind of their channel, as their condition says', () => {
  const reasons = ['UnixSocket', 'Enabled', 'Enabled', 'InsecureSkipVerify', 'ExplicitlyDisabled', 'SecretNotFound'];
  const counts = countChannels([...reasons.map(statusWith), { conditions: [] }]);
  expect(Object.fromEntries(counts)).toEqual({
    ...{ 'unix-socket': 1, tls: 2, 'tls-unverified': 1, plaintext: 1, none: 1 },
  });
  expect([...countChannels([]).values()]).toEqual([0, 0, 0, 0, 0]);
});

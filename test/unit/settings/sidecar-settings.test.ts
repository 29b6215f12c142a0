import { describe, expect, test } from 'vitest';
import { hours, seconds } from '../../../src/clock.ts';
import { LeafgateError } from '../../../src/errors.ts';
import { parseListenAddress } from '../../../src/settings/parse-listen.ts';
import { parseSidecarSettings } from '../../../src/settings/parse-sidecar-settings.ts';
import {
  mountedOriginSecrets,
  renderSidecarSettings,
  type SidecarSettings,
} from '../../../src/settings/sidecar-settings.ts';

const plain: SidecarSettings = {
  pool: { secret: 'gateway-ca-pool', file: '/etc/leafgate/pool/pool' },
  remoteSds: undefined,
  sockets: { sds: '/run/s', admin: '/run/a', selfCheck: '/run/c', control: '/run/d' },
  selfCheckCa: '/run/ca.pem',
  accessLog: '/var/log/leafgate/access.json',
  proxy: parseListenAddress('127.0.0.1:3128'),
  leafLifetimeMs: hours(1),
  allowEd25519: false,
  drainMs: seconds(25),
  serving: undefined,
  clientRoots: undefined,
  originCertificates: [],
};
const whole: SidecarSettings = {
  ...plain,
  allowEd25519: true,
  serving: { secret: 'yes', dir: '/etc/serving' },
  clientRoots: '/etc/clients.pem',
  originCertificates: [{ secret: '123', dir: '/etc/origin/123' }],
};

const remote: SidecarSettings = {
  ...plain,
  pool: undefined,
  remoteSds: {
    anchors: '/etc/anchors.pem',
    channel: { kind: 'tls-unverified', secret: 'sds-client', dir: '/etc/leafgate/sds-client' },
  },
};

const inClear: SidecarSettings = {
  ...remote,
  remoteSds: { anchors: '/etc/anchors.pem', channel: { kind: 'plaintext' } },
};

test.each([
  ['a plain gateway', plain],
  ['a gateway with everything on', whole],
  ['a gateway whose pods have no pool', remote],
  ['one of them that asks in plaintext', inClear],
])('what the controller writes for %s is what the sidecar reads', (_name, settings) => {
  expect(parseSidecarSettings(renderSidecarSettings(settings), 'sidecar.yaml')).toEqual(settings);
});

test('the Secrets with certificates for origins are found again in what was written', () => {
  expect([...mountedOriginSecrets(renderSidecarSettings(whole))]).toEqual(['123']);
  expect([...mountedOriginSecrets(renderSidecarSettings(plain))]).toEqual([]);
});

test.each(['', 'other: 1\n', '[]', '{"originCertificates": 1}', '{"originCertificates": [1, {}, {"secret": 2}]}'])(
  'what is something else names none: %s',
  (text) => expect([...mountedOriginSecrets(text)]).toEqual([]),
);

describe('a file that is not what it should be is refused with what is wrong in it', () => {
  const text = renderSidecarSettings(plain);
  test.each([
    ['neither a pool nor a server of its own', text.replace(/^ "pool": \{[^}]*\},\n/m, ''), /pool or remoteSds/],
    ['an unknown key', text.replace(/\}\n$/, ', "surprise": true }'), /Unrecognized key: "surprise"/],
    ['an unknown key below', text.replace('"control":', '"surprise": "/x", "control":'), /sockets: Unrecognized key/],
    ['a missing key', text.replace(/^ "accessLog".*\n/m, ''), /accessLog: /],
    ['a relative path', text.replace('/run/s', 'run/s'), /sockets\.sds: not an absolute path/],
    ['a duration without a unit', text.replace('"1h"', '"1"'), /leafLifetime in sidecar\.yaml/],
    ['no YAML', `${text}  : [`, /cannot be used/],
    ['an alias', text.replace('"/run/ca.pem"', '&a "/run/ca.pem", "more": *a'), /cannot be used/],
    ['nothing', '', /cannot be used/],
  ])('%s', (_name, broken, message) => {
    const thrown = thrownBy(() => parseSidecarSettings(broken, 'sidecar.yaml'));
    expect([thrown.message, ...thrown.problems.map((problem) => problem.message)].join('\n')).toMatch(message);
    expect(thrown.exitCode).toBe(2);
  });

  test('all that is wrong is told at once', () => {
    const broken = text.replace('/run/s', 'run/s').replace('/run/a', 'run/a');
    expect(thrownBy(() => parseSidecarSettings(broken, 'sidecar.yaml')).problems).toHaveLength(2);
  });
});

function thrownBy(call: () => unknown): LeafgateError {
  try {
    call();
  } catch (thrown) {
    return LeafgateError.from(thrown);
  }
  throw new Error('nothing was thrown');
}

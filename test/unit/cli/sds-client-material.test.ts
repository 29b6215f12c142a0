// What the sidecar of a pod without a pool says of the certificate that its Envoy shows to the SDS servers, and of their CAs.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createClosers, type Closers } from '../../../src/cli/closers.ts';
import { followPodMaterial } from '../../../src/cli/pod-material.ts';
import { days, minutes, seconds, systemClock } from '../../../src/clock.ts';
import type { AdminClient } from '../../../src/envoy/admin-client.ts';
import { createMetrics, type Metrics } from '../../../src/observe/create-metrics.ts';
import type { RemoteChannel, SidecarSettings } from '../../../src/settings/sidecar-settings.ts';
import { readCertificate } from '../../../src/x509/read-certificate.ts';
import { writeChannelFiles, type ChannelFiles } from '../../support/channel-workshop.ts';
import { hoursAgo, issueCredential, makeCurrentCa } from '../../support/credential-workshop.ts';
import { createFakeClock, type FakeClock } from '../../support/fake-clock.ts';
import { recordingLog } from '../../support/recording-log.ts';
import { clientFilesOf } from '../../support/remote-sds.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';
import { waitFor } from '../../support/wait-for.ts';

/** holds whatever it is asked for */
let held: string;
const admin: AdminClient = {
  get: () => Promise.resolve({ status: 200, body: `{"certificate_chain": {"inline_bytes": "${btoa(held)}"}}` }),
  post: () => Promise.reject(new Error('nothing is posted')),
  readStats: () => Promise.reject(new Error('nothing is counted')),
};

describe('what Envoy shows to SDS servers outside of the pod', () => {
  const ca = makeCurrentCa('channel');
  let temp: TempFolder;
  let clock: FakeClock;
  let metrics: Metrics;
  let closers: Closers;
  let said: ReturnType<typeof recordingLog>;
  let troubles: () => readonly string[];
  beforeEach(() => {
    temp = createTempFolder();
    clock = createFakeClock(systemClock.now());
    metrics = createMetrics({ withProcessMetrics: false });
    closers = createClosers();
    said = recordingLog();
    held = '';
  });
  afterEach(async () => {
    await closers.closeAll(() => undefined);
    expect(clock.pendingTimers()).toBe(0);
    temp.remove();
  });

  const follow = (kind: RemoteChannel['kind'] = 'tls'): void => {
    const channel = { kind, secret: 'sds-client', dir: temp.file('sds-client') };
    const settings = { remoteSds: { anchors: '/anchors.pem', channel }, originCertificates: [] };
    const parts = { ...said, clock, metrics, closers, admin, settings: settings as unknown as SidecarSettings };
    ({ troubles } = followPodMaterial(parts));
  };
  const write = (files: Partial<ChannelFiles>): void => writeChannelFiles(temp.file('sds-client'), files);
  const passUntil = (what: string, isSo: () => boolean | Promise<boolean>): Promise<unknown> =>
    waitFor(what, () => {
      clock.advance(seconds(1));
      return isSo();
    });
  const sample = async (of: 'leaf' | 'ca'): Promise<number> => {
    const [, value] =
      new RegExp(`leafgate_sds_client_not_after_seconds\\{of="${of}"\\} (.*)`).exec(await metrics.render()) ?? [];
    return Number(value);
  };
  const sentences = (): readonly string[] => said.lines.map(({ sentence }) => sentence);

  test('is no trouble where it is good, and a metric says when both ends come', async () => {
    const files = clientFilesOf(ca);
    write(files);
    follow();
    await passUntil('the dates', async () => (await sample('leaf')) > 0 && (await sample('ca')) > 0);
    expect([await sample('leaf'), await sample('ca')]).toEqual(
      [files['tls.crt'], files['ca.crt']].map((pem) => readCertificate(derOf(pem)).notAfter / 1000),
    );
    expect([troubles(), sentences()]).toEqual([[], []]);
  });

  const other = issueCredential(ca, {});
  test.each<[string, Partial<ChannelFiles>, RegExp]>([
    [
      'a certificate that has expired',
      client({ notAfter: hoursAgo(1) }),
      /tls\.crt has a certificate that expired at /,
    ],
    ['one that is not valid yet', client({ notBefore: hoursAgo(-1), notAfter: hoursAgo(-2) }), /tls\.crt has .*valid/],
    ['one for servers', client({ purposes: ['server'] }), /tls\.crt has a certificate that is not for clientAuth/],
    ['another key', { 'tls.key': other.keyPem }, /tls\.key is not the key of the first certificate in .*tls\.crt/],
    [
      'old, and of another key',
      { ...client({ notAfter: hoursAgo(1) }), 'tls.key': other.keyPem },
      /expired at .* \(and 1 more\)$/,
    ],
    ['no certificate', { 'tls.crt': 'none' }, /tls\.crt/],
    ['no CA that is valid', { 'ca.crt': other.certificatePem }, /ca\.crt has no CA certificate that is valid now/],
  ])('is named where it is %s, until it is good', async (_, bad, named) => {
    const good = clientFilesOf(ca);
    write({ ...good, ...bad });
    follow();
    await passUntil('a trouble', () => troubles().length > 0);
    expect(troubles()).toEqual([expect.stringMatching(named)]);
    expect(troubles()[0]).toMatch(/^the (certificate for|CAs of) the SDS servers /);
    const [line] = said.lines;
    expect(line).toMatchObject({ level: 'error', sentence: 'mounted certificates are no good' });
    expect(troubles()[0]).toContain(line?.fields.detail);
    write(good);
    await passUntil('no trouble', async () => troubles().length === 0 && (await sample('leaf')) > 0);
  });

  test('is named where a file is missing', async () => {
    write(client({}));
    follow();
    await passUntil('a trouble', () => troubles().length > 0);
    expect(troubles()).toEqual([expect.stringMatching(/ca\.crt cannot be read: no such file/)]);
  });

  test('is followed: a bad one is named, a good one good one is looked for in Envoy', async () => {
    write(clientFilesOf(ca));
    follow();
    await passUntil('the dates', async () => (await sample('ca')) > 0);
    write(client({ notAfter: hoursAgo(1) }));
    await passUntil('a trouble', () => troubles().length > 0);
    expect(troubles()).toEqual([
      expect.stringMatching(/^Envoy follows its files by itself, and they are no good: .* expired at /),
    ]);
    const next = clientFilesOf(ca);
    held = next['tls.crt'];
    write({ 'tls.crt': next['tls.crt'], 'tls.key': next['tls.key'] });
    await passUntil('the word', () => sentences().includes('certificates taken'));
    expect(troubles()).toEqual([]);
    expect(await metrics.render()).toContain('leafgate_certificate_reloads_total{of="sds-client",taken="yes"} 1');
  });

  test('is warned about before it ends', async () => {
    write(client({ notBefore: hoursAgo(24 * 89), notAfter: hoursAgo(-24) }, clientFilesOf(ca)));
    follow();
    await passUntil('a warning', () => sentences().length > 0);
    expect(said.lines[0]).toMatchObject({
      ...{ level: 'warn', sentence: 'a certificate of the channel to the SDS servers will end' },
      fields: { path: temp.file('sds-client/tls.crt') },
    });
    clock.advance(minutes(30));
    expect(said.lines).toHaveLength(1);
    clock.advance(days(2));
    await passUntil('a trouble', () => troubles().some((text) => /expired at/.test(text)));
  });

  test('is not looked at where it is not mounted, which is said once', () => {
    follow();
    clock.advance(minutes(30));
    expect(said.lines).toMatchObject([
      {
        level: 'warn',
        sentence: 'what Envoy shows to the SDS servers is not mounted into the sidecar too, and not looked at',
        fields: { path: temp.file('sds-client') },
      },
    ]);
    expect(troubles()).toEqual([]);
  });

  test('has no CAs to be judged where Envoy verifies no server', async () => {
    write({ ...clientFilesOf(ca), 'ca.crt': 'none' });
    follow('tls-unverified');
    await passUntil('the date', async () => (await sample('leaf')) > 0);
    clock.advance(minutes(2));
    expect([troubles(), await sample('ca')]).toEqual([[], 0]);
  });

  function client(
    request: Parameters<typeof issueCredential>[1],
    rest: Partial<ChannelFiles> = {},
  ): Partial<ChannelFiles> {
    const pair = issueCredential(ca, { dnsNames: ['envoy.channel.test'], purposes: ['client'], ...request });
    return { ...rest, 'tls.crt': pair.certificatePem, 'tls.key': pair.keyPem };
  }
});

function derOf(pem: string): Buffer {
  return Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64');
}

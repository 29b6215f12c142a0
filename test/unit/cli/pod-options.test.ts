import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readPodOptions, type PodOptions } from '../../../src/cli/pod-options.ts';
import { renderGateway } from '../../../src/controller/render-gateway.ts';
import { LeafgateError } from '../../../src/errors.ts';
import type { SettingSource } from '../../../src/settings/read-settings.ts';
import { egressGateway } from '../../support/egress-gateway.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';

let folder: TempFolder;
beforeEach(() => {
  folder = createTempFolder();
  const files = renderGateway({ gateway: egressGateway(), originRootsPem: '', clientRootsPem: undefined });
  writeFileSync(folder.file('sidecar.yaml'), files.data['sidecar.yaml'] ?? '');
});
afterEach(() => folder.remove());

type Given = {
  readonly flags?: Readonly<Record<string, string>>;
  readonly environment?: Readonly<Record<string, string>>;
};

function read({ flags = {}, environment = {} }: Given = {}, alone: readonly string[] = []): Promise<PodOptions> {
  const source: SettingSource = { flag: (name) => flags[name], environment };
  return readPodOptions(folder.path, source, alone);
}

async function refusal(reading: Promise<unknown>): Promise<string> {
  const error = await reading.then(
    () => new Error('it was taken'),
    (thrown: unknown) => LeafgateError.from(thrown),
  );
  const problems = error instanceof LeafgateError ? error.problems : [];
  return [error, ...problems].map(({ message }) => message).join('\n');
}

test('the files say how long leaves live, the environment how many names are held', async () => {
  const { settings, quantities } = await read({ environment: { LEAFGATE_MAX_LIVE_NAMES: '7' } });
  expect(settings.pool?.file).toBe('/etc/leafgate/pool/pool');
  expect(quantities).toMatchObject({ leafTtl: 3_600_000, maxLiveNames: 7 });
});

test('metrics may be served to other machines of the cluster: the kubelet is one', async () => {
  const { metrics } = await read({ flags: { metrics: '0.0.0.0:8081' } });
  expect(metrics).toEqual({ kind: 'tcp', address: '0.0.0.0', port: 8081 });
});

describe('what the files say cannot be said otherwise', () => {
  test.each([
    [{ flags: { policy: 'p.yaml' } }, [], /^--policy cannot/],
    [{ environment: { LEAFGATE_LEAF_TTL: '2h' } }, [], /^LEAFGATE_LEAF_TTL cannot/],
    [{ environment: { LEAFGATE_ALLOW_ED25519: '1' } }, [], /^--allow-ed25519 cannot/],
    [{}, ['--pool', '--listen'], /^--pool, --listen cannot/],
  ])('%j %j', async (given, alone, message) => {
    expect(await refusal(read(given, alone))).toMatch(message);
  });
});

test('all that is wrong is told at once', async () => {
  writeFileSync(folder.file('sidecar.yaml'), 'surprise: 1\n');
  const told = await refusal(read({ flags: { policy: 'p', 'max-live-names': 'x' } }));
  expect(told).toMatch(/--policy cannot/);
  expect(told).toMatch(/--max-live-names is "x"/);
  expect(told).toMatch(/Unrecognized key: "surprise"/);
});

test('a folder without the file is named', async () => {
  const missing = readPodOptions('/nowhere', { flag: () => undefined, environment: {} }, []);
  expect(await refusal(missing)).toBe('/nowhere/sidecar.yaml cannot be read: no such file or folder');
});

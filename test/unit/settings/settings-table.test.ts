// One table: every row reads its own default, names are unique, and constants equal what the rooms hold.
import { describe, expect, it } from 'vitest';
import { defaultMintSettings, longestLeafMs, shortestLeafMs, ttlMarginMs } from '../../../src/mint/mint-settings.ts';
import { maxNameBytes } from '../../../src/names/parse-host-name.ts';
import { maxPoolBytes, maxPoolCas } from '../../../src/pool/pool-document.ts';
import { defaultSdsSettings, maxStreamsPerConnection } from '../../../src/sds/sds-settings.ts';
import { formatQuantity } from '../../../src/settings/quantities.ts';
import { fixedLimits, quantitySettings } from '../../../src/settings/quantity-settings.ts';
import { parseSetting, readQuantities } from '../../../src/settings/read-settings.ts';
import { environmentNameOf, flagOf } from '../../../src/settings/setting-types.ts';
import {
  settingLines,
  settingsTable,
  unknownEnvironment,
  type SettingLine,
} from '../../../src/settings/settings-table.ts';

const rows = Object.values(quantitySettings);

describe('the table of settings', () => {
  it('has each flag and each environment name once', () => {
    expect(new Set(settingsTable.map(flagOf)).size).toBe(settingsTable.length);
    expect(new Set(settingsTable.map(environmentNameOf)).size).toBe(settingsTable.length);
  });

  it.each(rows.map((row) => [row.name, row] as const))('%s has a default inside its range', (_, row) => {
    expect(row.default).toBeGreaterThanOrEqual(row.least);
    expect(row.default).toBeLessThanOrEqual(row.most);
  });

  it.each(rows.map((row) => [row.name, row] as const))('%s is taken at its limits and refused one beyond', (_, row) => {
    const read = (value: number): number => {
      return parseSetting(row, { text: formatQuantity(value, row.unit), setting: flagOf(row) });
    };
    expect([read(row.least), read(row.most)]).toEqual([row.least, row.most]);
    expect(() => read(row.most + 1)).toThrow(expect.objectContaining({ code: 'setting-out-of-range' }));
    // below nothing is no number that a person can write
    const below = row.least === 0 ? 'setting-malformed' : 'setting-out-of-range';
    expect(() => read(row.least - 1)).toThrow(expect.objectContaining({ code: below }));
  });

  it('gives every line a name and a reason, and marks what can be set', () => {
    expect(settingLines.filter((line) => line.reason === '' || line.name === '')).toEqual([]);
    const isSettable = ({ flag, environment }: SettingLine): boolean => flag.startsWith('--') || environment !== '';
    expect(settingLines.every((line) => (line.mark === 'S') === isSettable(line))).toBe(true);
    expect(settingLines.find((line) => line.name === 'leaf-ttl')).toMatchObject({
      mark: 'S',
      flag: '--leaf-ttl',
      environment: 'LEAFGATE_LEAF_TTL',
      default: '1h',
      range: '2m to 1d',
    });
  });

  it('repeats the constants of the rooms that hold them', () => {
    expect(fixedLimits.nameBytes.value).toBe(maxNameBytes);
    expect(fixedLimits.ttlMargin.value).toBe(ttlMarginMs);
    expect(fixedLimits.poolBytes.value).toBe(maxPoolBytes);
    expect(fixedLimits.poolCas.value).toBe(maxPoolCas);
    expect(fixedLimits.streams.value).toBe(maxStreamsPerConnection);
  });

  it('has the defaults of the rooms that take them', () => {
    const defaults = readQuantities({ flag: () => undefined, environment: {} });
    expect({
      leafLifetimeMs: defaults.leafTtl,
      maxCachedLeaves: defaults.maxCachedLeaves,
      missesPerSecond: defaults.mintRate,
      missBurst: defaults.mintBurst,
      answerDeadlineMs: defaults.answerDeadline,
    }).toEqual(defaultMintSettings);
    expect({
      maxLiveNames: defaults.maxLiveNames,
      answerDeadlineMs: defaults.answerDeadline,
      maxAdsMessageBytes: defaults.maxAdsMessage,
      maxPerNameMessageBytes: defaults.maxSecretsMessage,
    }).toEqual(defaultSdsSettings);
    expect([quantitySettings.leafTtl.least, quantitySettings.leafTtl.most]).toEqual([shortestLeafMs, longestLeafMs]);
  });

  it('answers a name before Envoy gives up on the handshake, whatever is set', () => {
    expect(quantitySettings.answerDeadline.most).toBeLessThan(fixedLimits.connectTimeout.value);
  });
});

describe('unknownEnvironment', () => {
  it('names each variable that no setting has', () => {
    const environment = { LEAFGATE_LEAF_TTL: '1h', LEAFGATE_LEAFTTL: '1h', LEAFGATE_ENVOY: '/x', PATH: '/bin' };
    const problems = unknownEnvironment(environment);
    expect(problems.map(({ message }) => message)).toEqual(['LEAFGATE_LEAFTTL is no setting of leafgate']);
  });

  it('leaves the variables of the test suite alone', () => {
    expect(unknownEnvironment({ LEAFGATE_TEST_FORBID_SKIPS: '1' })).toEqual([]);
  });
});

it('doctor takes whatever up takes, so that it can be asked about the very same call', () => {
  const missing = settingsTable.filter(({ commands }) => commands.includes('up') && !commands.includes('doctor'));
  expect(missing.map(({ name }) => name)).toEqual([]);
});

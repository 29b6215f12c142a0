// A flag wins over the environment, the environment over the default; a problem names what the person used.
import { describe, expect, it } from 'vitest';
import { LeafgateError } from '../../../src/errors.ts';
import { givenTexts, isSwitchedOn, readQuantities, type SettingSource } from '../../../src/settings/read-settings.ts';
import { switchSettings, textSettings } from '../../../src/settings/text-settings.ts';

type Flags = Readonly<Record<string, string | boolean | readonly string[]>>;

function source(flags: Flags, environment: SettingSource['environment'] = {}): SettingSource {
  return { flag: (name) => flags[name], environment };
}

function problemOf(run: () => unknown): LeafgateError {
  try {
    run();
  } catch (thrown) {
    return LeafgateError.from(thrown);
  }
  return expect.fail('nothing was thrown');
}

describe('readQuantities', () => {
  it('takes a flag before the environment and the environment before the default', () => {
    const environment = { LEAFGATE_LEAF_TTL: '30m', LEAFGATE_MINT_RATE: '5', LEAFGATE_MINT_BURST: '' };
    expect(readQuantities(source({ 'leaf-ttl': '10m' }, environment))).toMatchObject({
      leafTtl: 600_000,
      mintRate: 5,
      mintBurst: 10_000,
    });
  });

  it('reports every problem at once, each with the name that the person used', () => {
    const problem = problemOf(() => readQuantities(source({ 'leaf-ttl': '25h' }, { LEAFGATE_MAX_MEMORY: '1 GB' })));
    expect(problem.problems.map(({ message, remedy }) => [message, remedy])).toEqual([
      ['--leaf-ttl is 25h, outside the range 2m to 1d', 'give --leaf-ttl a value from 2m to 1d'],
      ['LEAFGATE_MAX_MEMORY is "1 GB", which is not a size', 'write it like 256KiB or 16MiB'],
    ]);
  });

  it('escapes what a value could do to a terminal', () => {
    expect(problemOf(() => readQuantities(source({ 'leaf-ttl': '\u001b[2J' }))).message).not.toContain('\u001b');
  });
});

describe('givenTexts', () => {
  it('splits the environment of a repeatable setting at commas', () => {
    const given = givenTexts(textSettings.allowFrom, source({}, { LEAFGATE_ALLOW_FROM: '10.0.0.0/8, ::1' }));
    expect(given).toEqual([
      { text: '10.0.0.0/8', setting: 'LEAFGATE_ALLOW_FROM' },
      { text: '::1', setting: 'LEAFGATE_ALLOW_FROM' },
    ]);
  });

  it('takes flags instead of the environment, not beside it', () => {
    const given = givenTexts(textSettings.allowFrom, source({ 'allow-from': ['::1'] }, { LEAFGATE_ALLOW_FROM: 'x' }));
    expect(given).toEqual([{ text: '::1', setting: '--allow-from' }]);
  });

  it('does not split a setting that has one value', () => {
    expect(givenTexts(textSettings.state, source({}, { LEAFGATE_STATE: '/a,b' }))).toEqual([
      { text: '/a,b', setting: 'LEAFGATE_STATE' },
    ]);
  });

  it('has nothing for what is not given: the default is the caller’s', () => {
    expect(givenTexts(textSettings.listen, source({}))).toEqual([]);
  });
});

describe('isSwitchedOn', () => {
  it.each([
    [{ json: true }, {}, true],
    [{ json: false }, { LEAFGATE_JSON: '1' }, false],
    [{}, { LEAFGATE_JSON: '1' }, true],
    [{}, { LEAFGATE_JSON: '0' }, false],
    [{}, { LEAFGATE_JSON: '' }, false],
    [{}, {}, false],
  ])('flags %j, environment %j: %s', (flags: Flags, environment, isOn) => {
    expect(isSwitchedOn(switchSettings.json, source(flags, environment))).toBe(isOn);
  });

  it('refuses other words, since "no" would be a surprising yes', () => {
    const problem = problemOf(() => isSwitchedOn(switchSettings.json, source({}, { LEAFGATE_JSON: 'no' })));
    expect(problem.message).toBe('LEAFGATE_JSON is "no", which is not 1 or 0');
  });
});

// Which policy the flags and the environment of a call mean.
import { describe, expect, it, test } from 'vitest';
import { createProblems } from '../../../src/problems.ts';
import { readGatewayPolicy, readMintingPolicy, type PolicyChoice } from '../../../src/cli/policy-choice.ts';
import type { SettingSource } from '../../../src/settings/read-settings.ts';

type Given = Readonly<Record<string, string | readonly string[] | boolean>>;

function read(
  readPolicy: typeof readGatewayPolicy,
  flags: Given,
  environment: Readonly<Record<string, string>> = {},
): PolicyChoice {
  const source: SettingSource = { flag: (name) => flags[name], environment };
  const problems = createProblems();
  const choice = readPolicy(source, problems);
  problems.throwAny();
  return choice;
}

const outcomes = (choice: PolicyChoice): readonly string[] =>
  choice.kind === 'file'
    ? [choice.path]
    : [...choice.policy.rules.map(({ verdict, name }) => `${verdict}:${name}`), choice.policy.defaultVerdict];

describe('the policy of up and run', () => {
  it('intercepts everything unless something else is said', () => {
    expect(outcomes(read(readGatewayPolicy, {}))).toEqual(['intercept']);
  });

  it('is made of flags, or of variables where no flag is given', () => {
    const flags = { allow: ['a.test'], deny: ['b.test'], relay: ['c.test:443'], tcp: ['d.test:22'] };
    expect(outcomes(read(readGatewayPolicy, flags))).toEqual([
      ...['relay:c.test:443', 'tcp:d.test:22', 'intercept:a.test', 'deny:b.test', 'deny'],
    ]);
    expect(outcomes(read(readGatewayPolicy, {}, { LEAFGATE_DENY: 'a.test, b.test' }))).toEqual([
      ...['deny:a.test', 'deny:b.test', 'intercept'],
    ]);
  });

  it('is a file alone: with other flags beside it nobody could tell which wins', () => {
    expect(outcomes(read(readGatewayPolicy, { policy: 'p.yaml' }))).toEqual(['p.yaml']);
    expect(() => read(readGatewayPolicy, { policy: 'p.yaml', deny: ['a.test'], tcp: ['b.test'] })).toThrow(
      expect.objectContaining({
        code: 'policy-choice-twice',
        message: '--policy and --deny, --tcp exclude each other',
      }),
    );
    expect(() => read(readGatewayPolicy, { policy: 'p.yaml' }, { LEAFGATE_ALLOW: 'a.test' })).toThrow(/LEAFGATE_ALLOW/);
  });

  it('names every flag that is wrong at once', () => {
    expect(() => read(readGatewayPolicy, { allow: ['*'], deny: ['https://a.test'] })).toThrow(
      expect.objectContaining({
        problems: ['--allow', '--deny'].map(
          (setting) => expect.objectContaining({ message: expect.stringContaining(setting) as unknown }) as unknown,
        ),
      }),
    );
  });
});

describe('the policy of sds', () => {
  it('is one of three explicit choices', () => {
    expect(outcomes(read(readMintingPolicy, { policy: 'p.yaml' }))).toEqual(['p.yaml']);
    expect(outcomes(read(readMintingPolicy, { allow: ['*.a.test'] }))).toEqual(['intercept:*.a.test', 'deny']);
    expect(outcomes(read(readMintingPolicy, { 'allow-any': true }))).toEqual(['intercept']);
    expect(outcomes(read(readMintingPolicy, {}, { LEAFGATE_ALLOW_ANY: '1' }))).toEqual(['intercept']);
  });

  it('is never none of them', () => {
    expect(() => read(readMintingPolicy, {})).toThrow(expect.objectContaining({ code: 'mint-choice-missing' }));
  });

  test.each([
    [{ policy: 'p', allow: ['a.test'] }, '--policy and --allow'],
    [{ policy: 'p', 'allow-any': true }, '--policy and --allow-any'],
    [{ allow: ['a.test'], 'allow-any': true }, '--allow and --allow-any'],
  ])('is never two of them: %j', (flags, chosen) => {
    expect(() => read(readMintingPolicy, flags)).toThrow(`${chosen} exclude each other`);
  });

  it('has no ports, which SDS does not see', () => {
    expect(() => read(readMintingPolicy, { allow: ['a.test:443'] })).toThrow(
      expect.objectContaining({ code: 'setting-malformed' }),
    );
  });
});

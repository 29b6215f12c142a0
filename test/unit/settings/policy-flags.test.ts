// `--allow`, `--deny`, `--relay`, `--tcp`: a rule a flag, decided like the rules of a file.
import { describe, expect, it, test } from 'vitest';
import { createPolicyJudge } from '../../../src/policy/policy-judge.ts';
import type { Policy, Verdict } from '../../../src/policy/policy-types.ts';
import { parseRuleFlag, policyOfFlags, type FlagRule } from '../../../src/settings/policy-flags.ts';
import { host } from '../policy/policy-fixtures.ts';

const flag = (verdict: Verdict, text: string): FlagRule => {
  return parseRuleFlag({ text, setting: `--${verdict === 'intercept' ? 'allow' : verdict}` }, verdict);
};

function decided(policy: Policy, name: string, port = 443): string {
  const { verdict, rule } = createPolicyJudge(policy).decide({ host: host(name), port });
  return `${verdict}:${rule}`;
}

describe('a rule from a flag', () => {
  test.each([
    ['api.Example.com', 'api.example.com', []],
    ['*.example.com:8443', '*.example.com:8443', [8443]],
    ['192.0.2.1:22', '192.0.2.1:22', [22]],
    ['10.0.0.0/8', '10.0.0.0/8', []],
    ['10.0.0.0/8:5432', '10.0.0.0/8:5432', [5432]],
    ['2001:db8::1', '2001:db8::1', []],
    ['[2001:DB8::1]', '2001:db8::1', []],
    ['[2001:db8::1]:443', '[2001:db8::1]:443', [443]],
    ['[2001:db8::/32]:443', '[2001:db8::/32]:443', [443]],
    ['default', 'default.', []],
  ])('%s is called %s', (text, name, ports) => {
    expect(flag('relay', text).rule).toMatchObject({ name, ports, actors: [], verdict: 'relay' });
  });

  test.each([
    '',
    '*',
    'a.test:0',
    'a.test:65536',
    'a.test:http',
    'https://a.test',
    'a.test:1:2',
    '10.1.0.0/8',
    '[a.test',
  ])('“%s” is malformed', (text) => {
    expect(() => flag('deny', text)).toThrow(expect.objectContaining({ code: 'setting-malformed' }));
  });

  it('cannot be about the gateway’s own names', () => {
    expect(() => flag('deny', 'self-check.leafgate.invalid')).toThrow(
      expect.objectContaining({ code: 'policy-host-reserved' }),
    );
  });
});

describe('a policy of flags', () => {
  it('intercepts what no flag names, and denies it as soon as something is allowed', () => {
    const denying = policyOfFlags([flag('deny', '*.ads.test'), flag('relay', 'pinned.test')]);
    expect(decided(denying, 'x.ads.test')).toBe('deny:*.ads.test');
    expect(decided(denying, 'pinned.test')).toBe('relay:pinned.test');
    expect(decided(denying, 'other.test')).toBe('intercept:default');
    const allowing = policyOfFlags([flag('intercept', 'api.test'), flag('tcp', 'db.test:5432')]);
    expect(decided(allowing, 'api.test')).toBe('intercept:api.test');
    expect(decided(allowing, 'db.test', 5432)).toBe('tcp:db.test:5432');
    expect(decided(allowing, 'db.test')).toBe('deny:default');
  });

  it('takes what is said for a port before what is said for the host, whatever the order', () => {
    const flags = [flag('intercept', 'a.test'), flag('deny', 'a.test:25')];
    for (const given of [flags, flags.toReversed()]) {
      expect(decided(policyOfFlags(given), 'a.test', 25)).toBe('deny:a.test:25');
      expect(decided(policyOfFlags(given), 'a.test', 443)).toBe('intercept:a.test');
    }
  });

  it('refuses flags that contradict each other, and takes the same one twice as one', () => {
    expect(() => policyOfFlags([flag('intercept', 'a.test'), flag('deny', 'A.test')])).toThrow(
      expect.objectContaining({
        code: 'policy-flags-contradict',
        message: '--allow a.test and --deny A.test say different things about the same host',
      }),
    );
    expect(policyOfFlags([flag('deny', 'a.test'), flag('deny', 'a.test.')]).rules).toHaveLength(1);
  });
});

// SDS knows a name and nothing else: it refuses a leaf only where no port and no actor could ever need one.
import { describe, expect, it } from 'vitest';
import { parseHostPattern } from '../../../src/names/host-pattern.ts';
import { policyAllowingAny, policyAllowingOnly } from '../../../src/policy/allow-list.ts';
import { mayIntercept } from '../../../src/policy/may-intercept.ts';
import { host, policy, rule } from './policy-fixtures.ts';

const api = 'api.example.com';
const actor = 'spiffe://example/builder';

describe('mayIntercept', () => {
  it.each([
    ['a rule for any port and actor', [rule(api, 'intercept')], true, api],
    ['a rule for some port', [rule(api, 'intercept', { ports: [443] })], true, api],
    ['a rule for some actor', [rule(api, 'intercept', { actors: [actor] })], true, api],
    ['a denial', [rule(api, 'deny')], false, api],
    ['a relay', [rule(api, 'relay')], false, api],
    ['a denial of one port', [rule(api, 'deny', { name: 'one', ports: [80] }), rule(api, 'intercept')], true, api],
    [
      'a rule that a wider denial hides',
      [rule(api, 'deny', { name: 'hides' }), rule(api, 'intercept')],
      false,
      'hides',
    ],
    [
      'a rule whose port a denial takes first',
      [rule(api, 'deny', { name: 'hides', ports: [443] }), rule(api, 'intercept', { ports: [443] }), rule(api, 'tcp')],
      false,
      'hides',
    ],
    [
      'a rule of whose ports a denial takes only one',
      [
        rule(api, 'deny', { name: 'one', ports: [443] }),
        rule(api, 'intercept', { ports: [443, 8443] }),
        rule(api, 'tcp'),
      ],
      true,
      api,
    ],
    [
      'a rule whose actor is taken first on another port only',
      [rule(api, 'deny', { name: 'other', ports: [80], actors: [actor] }), rule(api, 'intercept', { actors: [actor] })],
      true,
      api,
    ],
    ['a suffix that does not decide', [rule('*.example.com', 'intercept'), rule(api, 'deny')], false, api],
    ['rules for another name', [rule('other.example.com', 'intercept')], false, 'default'],
  ])('%s: %#', (_, rules, allowed, ruleName) => {
    expect(mayIntercept(policy('deny', ...rules), host(api))).toMatchObject({ allowed, rule: ruleName });
  });

  it('allows what only the default intercepts, where rules leave something to it', () => {
    const some = policy('intercept', rule(api, 'deny', { ports: [80] }));
    expect(mayIntercept(some, host(api))).toEqual({ allowed: true, verdict: 'intercept', rule: 'default' });
    expect(mayIntercept(policy('intercept', rule(api, 'deny')), host(api)).allowed).toBe(false);
  });
});

describe('the policies without rules of their own', () => {
  const only = policyAllowingOnly(['example.com', '*.example.org', '192.0.2.1'].map((text) => parseHostPattern(text)!));

  it.each([
    ['example.com', true],
    ['www.example.com', false],
    ['a.example.org', true],
    ['example.org', false],
    ['192.0.2.1', true],
    ['192.0.2.2', false],
  ])('a list of names, %s: %s', (name, allowed) => {
    expect(mayIntercept(only, host(name)).allowed).toBe(allowed);
  });

  it('a list of names denies the rest, whatever else could be done with it', () => {
    expect(only.defaultVerdict).toBe('deny');
  });

  it('any name', () => {
    expect(mayIntercept(policyAllowingAny(), host('anything.example')).allowed).toBe(true);
  });
});

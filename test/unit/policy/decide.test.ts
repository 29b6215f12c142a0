// The most specific name decides, then the first of its rules that fits, then the default: never a shorter suffix.
import { describe, expect, it } from 'vitest';
import { decide } from '../../../src/policy/decide.ts';
import { host, policy, rule } from './policy-fixtures.ts';

const builder = 'spiffe://example/builder';

describe('decide', () => {
  const given = policy(
    'intercept',
    rule('*.example.com', 'deny'),
    rule('*.api.example.com', 'relay'),
    rule('api.example.com', 'intercept'),
    rule('deep.api.example.com', 'tcp'),
    rule('*.com', 'relay', { name: 'com' }),
    rule('10.0.0.0/8', 'deny'),
    rule('10.1.0.0/16', 'relay'),
    rule('10.1.2.3', 'tcp'),
    rule('0.0.0.0/0', 'deny', { name: 'any-ipv4' }),
    rule('2001:db8::/32', 'relay'),
  );

  it.each([
    ['www.example.com', 'deny', '*.example.com'],
    ['a.b.example.com', 'deny', '*.example.com'],
    ['x.api.example.com', 'relay', '*.api.example.com'],
    ['deep.api.example.com', 'tcp', 'deep.api.example.com'],
    ['below.deep.api.example.com', 'relay', '*.api.example.com'],
    ['api.example.com', 'intercept', 'api.example.com'],
    ['example.com', 'relay', 'com'],
    ['badexample.com', 'relay', 'com'],
    ['com', 'intercept', 'default'],
    ['example.org', 'intercept', 'default'],
    ['10.9.9.9', 'deny', '10.0.0.0/8'],
    ['10.1.9.9', 'relay', '10.1.0.0/16'],
    ['10.1.2.3', 'tcp', '10.1.2.3'],
    ['203.0.113.1', 'deny', 'any-ipv4'],
    ['2001:db8:1::1', 'relay', '2001:db8::/32'],
    ['2001:db9::1', 'intercept', 'default'],
    ['::ffff:10.1.2.3', 'intercept', 'default'],
  ])('%s: %s by %s', (name, verdict, ruleName) => {
    expect(decide(given, { host: host(name), port: 443 })).toEqual({ verdict, rule: ruleName });
  });

  it('does not depend on the order of rules for different names', () => {
    const reversed = { ...given, rules: given.rules.toReversed() };
    for (const name of ['www.example.com', 'x.api.example.com', 'api.example.com', '10.1.2.3', '10.1.9.9']) {
      const question = { host: host(name), port: 443 };
      expect(decide(reversed, question)).toEqual(decide(given, question));
    }
  });

  it('takes an address and the range that holds it alone for one name', () => {
    const both = policy('deny', rule('192.0.2.1/32', 'relay', { name: 'range' }), rule('192.0.2.1', 'tcp'));
    expect(decide(both, { host: host('192.0.2.1'), port: 1 }).rule).toBe('range');
  });
});

describe('among rules of one name', () => {
  const given = policy(
    'deny',
    rule('*.example.com', 'intercept', { name: 'wide' }),
    rule('api.example.com', 'relay', { name: 'first', ports: [8443] }),
    rule('api.example.com', 'intercept', { name: 'builder', ports: [443], actors: [builder] }),
    rule('api.example.com', 'tcp', { name: 'second', ports: [443, 8443] }),
  );

  it.each([
    [8443, builder, 'relay', 'first'],
    [443, builder, 'intercept', 'builder'],
    [443, 'spiffe://example/other', 'tcp', 'second'],
    [443, undefined, 'tcp', 'second'],
    [80, builder, 'deny', 'default'],
  ])('port %i, actor %s: %s by %s', (port, actor, verdict, ruleName) => {
    const question = { host: host('api.example.com'), port, ...(actor === undefined ? {} : { actor }) };
    expect(decide(given, question)).toEqual({ verdict, rule: ruleName });
  });

  it('falls to the default and to no shorter suffix when none fits', () => {
    expect(decide(given, { host: host('api.example.com'), port: 80 })).toEqual({ verdict: 'deny', rule: 'default' });
    expect(decide(given, { host: host('www.example.com'), port: 80 }).rule).toBe('wide');
  });

  it('falls to the default and to no shorter prefix for addresses either', () => {
    const ranges = policy('deny', rule('10.0.0.0/8', 'relay'), rule('10.1.0.0/16', 'relay', { ports: [22] }));
    expect(decide(ranges, { host: host('10.1.2.3'), port: 443 }).rule).toBe('default');
    expect(decide(ranges, { host: host('10.2.2.3'), port: 443 }).rule).toBe('10.0.0.0/8');
  });
});

// What a person is told about a policy: why it decides as it does, and what is odd about it.
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { decide } from '../../../src/policy/decide.ts';
import { explainDecision } from '../../../src/policy/explain-decision.ts';
import type { PolicyRule } from '../../../src/policy/policy-types.ts';
import { reviewPolicy } from '../../../src/policy/review-policy.ts';
import { host, policy, rule } from './policy-fixtures.ts';

const given = policy(
  'deny',
  rule('a.x.test', 'relay', { name: 'ports', ports: [8443] }),
  rule('a.x.test', 'intercept', { name: 'actors', ports: [443], actors: ['spiffe://a'] }),
  rule('a.x.test', 'tcp', { name: 'all-443', ports: [443] }),
  rule('a.x.test', 'deny', { name: 'again', ports: [443, 80] }),
  rule('*.x.test', 'intercept', { name: 'wide' }),
  rule('*.test', 'relay', { name: 'wider' }),
);

describe('an explanation', () => {
  it('says what became of each rule of the name that decides, and which names are passed over', () => {
    const why = explainDecision(given, { host: host('a.x.test'), port: 443 });
    expect(why.decision).toEqual({ verdict: 'tcp', rule: 'all-443' });
    expect(why.target).toBe('a.x.test');
    expect(why.candidates.map(({ rule: { name }, fate }) => `${name}: ${fate}`)).toEqual([
      'ports: other-port',
      'actors: other-actor',
      'all-443: decides',
      'again: later',
    ]);
    expect(why.passedOver).toEqual([
      { target: '*.x.test', rules: ['wide'] },
      { target: '*.test', rules: ['wider'] },
    ]);
    expect(why.mayIntercept).toEqual({ verdict: 'intercept', rule: 'actors', allowed: true });
  });

  it('says that the default decides when no rule of the name fits, and when none names the host', () => {
    const none = explainDecision(given, { host: host('a.x.test'), port: 22 });
    expect(none.decision).toEqual({ verdict: 'deny', rule: 'default' });
    expect(none.candidates.map(({ fate }) => fate)).toEqual(Array(4).fill('other-port'));
    expect(explainDecision(given, { host: host('other.example'), port: 443 })).toMatchObject({
      ...{ decision: { rule: 'default' }, target: undefined, candidates: [], passedOver: [] },
    });
  });

  it('has the longest range of an address decide', () => {
    const ranges = policy('deny', rule('10.0.0.0/8', 'tcp'), rule('10.1.0.0/16', 'relay'));
    expect(explainDecision(ranges, { host: host('10.1.2.3'), port: 22 })).toMatchObject({
      ...{ target: '10.1.0.0/16', decision: { rule: '10.1.0.0/16' }, passedOver: [{ target: '10.0.0.0/8' }] },
    });
  });

  it('always explains the decision that is taken', () => {
    const target = fc.constantFrom('x.test', 'a.x.test', '*.x.test', '*.test', '10.0.0.0/8', '10.0.0.1');
    const verdict = fc.constantFrom('intercept', 'relay', 'tcp', 'deny');
    const rules = fc.array(
      fc.tuple(target, verdict, fc.subarray([80, 443]), fc.subarray(['spiffe://a', 'spiffe://b'])),
    );
    const name = fc.constantFrom('x.test', 'a.x.test', 'b.a.x.test', 'y', '10.0.0.1', '10.0.0.2');
    const actor = fc.constantFrom(undefined, 'spiffe://a', 'spiffe://b');
    fc.assert(
      fc.property(verdict, rules, fc.tuple(name, fc.constantFrom(80, 443, 22), actor), (byDefault, some, asked) => {
        const all = some.map(([on, of, ports, actors], index) => rule(on, of, { name: `r${index}`, ports, actors }));
        const [of, port, who] = asked;
        const question = { host: host(of), port, ...(who === undefined ? {} : { actor: who }) };
        const why = explainDecision(policy(byDefault, ...all), question);
        expect(why.decision).toEqual(decide(policy(byDefault, ...all), question));
        const deciding = why.candidates.filter(({ fate }) => fate === 'decides').map(({ rule: { name: of } }) => of);
        expect(deciding).toEqual(why.decision.rule === 'default' ? [] : [why.decision.rule]);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('a review', () => {
  const remarksOf = (...rules: readonly PolicyRule[]): readonly string[] =>
    reviewPolicy(policy('deny', ...rules)).map(({ kind, rule: about, target, other }) =>
      [kind, about, target, other].filter((part) => part !== '').join(' '),
    );

  test.each<[string, readonly PolicyRule[], readonly string[]]>([
    ['nothing odd', [rule('a.test', 'intercept', { name: 'a' }), rule('*.a.test', 'deny', { name: 'b' })], []],
    [
      'a rule behind one for all ports',
      [rule('a.test', 'deny', { name: 'a' }), rule('a.test', 'deny', { name: 'b', ports: [443] })],
      ['unreachable b a.test a'],
    ],
    [
      'a rule that contradicts an earlier one',
      [rule('a.test', 'deny', { name: 'a' }), rule('a.test', 'intercept', { name: 'b' })],
      ['contradicted b a.test a'],
    ],
    [
      'a host twice in one rule',
      [rule('a.test', 'deny', { name: 'a' }), rule('a.test', 'deny', { name: 'a' })],
      ['repeated a a.test'],
    ],
    [
      'a rule whose two ports two others take',
      [
        rule('a.test', 'deny', { name: 'a', ports: [80] }),
        rule('a.test', 'deny', { name: 'b', ports: [443] }),
        rule('a.test', 'relay', { name: 'c', ports: [80, 443] }),
      ],
      ['contradicted c a.test a'],
    ],
    [
      'a rule of whose actors one is left',
      [
        rule('a.test', 'deny', { name: 'a', actors: ['u:a'] }),
        rule('a.test', 'relay', { name: 'b', actors: ['u:a', 'u:b'] }),
      ],
      [],
    ],
    [
      'a narrow rule below a suffix that it does not fall back to',
      [rule('a.x.test', 'deny', { name: 'a', ports: [22] }), rule('*.x.test', 'intercept', { name: 'b' })],
      ['no-fallback a a.x.test *.x.test'],
    ],
    [
      'TLS to addresses',
      [rule('10.0.0.0/8', 'intercept', { name: 'a' }), rule('192.0.2.1', 'intercept', { name: 'a' })],
      ['tls-to-address a'],
    ],
    ['addresses that are relayed', [rule('10.0.0.0/8', 'relay', { name: 'a' })], []],
  ])('finds %s', (_, rules, remarks) => {
    expect(remarksOf(...rules)).toEqual(remarks);
  });

  it('names a default that lets everything through unread', () => {
    expect(reviewPolicy(policy('tcp'))).toEqual([
      { kind: 'unread-by-default', rule: 'default', target: '', other: 'tcp' },
    ]);
    expect(reviewPolicy(policy('intercept'))).toEqual([]);
  });
});

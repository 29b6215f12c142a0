// A policy is written once and decided twice. Here the generated matcher, evaluated by a model of Envoy, against
// `decide`; test/integration/policy-agreement.test.ts does the same with Envoy itself.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { outcomeName, policyDocument } from '../../src/bootstrap/policy-filter.ts';
import { createPolicyJudge } from '../../src/policy/policy-judge.ts';
import type { Policy } from '../../src/policy/policy-types.ts';
import { at } from '../support/json-walk.ts';
import { evaluate } from '../support/matcher-model.ts';
import { host, policy, rule } from '../unit/policy/policy-fixtures.ts';

const names = ['x.test', 'a.x.test', 'b.a.x.test', 'y.test', '10.0.0.1', '10.1.0.1', '192.0.2.1', '2001:db8::1'];
const targets = [
  ...['x.test', 'a.x.test', '*.x.test', '*.a.x.test', '*.test', '10.0.0.1', '2001:db8::1'],
  ...['10.0.0.0/8', '10.0.0.0/24', '0.0.0.0/0', '2001:db8::/32'],
];
const ports = [80, 443];
const actors = ['spiffe://a', 'spiffe://b'];
const verdict = fc.constantFrom('intercept', 'relay', 'tcp', 'deny');
const someRules = fc.array(fc.tuple(fc.constantFrom(...targets), verdict, fc.subarray(ports), fc.subarray(actors)), {
  maxLength: 10,
});

describe('the generated policy', () => {
  it('decides as the policy does', () => {
    fc.assert(
      fc.property(
        fc.tuple(verdict, someRules),
        fc.constantFrom(...names),
        fc.constantFrom(...ports, 22),
        fc.constantFrom(undefined, ...actors),
        ([byDefault, rules], name, port, actor) => {
          const given: Policy = policy(
            byDefault,
            ...rules.map(([target, verdictOf, portsOf, actorsOf], index) =>
              rule(target, verdictOf, { name: `r${index}`, ports: portsOf, actors: actorsOf }),
            ),
          );
          const question = { host: host(name), port, ...(actor === undefined ? {} : { actor }) };
          const decided = createPolicyJudge(given).decide(question);
          const matcher = at(policyDocument(given), 'resources', 0, 'typed_config', 'matcher');
          const inputs = { 'leafgate.host': name, 'leafgate.port': String(port), 'leafgate.actor': actor };
          expect(evaluate(matcher, inputs)).toBe(outcomeName(decided.verdict, decided.rule));
        },
      ),
      { numRuns: 2000 },
    );
  });
});

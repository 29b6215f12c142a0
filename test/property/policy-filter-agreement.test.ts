// A policy is written once and decided twice. Here the generated matcher, evaluated by a model of Envoy, against
// `decide`; test/integration/policy-agreement.test.ts does the same with Envoy itself.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bootstrapDocument } from '../../src/bootstrap/generate-envoy-files.ts';
import { outcomeName, policyDocument } from '../../src/bootstrap/policy-filter.ts';
import { createPolicyJudge } from '../../src/policy/policy-judge.ts';
import { celOfHost } from '../support/cel-model.ts';
import { gatewaySpec } from '../support/gateway-spec.ts';
import { at, objectsIn } from '../support/json-walk.ts';
import { evaluate } from '../support/matcher-model.ts';
import { randomPolicy, randomQuestion } from '../support/random-policies.ts';
import { policy, rule } from '../unit/policy/policy-fixtures.ts';

const vocabulary = {
  domain: 'test',
  labels: ['a', 'b', 'x-1', '_s', 'xn--mnchen-3ya'],
  actors: ['spiffe://a', 'spiffe://a/b', 'spiffe://a,spiffe://a/b', 'urn:X:y%20z'],
};

/** how a leg's filter state is made of the host that a client sent, one format on every leg */
function formatOf(key: string): string {
  const formats = objectsIn(bootstrapDocument(gatewaySpec())).flatMap(({ value }) =>
    value['object_key'] === key ? [at(value, 'format_string', 'text_format_source', 'inline_string')] : [],
  );
  const [format] = formats;
  if (typeof format !== 'string' || new Set(formats).size !== 1) throw new Error(`no single format of ${key}`);
  return format;
}

const [hostFormat, portFormat] = [formatOf('leafgate.host'), formatOf('leafgate.port')];

describe('the generated policy', () => {
  it('decides as the policy does, for every actor and every spelling of a host', () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(randomPolicy(vocabulary), randomQuestion(vocabulary), (given, { authority, ...question }) => {
        const decided = createPolicyJudge(given).decide(question);
        const matcher = at(policyDocument(given), 'resources', 0, 'typed_config', 'matcher');
        const inputs = {
          'leafgate.host': celOfHost(hostFormat, authority),
          'leafgate.port': celOfHost(portFormat, authority),
          'leafgate.actor': question.actor,
        };
        expect(evaluate(matcher, inputs)).toBe(outcomeName(decided.verdict, decided.rule));
        seen.add(
          `${decided.rule === 'default' ? 'default' : 'rule'} ${question.actor === undefined ? 'nobody' : 'actor'}`,
        );
      }),
      { numRuns: 5000 },
    );
    // the questions must meet the rules
    expect(seen.size).toBe(4);
  });

  it('decides by an actor alone where a rule says so', () => {
    const given = policy('deny', rule('a.test', 'intercept', { name: 'own', actors: ['spiffe://a'] }));
    const matcher = at(policyDocument(given), 'resources', 0, 'typed_config', 'matcher');
    const decide = (actor: string | undefined) =>
      evaluate(matcher, { 'leafgate.host': 'a.test', 'leafgate.port': '443', 'leafgate.actor': actor });
    expect(decide('spiffe://a')).toBe('intercept:own');
    for (const other of [undefined, '', 'spiffe://A', 'spiffe://a/', 'spiffe://a,spiffe://a']) {
      expect(decide(other)).toBe('deny:default');
    }
  });
});

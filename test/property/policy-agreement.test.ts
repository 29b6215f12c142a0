// The judge looks names up; this model scans all rules and picks by length, as the rule is written. They must agree.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cidrContains } from '../../src/names/cidr.ts';
import { hostPatternMatches } from '../../src/names/host-pattern.ts';
import { createPolicyJudge } from '../../src/policy/policy-judge.ts';
import type { Decision, Policy, PolicyQuestion, PolicyRule } from '../../src/policy/policy-types.ts';
import { host, policy, rule } from '../unit/policy/policy-fixtures.ts';

const names = ['x', 'a.x', 'b.a.x', 'c.b.a.x', 'y', 'a.y', '10.0.0.1', '10.0.0.2', '10.1.0.1', '2001:db8::1'];
const targets = [
  ...['x', 'a.x', 'b.a.x', '*.x', '*.a.x', '*.b.a.x', 'y', '*.y', '10.0.0.1', '2001:db8::1'],
  ...['10.0.0.0/8', '10.0.0.0/24', '10.0.0.1/32', '0.0.0.0/0', '2001:db8::/32', '::/0'],
];
const ports = [80, 443, 8443];
const actors = ['spiffe://a', 'spiffe://b'];
const verdict = fc.constantFrom('intercept', 'relay', 'tcp', 'deny');

const somePolicy = fc
  .tuple(
    verdict,
    fc.array(fc.tuple(fc.constantFrom(...targets), verdict, fc.subarray(ports), fc.subarray(actors)), {
      maxLength: 12,
    }),
  )
  .map(([byDefault, rules]): Policy => {
    const written = rules.map(([target, verdictOf, portsOf, actorsOf], index) => {
      return rule(target, verdictOf, { name: `r${index}`, ports: portsOf, actors: actorsOf });
    });
    return policy(byDefault, ...written);
  });

const question = fc.record(
  { host: fc.constantFrom(...names.map(host)), port: fc.constantFrom(...ports, 22), actor: fc.constantFrom(...actors) },
  { requiredKeys: ['host', 'port'] },
);

describe('a policy', () => {
  it('is decided as its rules are written, whatever they are', () => {
    fc.assert(
      fc.property(somePolicy, question, (given, asked) => {
        expect(createPolicyJudge(given).decide(asked)).toEqual(decideByScanning(given, asked));
      }),
      { numRuns: 3000 },
    );
  });

  it('may intercept a name exactly when some port and some actor would', () => {
    const everyActor = [undefined, 'spiffe://none', ...actors];
    fc.assert(
      fc.property(somePolicy, fc.constantFrom(...names.map(host)), (given, name) => {
        const judge = createPolicyJudge(given);
        const decisions = [...ports, 22].flatMap((port) =>
          everyActor.map((actor) => judge.decide({ host: name, port, ...(actor === undefined ? {} : { actor }) })),
        );
        const answer = judge.mayIntercept(name);
        expect(answer.allowed).toBe(decisions.some((decision) => decision.verdict === 'intercept'));
        expect(decisions).toContainEqual({ verdict: answer.verdict, rule: answer.rule });
      }),
      { numRuns: 3000 },
    );
  });
});

function decideByScanning(given: Policy, asked: PolicyQuestion): Decision {
  const holding = given.rules.filter((candidate) => holds(candidate, asked));
  const best = Math.max(...holding.map(specificity));
  const fitting = holding.find((candidate) => {
    const isActor = candidate.actors.length === 0 || candidate.actors.some((actor) => actor === asked.actor);
    const isPort = candidate.ports.length === 0 || candidate.ports.includes(asked.port);
    return specificity(candidate) === best && isActor && isPort;
  });
  if (fitting === undefined) return { verdict: given.defaultVerdict, rule: 'default' };
  return { verdict: fitting.verdict, rule: fitting.name };
}

function holds({ target }: PolicyRule, asked: PolicyQuestion): boolean {
  if (target.kind === 'host') return hostPatternMatches(target.pattern, asked.host);
  return asked.host.kind === 'ip' && cidrContains(target.cidr, asked.host.address);
}

/** a whole name or address beats any suffix or range */
function specificity({ target }: PolicyRule): number {
  if (target.kind === 'cidr') return target.cidr.prefixLength;
  const { pattern } = target;
  if (pattern.kind === 'address') return pattern.address.octets.length * 8;
  return pattern.kind === 'exact' ? 1000 : pattern.suffix.length;
}

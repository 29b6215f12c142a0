// A policy in force is written down for other processes of ours: they must read the same policy.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Policy } from '../../src/policy/policy-types.ts';
import { parsePolicyFile } from '../../src/settings/policy-file.ts';
import { renderPolicyFile } from '../../src/settings/render-policy-file.ts';
import { policy, rule } from '../unit/policy/policy-fixtures.ts';

const verdict = fc.constantFrom('intercept', 'relay', 'tcp', 'deny');
const hosts = fc.uniqueArray(
  fc.constantFrom('x.test', '*.x.test', '10.0.0.0/8', '192.0.2.1', '2001:db8::1', '2001:db8::/32'),
  {
    minLength: 1,
  },
);
const someRules = fc.array(fc.tuple(hosts, verdict, fc.subarray([80, 443]), fc.subarray(['spiffe://a', 'u:b'])), {
  maxLength: 6,
});

const somePolicy = fc.tuple(verdict, someRules).map(([byDefault, rules]): Policy => {
  const written = rules.flatMap(([targets, of, ports, actors], index) =>
    targets.map((target) =>
      rule(target, of, { name: index % 2 === 0 ? `r${index}` : `*.x.test:${index}`, ports, actors }),
    ),
  );
  return policy(byDefault, ...written);
});

it('is the same policy when it is read again', () => {
  const origins = [
    { name: 'a', hosts: [], certificateFile: '/c', keyFile: '/k', caFile: undefined },
    { name: 'b', hosts: [], certificateFile: '/c', keyFile: '/k', caFile: '/ca' },
  ].map((origin) => ({ ...origin, hosts: [{ kind: 'suffix' as const, suffix: hostName(`${origin.name}.test`) }] }));
  fc.assert(
    fc.property(somePolicy, fc.option(somePolicy, { nil: undefined }), fc.subarray(origins), (given, dryRun, some) => {
      const none = new Map<string, number>();
      const text = renderPolicyFile({ policy: given, dryRun, origins: some, lines: none, dryRunLines: none });
      const reading = parsePolicyFile(Buffer.from(text), { source: 'own', baseDir: '/', isOwn: true });
      expect(reading).toMatchObject({ kind: 'read', file: { policy: given, dryRun, origins: some } });
    }),
    { numRuns: 500 },
  );
});

function hostName(text: string): never {
  return text as never;
}

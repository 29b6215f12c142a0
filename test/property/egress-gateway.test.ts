// Whatever an object of the API holds, reading it gives a gateway or reasons, and never throws.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseEgressGateway } from '../../src/settings/egress-gateway.ts';
import { parsePolicyFile } from '../../src/settings/policy-file.ts';
import { gatewayObject, wholeGatewaySpec } from '../support/egress-gateway-object.ts';

const hostileKeys = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '', 'spec', 'a.b', 'x\u0000'];
const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 5 }),
  fc.anything({ withBigInt: true, withSparseArray: true, withNullPrototype: true }),
  fc
    .dictionary(fc.constantFrom(...hostileKeys), fc.jsonValue())
    .map((map) => JSON.parse(JSON.stringify(map)) as unknown),
  fc.constantFrom(...hostileKeys.map((key) => JSON.parse(`{${JSON.stringify(key)}: {"a": 1}}`) as unknown)),
);

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** every place in the object that says everything */
function placesIn(value: unknown, path: readonly (string | number)[] = []): readonly (readonly (string | number)[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  const inner = Object.entries(value).flatMap(([key, item]: [string, unknown]) => placesIn(item, [...path, key]));
  return [path, ...inner];
}

function replaced(whole: unknown, [key, ...rest]: readonly (string | number)[], value: unknown): unknown {
  if (key === undefined) return value;
  const copy = (Array.isArray(whole) ? [...(whole as unknown[])] : { ...(whole as object) }) as Record<string, unknown>;
  Object.defineProperty(copy, key, {
    ...{ value: replaced(copy[key], rest, value), enumerable: true, configurable: true, writable: true },
  });
  return copy;
}

it('is read or refused with reasons, whatever it is', () => {
  fc.assert(
    fc.property(anything, (object) => {
      const reading = parseEgressGateway(object);
      expect(reading.kind).toBe('refused');
    }),
    { numRuns: 2000 },
  );
});

it('is read or refused with paths when a part of a good one is replaced', () => {
  const places = placesIn(wholeGatewaySpec);
  fc.assert(
    fc.property(fc.constantFrom(...places), anything, (place, value) => {
      const reading = parseEgressGateway({ ...gatewayObject(), spec: replaced(wholeGatewaySpec, place, value) });
      if (reading.kind === 'read') return;
      for (const { message } of reading.problems) expect(message).toMatch(/^spec\b/);
      // nothing that is wrong in one place is said of the others
      if (place.length > 1)
        expect(
          reading.problems.every(
            ({ message }) =>
              message.startsWith(`spec.${String(place[0])}`) || /^spec\.(sds|listener|clients)/.test(message),
          ),
        ).toBe(true);
    }),
    { numRuns: 3000 },
  );
});

it('is refused in time when it is deep or huge', () => {
  let deep: Json = 'x';
  for (let depth = 0; depth < 20_000; depth += 1) deep = depth % 2 === 0 ? [deep] : { rules: deep };
  const wide = Array.from({ length: 510_000 }, (_, index) => `h${index}.test`);
  for (const value of [deep, wide, { default: 'deny', rules: [{ name: 'a', verdict: 'deny', hosts: wide }] }]) {
    for (const key of ['policy', 'origins']) {
      const reading = parseEgressGateway({ ...gatewayObject(), spec: { ...wholeGatewaySpec, [key]: value } });
      expect(reading.kind).toBe('refused');
    }
  }
});

it('carries a policy that reads the same from the text that `leafgate sds` is given', () => {
  const hosts = fc.uniqueArray(
    fc.constantFrom('x.test', '*.X.test', '10.0.0.0/8', '192.0.2.1', '2001:DB8::1', 'y.test.'),
    {
      minLength: 1,
    },
  );
  const rules = fc
    .array(
      fc.record(
        {
          hosts,
          verdict: fc.constantFrom('intercept', 'relay', 'tcp', 'deny'),
          ports: fc.uniqueArray(fc.integer({ min: 1, max: 65_535 }), { minLength: 1, maxLength: 3 }),
          actors: fc.uniqueArray(fc.constantFrom('spiffe://a', 'urn:b'), { minLength: 1 }),
        },
        { requiredKeys: ['hosts', 'verdict'] },
      ),
      { maxLength: 8 },
    )
    .map((all) => all.map((rule, index) => ({ ...rule, name: `r${index}` })));
  const part = fc.record({ default: fc.constantFrom('intercept', 'deny'), rules });
  fc.assert(
    fc.property(part, fc.option(part, { nil: undefined }), (given, dryRun) => {
      const reading = parseEgressGateway(gatewayObject({ policy: { ...given, dryRun } }));
      if (reading.kind !== 'read') throw new Error(reading.problems.map(({ message }) => message).join('; '));
      const { spec } = reading.gateway;
      expect(spec.policy.rules).toHaveLength(given.rules.flatMap((rule) => rule.hosts).length);
      const again = parsePolicyFile(Buffer.from(spec.policyText), { source: 'policy.yaml', baseDir: '/' });
      expect(again).toMatchObject({ kind: 'read', file: { policy: spec.policy, dryRun: spec.dryRun } });
    }),
    { numRuns: 150 },
  );
});

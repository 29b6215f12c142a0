// The protocol machine under random orders of events (facts: reliability S10). The seed of a failure is printed.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { MachineModel, modelNames } from '../harness/machine-model.ts';
import type { Step } from '../harness/machine-model.ts';

const name = fc.nat(modelNames.length - 1);
const names = fc.array(name, { maxLength: 4 });
const verdict = fc.constantFrom('keep', 'replace', 'refuse');
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('request'),
      subscribe: names,
      unsubscribe: names,
      answer: fc.constantFrom('none', 'ack', 'nack', 'stale'),
      which: fc.nat(9),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('minted'),
      which: fc.nat(9),
      outcome: fc.constantFrom('granted', 'granted', 'refused', 'unavailable'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('review'), name, verdict }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('evict'), name }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('more') }) },
);

it('answers every asked name once, one response at a time, never contradicts itself, and forgets everything', () => {
  const story = fc.record({
    maxNames: fc.constantFrom(3, modelNames.length),
    isByParts: fc.boolean(),
    held: names,
    asked: names,
    verdict,
    steps: fc.array(step, { maxLength: 40 }),
  });
  fc.assert(
    fc.property(story, ({ maxNames, isByParts, held, asked, verdict: first, steps }) => {
      const model = new MachineModel(maxNames, isByParts);
      model.resume(held, asked, first);
      for (const next of steps) model.step(next);
      model.finish();
    }),
    { numRuns: 10_000 },
  );
  expect.assertions(0);
}, 60_000);

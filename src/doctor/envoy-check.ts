// The Envoy that `up` would start. Pure.
import { foundOr, type Check, type CheckResult } from './check-types.ts';
import type { DoctorFacts, EnvoyFacts } from './doctor-facts.ts';
import { envoyProblems } from './local-problems.ts';
import type { Problem } from './problem-table.ts';

const { problem } = envoyProblems;

export const envoyCheck: Check<DoctorFacts> = {
  id: 'envoy',
  title: 'the Envoy to start',
  examine: ({ envoy }) => envoyToStart(envoy),
};

function envoyToStart(facts: EnvoyFacts): CheckResult {
  const passedOver = facts.passedOver.map((sentence) => problem('envoy-passed-over', { sentence }));
  const { search } = facts;
  const note = search.kind === 'found' ? `${search.version} at ${search.path}` : '';
  return foundOr([...searchProblems(facts), ...passedOver], note);
}

function searchProblems({ search, minimum }: EnvoyFacts): readonly Problem[] {
  switch (search.kind) {
    case 'found':
      return [];
    case 'none': {
      const reason = search.cannotBringBecause;
      if (reason === undefined) return [problem('envoy-not-yet-brought', { minimum })];
      return [problem('envoy-missing', { minimum, reason })];
    }
    case 'unusable': {
      const { setting, path, detail, madeFor, machine } = search;
      if (madeFor !== undefined) return [problem('envoy-wrong-machine', { setting, path, madeFor, machine })];
      return [problem('envoy-unusable', { setting, path, detail, minimum })];
    }
    default:
      return search satisfies never;
  }
}

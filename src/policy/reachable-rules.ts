// Which rules of one name can decide at all: a rule is reached when some port and some actor fit it and none before it.
import type { PolicyRule } from './policy-types.ts';

export type Reach = {
  readonly reached: ReadonlySet<PolicyRule>;
  /** some port and some actor fit no rule, and the default decides */
  readonly fallsThrough: boolean;
};

/** `rules` are those of one group, in order: the first that fits decides. */
export function reachOf(rules: readonly PolicyRule[]): Reach {
  const reached = new Set<PolicyRule>();
  let fallsThrough = false;
  for (const port of portsThatDiffer(rules)) {
    const fitting = rules.filter(({ ports }) => ports.length === 0 || (port !== undefined && ports.includes(port)));
    if (!takesAll(fitting, reached)) fallsThrough = true;
  }
  return { reached, fallsThrough };
}

/** each port that a rule lists, and undefined for all others */
function portsThatDiffer(rules: readonly PolicyRule[]): readonly (number | undefined)[] {
  return [undefined, ...new Set(rules.flatMap(({ ports }) => ports))];
}

/** Adds to `reached` the rules that an actor comes to; false when some actor, or none, comes to the end. */
function takesAll(rules: readonly PolicyRule[], reached: Set<PolicyRule>): boolean {
  const taken = new Set<string>();
  for (const rule of rules) {
    // whoever has no certificate, or one that no rule lists, is still left
    if (rule.actors.length === 0) {
      reached.add(rule);
      return true;
    }
    if (rule.actors.some((actor) => !taken.has(actor))) reached.add(rule);
    for (const actor of rule.actors) taken.add(actor);
  }
  return false;
}

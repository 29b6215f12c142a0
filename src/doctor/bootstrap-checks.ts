// All checks of `leafgate doctor --bootstrap FILE`. Pure: the file is a tree already, and Envoy has been asked.
import { problemAt } from './bootstrap-problem.ts';
import { bootstrapProblems } from './bootstrap-problems.ts';
import type { TreeReading } from './bootstrap-tree.ts';
import { viewBootstrap, type BootstrapView } from './bootstrap-view.ts';
import { foundOr, ok, skipped, type Check, type CheckResult } from './check-types.ts';
import { adminRules, originRules, sdsClusterRules, unreadRules } from './gateway-rules.ts';
import type { Problem, ProblemSpec } from './problem-table.ts';
import { adsRules, handshakeRules, selectorRules, streamRules } from './selector-rules.ts';

/** what `envoy --mode validate` said */
export type ValidationFacts =
  | { readonly kind: 'skipped'; readonly why: string }
  | { readonly kind: 'passed'; readonly version: string }
  | { readonly kind: 'crashed'; readonly version: string; readonly how: string }
  | { readonly kind: 'refused'; readonly version: string; readonly detail: string };

export type BootstrapFacts = {
  readonly reading: TreeReading;
  /** the unix sockets of the clusters that names are asked for through */
  readonly sdsServers: readonly {
    readonly cluster: string;
    readonly path: string;
    readonly silentBecause: string | undefined;
  }[];
  readonly validation: ValidationFacts;
};

export const bootstrapChecks: readonly Check<BootstrapFacts>[] = [
  { id: 'form', title: 'the form of the file', examine: ({ reading }) => form(reading) },
  { id: 'selectors', title: 'on-demand selectors', examine: byRules(selectorRules, 'one way to ask for names') },
  { id: 'ads', title: 'ADS', examine: byRules(adsRules, 'used where it can be') },
  { id: 'streams', title: 'the streams to the SDS server', examine: byRules(streamRules, 'delta, bounded, quiet') },
  { id: 'sds-cluster', title: 'the cluster of the SDS server', examine: byRules(sdsClusterRules, 'as it should be') },
  { id: 'handshakes', title: 'what a handshake waits for', examine: byRules(handshakeRules, 'bounded') },
  {
    id: 'unread',
    title: 'what can go around the interception',
    examine: byRules(unreadRules, 'nothing that is known'),
  },
  { id: 'origins', title: 'origins', examine: byRules(originRules, 'verified') },
  { id: 'admin', title: 'the admin interface', examine: byRules(adminRules, 'closed to others') },
  { id: 'sds-server', title: 'the SDS server', examine: ({ sdsServers }) => servers(sdsServers) },
  { id: 'validation', title: '`envoy --mode validate`', examine: ({ validation }) => validated(validation) },
];

export const bootstrapProblemSpecs: Readonly<Record<string, ProblemSpec>> = bootstrapProblems.specs;

function form(reading: TreeReading): CheckResult {
  if (reading.kind === 'tree') return ok('YAML or JSON');
  return foundOr([problemAt(reading, 'bootstrap-unreadable', { detail: reading.detail })], '');
}

function byRules(
  rules: (view: BootstrapView) => readonly Problem[],
  note: string,
): (facts: BootstrapFacts) => CheckResult {
  return ({ reading }) => {
    if (reading.kind !== 'tree') return skipped('the file cannot be read');
    return foundOr(rules(viewBootstrap(reading.root)), note);
  };
}

function servers(sdsServers: BootstrapFacts['sdsServers']): CheckResult {
  if (sdsServers.length === 0) return skipped('it has no unix socket in the file');
  const problems = sdsServers.flatMap(({ cluster, path, silentBecause: reason }) => {
    return reason === undefined ? [] : [bootstrapProblems.problem('sds-server-silent', { cluster, path, reason })];
  });
  return foundOr(problems, sdsServers.map(({ path }) => `answers on ${path}`).join(', '));
}

function validated(validation: ValidationFacts): CheckResult {
  switch (validation.kind) {
    case 'skipped':
      return skipped(validation.why);
    case 'passed':
      return ok(`passes on ${validation.version}; only a handshake proves more`);
    case 'crashed': {
      const { version, how } = validation;
      return foundOr([bootstrapProblems.problem('validation-crashed', { version, how })], '');
    }
    case 'refused': {
      const { version, detail } = validation;
      return foundOr([bootstrapProblems.problem('validation-refused', { version, detail })], '');
    }
    default:
      return validation satisfies never;
  }
}

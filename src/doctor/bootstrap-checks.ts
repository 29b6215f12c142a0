// All checks of `leafgate doctor --bootstrap FILE`. Pure: the file is a tree already, and Envoy has been asked.
import { problemAt } from './bootstrap-problem.ts';
import { bootstrapProblems } from './bootstrap-problems.ts';
import type { MapNode, TreeReading } from './bootstrap-tree.ts';
import { sdsClusters, viewBootstrap, type BootstrapView } from './bootstrap-view.ts';
import { foundOr, ok, skipped, type Check, type CheckResult } from './check-types.ts';
import { adminRules, originRules, sdsClusterRules, unreadRules } from './gateway-rules.ts';
import type { Problem, ProblemSpec } from './problem-table.ts';
import { adsRules, handshakeRules, selectorRules, streamRules } from './selector-rules.ts';
import { at, findMaps } from './tree-queries.ts';

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

/** what a rule looks at when it is not there; undefined when it is */
type Absence = (view: BootstrapView) => string | undefined;

const hasSelector: Absence = ({ selectors }) => (selectors.length > 0 ? undefined : 'there is no on-demand selector');
const asksByAds: Absence = ({ root }) => {
  const isUsed = findMaps(root, (node) => node.entries.has('ads') || node.entries.has('ads_config')).length > 0;
  return isUsed ? undefined : 'it is not used';
};
const asksByStream: Absence = ({ streams }) => (streams.length > 0 ? undefined : 'there is none');
const hasSdsCluster: Absence = (view) => {
  if (view.streams.length === 0) return 'there is none';
  const isElsewhere = view.hasClusterDiscovery && sdsClusters(view).length === 0;
  return isElsewhere ? 'it comes by CDS, which is not seen here' : undefined;
};
const hasOrigins: Absence = (view) => {
  const sds = new Set(sdsClusters(view));
  const isThere = view.clusters.some((cluster) => !sds.has(cluster));
  return isThere ? undefined : 'there is no cluster for them in the file';
};
const hasAdmin: Absence = ({ root }) => (at(root, 'admin', 'address') === undefined ? 'there is none' : undefined);

export const bootstrapChecks: readonly Check<BootstrapFacts>[] = [
  { id: 'form', title: 'the form of the file', examine: ({ reading }) => form(reading) },
  { id: 'selectors', title: 'on-demand selectors', examine: byRules(selectorRules, 'one way to ask for names') },
  { id: 'ads', title: 'ADS', examine: byRules(adsRules, 'used where it can be', asksByAds) },
  {
    id: 'streams',
    title: 'the streams to the SDS server',
    examine: byRules(streamRules, 'delta, bounded, quiet', asksByStream),
  },
  {
    id: 'sds-cluster',
    title: 'the cluster of the SDS server',
    examine: byRules(sdsClusterRules, 'as it should be', hasSdsCluster),
  },
  {
    id: 'handshakes',
    title: 'what a handshake waits for',
    examine: byRules(handshakeRules, 'bounded', hasSelector),
  },
  {
    id: 'unread',
    title: 'what can go around the interception',
    examine: byRules(unreadRules, 'nothing that is known', hasSelector),
  },
  { id: 'origins', title: 'origins', examine: byRules(originRules, 'verified', hasOrigins) },
  { id: 'admin', title: 'the admin interface', examine: byRules(adminRules, 'closed to others', hasAdmin) },
  { id: 'sds-server', title: 'the SDS server', examine: ({ sdsServers }) => servers(sdsServers) },
  { id: 'validation', title: '`envoy --mode validate`', examine: ({ validation }) => validated(validation) },
];

export const bootstrapProblemSpecs: Readonly<Record<string, ProblemSpec>> = bootstrapProblems.specs;

function form(reading: TreeReading): CheckResult {
  if (reading.kind !== 'tree')
    return foundOr([problemAt(reading, 'bootstrap-unreadable', { detail: reading.detail })], '');
  const { root } = reading;
  return isBootstrap(root) ? ok('YAML or JSON') : foundOr([problemAt(root, 'bootstrap-none')], '');
}

function isBootstrap({ entries }: MapNode): boolean {
  return entries.has('static_resources') || entries.has('dynamic_resources');
}

/** What rules find counts also where what they look at is said to be absent. */
function byRules(
  rules: (view: BootstrapView) => readonly Problem[],
  note: string,
  absence: Absence = () => undefined,
): (facts: BootstrapFacts) => CheckResult {
  return ({ reading }) => {
    if (reading.kind !== 'tree') return skipped('the file cannot be read');
    if (!isBootstrap(reading.root)) return skipped('this is no bootstrap');
    const view = viewBootstrap(reading.root);
    const found = rules(view);
    const absent = found.length === 0 ? absence(view) : undefined;
    return absent === undefined ? foundOr(found, note) : skipped(absent);
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

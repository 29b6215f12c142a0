// Rules for a bootstrap: how on-demand names are asked for, and what a client's handshake waits for. Pure.
import type { TreeNode } from './bootstrap-tree.ts';
import { problemAt } from './bootstrap-problem.ts';
import { envoyGrpcOf, type BootstrapView, type NameStream, type Selector } from './bootstrap-view.ts';
import type { Problem } from './problem-table.ts';
import { at, canonical, durationMs, findMaps, isOn, mapAt, mapsAt, textAt } from './tree-queries.ts';

const selectorFields = new Set(['@type', 'config_source', 'certificate_mapper', 'prefetch_secret_names']);

export function selectorRules({ selectors, root }: BootstrapView): readonly Problem[] {
  if (selectors.length === 0) {
    const isElsewhere = at(root, 'dynamic_resources', 'lds_config') !== undefined;
    return [problemAt(root, isElsewhere ? 'selector-elsewhere' : 'selector-missing')];
  }
  return [...selectors.flatMap(selectorProblems), ...differingSources(selectors)];
}

function selectorProblems({ node, source }: Selector): readonly Problem[] {
  const unknown = [...node.entries].filter(([field]) => !selectorFields.has(field));
  const problems = unknown.map(([field, value]) => problemAt(value, 'selector-field-unknown', { field }));
  const mapper = mapAt(node, 'certificate_mapper', 'typed_config');
  const isSni = textAt(mapper, '@type').endsWith('cert_mappers.sni.v3.SNI');
  if (isSni && textAt(mapper, 'default_value') === '') {
    problems.push(problemAt(mapper ?? node, 'selector-default-missing'));
  }
  const kind = otherKind(source);
  if (kind !== undefined) problems.push(problemAt(source ?? node, 'selector-not-delta', { kind }));
  return problems;
}

/** what stands in the place of delta ADS or of a delta stream */
function otherKind(source: TreeNode | undefined): string | undefined {
  if (at(source, 'ads') !== undefined || at(source, 'api_config_source') !== undefined) return undefined;
  return at(source, 'path_config_source') === undefined ? 'no API' : 'path_config_source';
}

/** byte for byte in protobuf, so that here the order of fields does not count */
function differingSources(selectors: readonly Selector[]): readonly Problem[] {
  const [first, ...others] = selectors.flatMap(({ source }) => source ?? []);
  if (first === undefined) return [];
  const expected = canonical(first);
  return others.flatMap((source) => {
    if (canonical(source) === expected) return [];
    return [problemAt(source, 'selector-sources-differ', { other: first.at.line })];
  });
}

export function adsRules({ root, adsConfig, clusters }: BootstrapView): readonly Problem[] {
  const sources = adsConfig === undefined ? findMaps(root, (node) => node.entries.has('ads')) : [];
  const missing = sources.map(({ node }) => problemAt(node.entries.get('ads') ?? node, 'ads-without-config'));
  const crashing = clusters.flatMap((cluster) => {
    const secrets = findMaps(cluster, (node) => at(node, 'sds_config', 'ads') !== undefined);
    return secrets.map(({ node }) => problemAt(node, 'ads-in-static-cluster', { cluster: textAt(cluster, 'name') }));
  });
  return [...missing, ...crashing];
}

export function streamRules(view: BootstrapView): readonly Problem[] {
  return [...view.streams.flatMap(streamProblems), ...statisticsProblems(view)];
}

function streamProblems(stream: NameStream): readonly Problem[] {
  const { node, kind: transport } = stream;
  const problems: Problem[] = [];
  const apiType = textAt(node, 'api_type');
  // 3 is DELTA_GRPC in the proto
  const isDelta = apiType === 'DELTA_GRPC' || apiType === '3';
  const kind = `api_type ${apiType === '' ? 'missing' : apiType}`;
  if (!isDelta) problems.push(problemAt(node, 'selector-not-delta', { kind }));
  if (!isOn(node, 'set_node_on_first_message_only')) problems.push(problemAt(node, 'node-on-every-message'));
  const grpc = envoyGrpcOf(stream);
  const longest = longestRetryMs(mapAt(grpc, 'retry_policy', 'retry_back_off'));
  if (grpc !== undefined && longest > longestGoodRetryMs) {
    const fields = { longest: `${longest / 1000} s`, transport };
    problems.push(problemAt(grpc, 'retry-back-off-long', fields));
  }
  return problems;
}

/** twice what is recommended */
const longestGoodRetryMs = 2_000;
/** Envoy's default: 0.5 s, growing to 30 s (measured: new names fail for 13 s after an outage of 8 s) */
const defaultLongestRetryMs = 30_000;

function longestRetryMs(backOff: TreeNode | undefined): number {
  if (backOff === undefined) return defaultLongestRetryMs;
  const base = durationMs(backOff, 'base_interval');
  // retry_back_off: max_interval defaults to ten times the base
  return durationMs(backOff, 'max_interval') ?? (base === undefined ? defaultLongestRetryMs : base * 10);
}

const namePatterns = [
  { kind: 'prefix', text: 'sds.' },
  { kind: 'contains', text: '.on_demand_secret.ssl.certificate.' },
];

function statisticsProblems({ root, selectors }: BootstrapView): readonly Problem[] {
  const matcher = at(root, 'stats_config', 'stats_matcher');
  const excluded = mapsAt(matcher, 'exclusion_list', 'patterns');
  const isOtherwise = isOn(matcher, 'reject_all') || at(matcher, 'inclusion_list') !== undefined;
  const hasRegex = excluded.some((pattern) => at(pattern, 'safe_regex') !== undefined);
  if (selectors.length === 0 || isOtherwise || hasRegex) return [];
  return namePatterns.flatMap(({ kind, text }) => {
    if (excluded.some((pattern) => textAt(pattern, kind) === text)) return [];
    return [problemAt(matcher ?? root, 'name-statistics', { pattern: `${kind} ${text}` })];
  });
}

/** leafgate answers within this by default (--answer-deadline) */
const answerDeadlineMs = 2_000;

export function handshakeRules({ selectors }: BootstrapView): readonly Problem[] {
  return selectors.flatMap(({ node, filterChain, tlsContext }) => [
    ...boundProblems(filterChain ?? node),
    ...resumptionProblems(tlsContext),
  ]);
}

function boundProblems(filterChain: TreeNode): readonly Problem[] {
  const given = textAt(filterChain, 'transport_socket_connect_timeout');
  if (given === '' || given === '0s') return [problemAt(filterChain, 'handshake-unbounded')];
  const time = durationMs(filterChain, 'transport_socket_connect_timeout');
  return time !== undefined && time <= answerDeadlineMs
    ? [problemAt(filterChain, 'handshake-time-short', { given })]
    : [];
}

const resumptionSwitches = ['disable_stateless_session_resumption', 'disable_stateful_session_resumption'];

function resumptionProblems(tlsContext: TreeNode | undefined): readonly Problem[] {
  if (tlsContext === undefined) return [];
  const missing = resumptionSwitches.filter((field) => !isOn(tlsContext, field));
  return missing.map((field) => problemAt(tlsContext, 'session-resumption', { field }));
}

// A bootstrap as the rules look at it: on-demand selectors with what they stand in, the configurations by which names are
// asked for, and the static clusters. Pure.
import type { MapNode } from './bootstrap-tree.ts';
import { at, findMaps, findMessages, isMessage, mapAt, mapsAt, textAt } from './tree-queries.ts';

export type Selector = {
  /** the on_demand_secret Config */
  readonly node: MapNode;
  readonly source: MapNode | undefined;
  readonly tlsContext: MapNode | undefined;
  readonly filterChain: MapNode | undefined;
  readonly listener: MapNode | undefined;
};

/** an ApiConfigSource by which on-demand names are asked for */
export type NameStream = { readonly node: MapNode; readonly kind: 'ads' | 'per-name' };

export type BootstrapView = {
  readonly root: MapNode;
  readonly selectors: readonly Selector[];
  readonly streams: readonly NameStream[];
  readonly adsConfig: MapNode | undefined;
  readonly clusters: readonly MapNode[];
  /** more clusters may come from there */
  readonly hasClusterDiscovery: boolean;
};

export function viewBootstrap(root: MapNode): BootstrapView {
  const selectors = findMessages(root, 'on_demand_secret.v3.Config').map(({ node, within }) => ({
    node,
    source: mapAt(node, 'config_source'),
    tlsContext: within.findLast((outer) => isMessage(outer, 'DownstreamTlsContext')),
    filterChain: within.findLast((outer) => outer.entries.has('transport_socket') && outer.entries.has('filters')),
    listener: within.findLast(isListener),
  }));
  const adsConfig = mapAt(root, 'dynamic_resources', 'ads_config');
  return {
    root,
    selectors,
    adsConfig,
    streams: streamsOf(selectors, adsConfig),
    clusters: mapsAt(root, 'static_resources', 'clusters'),
    hasClusterDiscovery: at(root, 'dynamic_resources', 'cds_config') !== undefined,
  };
}

function isListener(node: MapNode): boolean {
  return node.entries.has('filter_chains') || node.entries.has('default_filter_chain');
}

function streamsOf(selectors: readonly Selector[], adsConfig: MapNode | undefined): readonly NameStream[] {
  const perName = selectors.flatMap(({ source }) => mapAt(source, 'api_config_source') ?? []);
  const usesAds = selectors.some(({ source }) => at(source, 'ads') !== undefined);
  return [
    ...(usesAds && adsConfig !== undefined ? [{ node: adsConfig, kind: 'ads' } as const] : []),
    ...perName.map((node) => ({ node, kind: 'per-name' }) as const),
  ];
}

export function envoyGrpcOf({ node }: NameStream): MapNode | undefined {
  return mapsAt(node, 'grpc_services')
    .map((service) => mapAt(service, 'envoy_grpc'))
    .find((grpc) => grpc !== undefined);
}

/** The static clusters that names are asked for through, each once. */
export function sdsClusters({ streams, clusters }: BootstrapView): readonly MapNode[] {
  const names = new Set(streams.map((stream) => textAt(envoyGrpcOf(stream), 'cluster_name')));
  return clusters.filter((cluster) => names.has(textAt(cluster, 'name')));
}

/** the first unix socket among a cluster's endpoints */
export function socketOf(cluster: MapNode): string | undefined {
  const [pipe] = findMaps(cluster, (node) => node.entries.has('pipe'));
  const path = textAt(pipe?.node, 'pipe', 'path');
  return path === '' ? undefined : path;
}

export function nameOf(node: MapNode | undefined): string {
  const name = textAt(node, 'name');
  return name === '' ? 'without a name' : name;
}

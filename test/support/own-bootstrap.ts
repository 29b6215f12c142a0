// The bootstrap that docs/envoy.md prints, as text and as a value, and changes that break it in one place.
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

const page = readFileSync(new URL('../../docs/envoy.md', import.meta.url), 'utf8');

export const printedBootstrap = /```yaml\n(node:[^]*?)```/.exec(page)?.[1] ?? '';

export type Bootstrap = Record<string, unknown>;
export type Path = readonly (string | number)[];
export type Change = (bootstrap: Bootstrap) => void;

/** a copy of its own each time */
export function ownBootstrap(...changes: readonly Change[]): Bootstrap {
  const bootstrap = parse(printedBootstrap) as Bootstrap;
  for (const change of changes) change(bootstrap);
  return bootstrap;
}

export const listener: Path = ['static_resources', 'listeners', 0];
export const chain: Path = [...listener, 'filter_chains', 0];
export const tls: Path = [...chain, 'transport_socket', 'typed_config'];
export const selector: Path = [...tls, 'common_tls_context', 'custom_tls_certificate_selector', 'typed_config'];
export const ads: Path = ['dynamic_resources', 'ads_config'];
export const grpc: Path = [...ads, 'grpc_services', 0, 'envoy_grpc'];
export const sdsCluster: Path = ['static_resources', 'clusters', 0];

function valueAt(bootstrap: Bootstrap, path: Path): unknown {
  let found: unknown = bootstrap;
  for (const step of path) found = (found as Record<string | number, unknown>)[step];
  return found;
}

export function set(path: Path, value: unknown): Change {
  return (bootstrap) => {
    const [last = '', ...outer] = path.toReversed();
    (valueAt(bootstrap, outer.toReversed()) as Record<string | number, unknown>)[last] = value;
  };
}

export function drop(path: Path): Change {
  return (bootstrap) => {
    const [last = '', ...outer] = path.toReversed();
    Reflect.deleteProperty(valueAt(bootstrap, outer.toReversed()) as object, last);
  };
}

/** at the end of a list */
export function push(path: Path, value: unknown): Change {
  return (bootstrap) => {
    (valueAt(bootstrap, path) as unknown[]).push(value);
  };
}

export const addCluster = (cluster: object): Change => push(['static_resources', 'clusters'], cluster);

export const addHttpFilter = (filter: object): Change =>
  push([...chain, 'filters', 0, 'typed_config', 'http_filters'], filter);

/** a second listener that is like the first, but for a change */
export function addListener(...changes: readonly Change[]): Change {
  return (bootstrap) => {
    const copy = structuredClone(bootstrap);
    for (const change of changes) change(copy);
    const like = valueAt(copy, listener) as object;
    push(['static_resources', 'listeners'], { ...like, name: 'second' })(bootstrap);
  };
}

/** ADS is somebody else's, so that each name has a stream of its own, with `changes` to how it is asked for */
export function perName(...changes: readonly Change[]): Change {
  return (bootstrap) => {
    const source = structuredClone(valueAt(bootstrap, ads)) as Bootstrap;
    for (const change of changes) change(source);
    set([...selector, 'config_source'], { resource_api_version: 'V3', api_config_source: source })(bootstrap);
    const breaker = { max_requests: 32_768, max_pending_requests: 32_768 };
    set([...sdsCluster, 'circuit_breakers'], { thresholds: [breaker] })(bootstrap);
  };
}

export function originCluster(common: object): object {
  const type = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext';
  return {
    ...{ name: 'origins', type: 'STATIC', connect_timeout: '1s' },
    transport_socket: {
      name: 'envoy.transport_sockets.tls',
      typed_config: { '@type': type, common_tls_context: common },
    },
  };
}

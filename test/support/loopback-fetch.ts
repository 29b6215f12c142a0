// fetchThrough with a registry of its own, the settings that most tests share, and one call to end it all.
import { millis, systemClock } from '../../src/clock.ts';
import { fetchThrough } from '../../src/transport/fetch-through.ts';
import type { FetchRequest } from '../../src/transport/fetch-through.ts';
import type { FetchResult } from '../../src/transport/fetch-result.ts';
import { parseServerTrust } from '../../src/transport/server-trust.ts';
import type { ServerTrust } from '../../src/transport/server-trust.ts';
import { createTrustRegistry } from '../../src/transport/trust-registry.ts';
import type { TrustRegistry, TrustRegistryOptions } from '../../src/transport/trust-registry.ts';
import type { TestAuthority } from './test-certificates.ts';

export type LoopbackFetch = {
  readonly registry: TrustRegistry;
  readonly fetch: (url: string, trust: ServerTrust, more?: Partial<FetchRequest>) => Promise<FetchResult>;
  readonly close: () => Promise<void>;
};

export function createLoopbackFetch(options: Partial<TrustRegistryOptions> = {}): LoopbackFetch {
  const registry = createTrustRegistry({ clock: systemClock, ...options });
  return {
    registry,
    fetch: (url, trust, more) =>
      fetchThrough({ registry, clock: systemClock, url, trust, timeoutMs: millis(5000), ...more }),
    close: () => registry.close(),
  };
}

export function trustIn(authority: TestAuthority, serverName?: string): ServerTrust {
  const name = serverName === undefined ? {} : { serverName };
  return parseServerTrust({ bundle: authority.pem, source: 'test bundle', ...name });
}

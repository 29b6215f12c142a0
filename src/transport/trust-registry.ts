// The connections of a process, keyed by origin AND trust AND way (proxy, dialled address) AND what we show of ourselves.
// Two trusts never share a connection: one verified for the first would answer for the second. Equal trusts re-use theirs;
// a changed bundle has another key, so it dials anew and the old connections close when idle. Rule: coder/coder-k8s#275.
import { createHash } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { Clock, DurationMs, Timer } from '../clock.ts';
import { minutes, seconds } from '../clock.ts';
import type { SecretBytes } from '../secret-bytes.ts';
import type { ClientCredential } from './client-credential.ts';
import { dialTls } from './dial-tls.ts';
import { authorityOf } from './fetch-target.ts';
import type { FetchTarget } from './fetch-target.ts';
import type { HttpProxy } from './http-proxy.ts';
import { createOriginConnections, type OriginConnections } from './origin-connections.ts';
import { nameToVerify, trustKey } from './server-trust.ts';
import type { ServerTrust } from './server-trust.ts';
import { transportErrors } from './transport-errors.ts';

export type RegistrySettings = {
  /** connections to one origin under one trust */
  readonly maxConnections: number;
  /** origins times trusts times ways kept at once */
  readonly maxEntries: number;
  /** an entry without a request closes after this */
  readonly idleMs: DurationMs;
  /** a connection without a request closes after this */
  readonly keepAliveMs: DurationMs;
  /** longest from the first packet to a verified peer */
  readonly dialTimeoutMs: DurationMs;
};

export const registryDefaults: RegistrySettings = {
  maxConnections: 128,
  maxEntries: 256,
  idleMs: minutes(10),
  keepAliveMs: seconds(60),
  // longer than Envoy's own 5 s for a secret (design decision 1), so that the gateway's reason arrives before ours
  dialTimeoutMs: seconds(10),
};

export type Route = {
  readonly target: FetchTarget;
  readonly trust: ServerTrust;
  readonly proxy?: HttpProxy;
  /** shown to a server that asks for a certificate */
  readonly credential?: ClientCredential;
};

type TrustRegistryEvents = {
  /** a connection was verified */
  readonly connected?: () => void;
  readonly entryClosed?: (why: 'idle' | 'evicted') => void;
};

export type TrustRegistryOptions = {
  readonly clock: Clock;
  readonly settings?: Partial<RegistrySettings>;
  readonly events?: TrustRegistryEvents;
  /** for the test that shows what happens when a part of the key is left out; else `routeKey` */
  readonly keyOf?: (route: Route) => string;
};

export interface TrustRegistry {
  /** Lends the connections of a route while `run` runs. Throws `transport-registry-full` and `-closed`. */
  use<T>(route: Route, run: (connections: OriginConnections) => Promise<T>): Promise<T>;
  /** entries held, idle ones included */
  size(): number;
  /** ends every connection, in use or not */
  close(): Promise<void>;
}

/** What may share a connection: all of it must be equal. */
export function routeKey({ target, trust, proxy, credential }: Route): string {
  const dial = target.dial === undefined ? '' : authorityOf(target.dial);
  const way = proxy === undefined ? '' : `${proxy.authority} ${digestOf(proxy.authorization)}`;
  return [target.origin, trustKey(trust, target.endpoint.host), dial, way, credential?.sha256 ?? ''].join('\n');
}

/** two users of one proxy may be treated differently by it */
function digestOf(authorization: SecretBytes | undefined): string {
  return authorization === undefined ? '' : createHash('sha256').update(authorization.reveal()).digest('hex');
}

type Entry = {
  readonly connections: OriginConnections;
  readonly ended: AbortController;
  active: number;
  /** order of use, for evicting the longest unused */
  lastUse: number;
  idle: Timer | undefined;
};

export function createTrustRegistry(options: TrustRegistryOptions): TrustRegistry {
  return new ConnectionsByRoute(options);
}

class ConnectionsByRoute implements TrustRegistry {
  readonly #options: TrustRegistryOptions;
  readonly #settings: RegistrySettings;
  readonly #entries = new Map<string, Entry>();
  readonly #closing = new Set<Promise<void>>();
  #uses = 0;
  #isClosed = false;

  constructor(options: TrustRegistryOptions) {
    this.#options = options;
    this.#settings = { ...registryDefaults, ...options.settings };
  }

  async use<T>(route: Route, run: (connections: OriginConnections) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw transportErrors.error('transport-registry-closed');
    const key = (this.#options.keyOf ?? routeKey)(route);
    const entry = this.#entries.get(key) ?? this.#open(key, route);
    entry.idle?.cancel();
    entry.active += 1;
    entry.lastUse = this.#uses += 1;
    try {
      return await run(entry.connections);
    } finally {
      this.#release(key, entry);
    }
  }

  size(): number {
    return this.#entries.size;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const [key, entry] of this.#entries) this.#remove(key, entry);
    await Promise.all(this.#closing);
  }

  #open(key: string, route: Route): Entry {
    if (this.#entries.size >= this.#settings.maxEntries) this.#makeRoom();
    const entry = openEntry(route, this.#settings, this.#options);
    this.#entries.set(key, entry);
    return entry;
  }

  #makeRoom(): void {
    const oldest = longestUnused(this.#entries);
    if (oldest === undefined) {
      throw transportErrors.error('transport-registry-full', { limit: this.#settings.maxEntries });
    }
    this.#remove(...oldest);
    this.#options.events?.entryClosed?.('evicted');
  }

  #release(key: string, entry: Entry): void {
    entry.active -= 1;
    if (entry.active > 0 || this.#isClosed) return;
    entry.idle = this.#options.clock.after(this.#settings.idleMs, () => {
      this.#remove(key, entry);
      this.#options.events?.entryClosed?.('idle');
    });
  }

  #remove(key: string, entry: Entry): void {
    this.#entries.delete(key);
    const closed = endEntry(entry).finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
  }
}

function openEntry(route: Route, settings: RegistrySettings, options: TrustRegistryOptions): Entry {
  const { target, trust, proxy } = route;
  const ended = new AbortController();
  const secureContext = createSecureContext({
    ca: trust.anchorsPem(),
    minVersion: 'TLSv1.2',
    ...identityOf(route.credential),
  });
  const dial = async () => {
    const connection = await dialTls({
      endpoint: target.dial ?? target.endpoint,
      secureContext,
      serverName: nameToVerify(trust, target.endpoint.host),
      timeoutMs: settings.dialTimeoutMs,
      clock: options.clock,
      ended: ended.signal,
      ...(proxy === undefined ? {} : { proxy }),
    });
    options.events?.connected?.();
    return connection;
  };
  const connections = createOriginConnections(target.origin, dial, settings);
  return { connections, ended, active: 0, lastUse: 0, idle: undefined };
}

function identityOf(credential: ClientCredential | undefined): { cert?: string; key?: Buffer } {
  if (credential === undefined) return {};
  return { cert: credential.certificatePem, key: Buffer.from(credential.keyPem.reveal()) };
}

async function endEntry(entry: Entry): Promise<void> {
  entry.idle?.cancel();
  entry.ended.abort();
  await entry.connections.destroy();
}

function longestUnused(entries: ReadonlyMap<string, Entry>): [string, Entry] | undefined {
  return [...entries].filter(([, entry]) => entry.active === 0).sort(([, a], [, b]) => a.lastUse - b.lastUse)[0];
}

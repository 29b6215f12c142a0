// The minting half, which `up`, `run` and `sds` share: a followed pool, a minter and an SDS server.
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { between, type Clock } from '../clock.ts';
import type { Health } from '../observe/health-server.ts';
import { createMinter } from '../mint/create-minter.ts';
import type { MinterParts } from '../mint/create-minter.ts';
import { shortestLeafMs } from '../mint/mint-settings.ts';
import type { Metrics } from '../observe/create-metrics.ts';
import type { Log } from '../observe/log.ts';
import { followPoolFile } from '../pool/follow-pool-file.ts';
import type { Pool } from '../pool/pool-types.ts';
import { looseModeOf } from '../pool/read-pool-file.ts';
import { createSdsServer, type SdsServer } from '../sds/sds-server.ts';
import type { Quantities } from '../settings/read-settings.ts';
import { mintEvents, sdsEvents } from './mint-wiring.ts';
import type { Surroundings } from './surroundings.ts';

export type MintingParts = Surroundings & {
  readonly poolFile: string;
  readonly place: MintingPlace;
  readonly quantities: Quantities;
  readonly allowEd25519: boolean;
  readonly mayMint: MinterParts['mayMint'];
  /** the pool is mounted by a kubelet, for this user's group to read; default false */
  readonly isPoolMounted?: boolean;
  /** another pool signs from now on */
  readonly onPool: (pool: Pool) => void;
};

/** Where peers reach the SDS server. */
export type MintingPlace = {
  readonly kind: 'unix-socket' | 'tls' | 'plaintext';
  /** of all peers together; default: what a unix socket is given */
  readonly maxConnections?: number;
  /** called when there is a pool to sign with; what it opens is closed before the server is */
  readonly open: (server: SdsServer) => Promise<void>;
  /** why nobody new can connect any more; undefined while they can */
  readonly lost: () => string | undefined;
};

/** A unix socket with mode 0600: who may open it is the file system's to say. */
export function onSocket(path: string): MintingPlace {
  return {
    kind: 'unix-socket',
    open: (server) => server.listenOnSocket(path),
    lost: () => (existsSync(path) ? undefined : `the socket ${path} is gone: restart`),
  };
}

export type Minting = {
  readonly server: SdsServer;
  readonly pool: () => Pool;
  readonly readiness: () => Health;
};

/** how long streams may end by themselves on a stop; xDS streams never do, so this is what a stop costs */
const stopGraceMs = 500;

/** Starts in the order that keeps the socket closed until there is a pool to sign with. */
export async function startMinting(parts: MintingParts): Promise<Minting> {
  const { clock, log, metrics, closers } = parts;
  let trouble: string | undefined;
  const follower = await followPoolFile({
    path: parts.poolFile,
    clock,
    allowEd25519: parts.allowEd25519,
    shortestLeafMs,
    events: {
      poolTaken: (pool) => {
        trouble = undefined;
        metrics.count('leafgate_pool_reloads_total', { taken: 'yes' });
        log.info('pool taken', { path: parts.poolFile, caId: pool.active.id });
        reportPool(pool, log, metrics);
        server.reviewHeldNames();
        parts.onPool(pool);
      },
      poolRefused: (error) => {
        trouble = error.message;
        metrics.count('leafgate_pool_reloads_total', { taken: 'no' });
        log.error('pool refused, the last good one goes on signing', { detail: error.message, code: error.code });
      },
    },
  });
  closers.add('pool', () => follower.close());
  if (parts.isPoolMounted !== true) await warnOfLooseMode(parts.poolFile, log);
  reportPool(follower.current(), log, metrics);
  const server = createServer(parts, () => follower.current());
  closers.add('SDS server', () => server.close(stopGraceMs));
  await parts.place.open(server);
  metrics.set('leafgate_sds_channel', 1, { kind: parts.place.kind });
  metrics.beforeScrape(() => {
    const { liveNames, waiting } = server.status();
    metrics.set('leafgate_sds_live_names', liveNames);
    metrics.set('leafgate_sds_waiting_names', waiting);
  });
  return {
    server,
    pool: () => follower.current(),
    readiness: () => {
      const lost = parts.place.lost();
      return lost === undefined
        ? mintingReadiness(follower.current(), trouble, clock)
        : { isOk: false, reasons: [lost] };
    },
  };
}

async function warnOfLooseMode(path: string, log: Log): Promise<void> {
  const mode = await looseModeOf(path);
  if (mode === undefined) return;
  log.warn('the pool file holds CA keys and is not private', {
    path,
    detail: `its mode is ${mode}: chmod 600 ${path}`,
  });
}

function createServer(
  { mayMint, clock, quantities, log, metrics, place: { maxConnections } }: MintingParts,
  pool: () => Pool,
): SdsServer {
  const watch = { log, metrics, clock };
  const minter = createMinter({
    pool,
    mayMint,
    clock,
    randomBytes: (count) => randomBytes(count),
    settings: {
      leafLifetimeMs: quantities.leafTtl,
      maxCachedLeaves: quantities.maxCachedLeaves,
      missesPerSecond: quantities.mintRate,
      missBurst: quantities.mintBurst,
      answerDeadlineMs: quantities.answerDeadline,
    },
    events: mintEvents(watch),
  });
  const parts = { minter, clock, settings: sdsSettings(quantities), events: sdsEvents(watch) };
  return createSdsServer({ ...parts, ...(maxConnections === undefined ? {} : { maxConnections }) });
}

function sdsSettings(quantities: Quantities): Parameters<typeof createSdsServer>[0]['settings'] {
  return {
    maxLiveNames: quantities.maxLiveNames,
    answerDeadlineMs: quantities.answerDeadline,
    maxAdsMessageBytes: quantities.maxAdsMessage,
    maxPerNameMessageBytes: quantities.maxSecretsMessage,
  };
}

/** Not ready while no new leaf can be signed; a pool file that went bad is worth a reason, since the last good one signs. */
function mintingReadiness({ signer }: Pool, trouble: string | undefined, clock: Clock): Health {
  const reasons = trouble === undefined ? [] : [`the last good pool signs: ${trouble}`];
  const now = clock.now();
  if (between(now, signer.notAfter) < shortestLeafMs) {
    return { isOk: false, reasons: [...reasons, `the signing CA ends at ${new Date(signer.notAfter).toISOString()}`] };
  }
  if (signer.certificate.notBefore > now) {
    const from = new Date(signer.certificate.notBefore).toISOString();
    return { isOk: false, reasons: [...reasons, `the signing CA is not valid before ${from}`] };
  }
  return { isOk: true, reasons };
}

function reportPool(pool: Pool, log: Log, metrics: Metrics): void {
  metrics.set('leafgate_pool_cas', pool.cas.length);
  metrics.set('leafgate_signer_not_after_seconds', Math.floor(pool.signer.notAfter / 1000));
  for (const fault of pool.faults)
    log.warn('a CA was left out of the pool', { detail: fault.message, code: fault.code });
}

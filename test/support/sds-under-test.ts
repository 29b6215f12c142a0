// The product's SDS server in the test's own process: real pool, real minter, real gRPC edge, with counters, and with
// the two things that a separate process would not let a test do: leaves that live for seconds, and a broken minter.
import { randomBytes } from 'node:crypto';
import type { ChannelMaterial } from '../../src/channel/channel-material.ts';
import type { AllowedClients } from '../../src/settings/sds-server-settings.ts';
import { TlsChannel } from '../../src/channel/tls-channel.ts';
import { epoch, hours, systemClock } from '../../src/clock.ts';
import type { DurationMs } from '../../src/clock.ts';
import { createMinter } from '../../src/mint/create-minter.ts';
import type { MinterParts } from '../../src/mint/create-minter.ts';
import { silentMintEvents } from '../../src/mint/mint-events.ts';
import { defaultMintSettings } from '../../src/mint/mint-settings.ts';
import type { Minter } from '../../src/mint/mint-types.ts';
import { createPool } from '../../src/pool/create-pool.ts';
import { parsePool } from '../../src/pool/parse-pool.ts';
import type { Pool } from '../../src/pool/pool-types.ts';
import { silentSdsEvents } from '../../src/sds/sds-events.ts';
import type { Answer, SdsEvents } from '../../src/sds/sds-events.ts';
import { createSdsServer } from '../../src/sds/sds-server.ts';
import type { SdsServer } from '../../src/sds/sds-server.ts';
import { defaultSdsSettings, maxTcpConnections } from '../../src/sds/sds-settings.ts';
import type { SdsSettings } from '../../src/sds/sds-settings.ts';
import { parseListenAddress } from '../../src/settings/parse-listen.ts';
import { encodeCertificatesPem } from '../../src/x509/pem.ts';

type Rejection = Parameters<SdsEvents['rejected']>[0];

export type SdsUnderTest = {
  readonly server: SdsServer;
  /** where it listens on TCP */
  readonly channel: TlsChannel | undefined;
  /** leaves signed so far */
  minted(): number;
  readonly answers: readonly Answer[];
  readonly rejections: readonly Rejection[];
  /** another pool signs from now on, as when the file has changed */
  usePool(pool: Pool): void;
  /** what may be minted from now on */
  allowOnly(mayMint: MinterParts['mayMint']): void;
  stop(): Promise<void>;
};

export type SdsOptions = {
  readonly socket: string;
  /** TCP with mutual TLS in place of the socket */
  readonly channel?: { readonly port: number; readonly material: ChannelMaterial; readonly clients: AllowedClients };
  readonly pool: Pool;
  readonly leafLifetimeMs?: DurationMs;
  readonly settings?: Partial<SdsSettings>;
  /** stands between the server and the real minter, to break what it says */
  readonly wrapMinter?: (minter: Minter) => Minter;
};

const mintAnything: MinterParts['mayMint'] = () => ({ allowed: true, rule: 'test' });

export async function startSdsUnderTest(options: SdsOptions): Promise<SdsUnderTest> {
  let { pool } = options;
  let mayMint = mintAnything;
  let minted = 0;
  const answers: Answer[] = [];
  const rejections: Rejection[] = [];
  const minter = createMinter({
    pool: () => pool,
    mayMint: (name) => mayMint(name),
    clock: systemClock,
    randomBytes,
    settings: { ...defaultMintSettings, leafLifetimeMs: options.leafLifetimeMs ?? hours(1) },
    events: { ...silentMintEvents, minted: () => (minted += 1) },
  });
  const server = createSdsServer({
    minter: options.wrapMinter?.(minter) ?? minter,
    clock: systemClock,
    settings: { ...defaultSdsSettings, ...options.settings },
    events: {
      ...silentSdsEvents,
      answered: (answer) => answers.push(answer),
      rejected: (nack) => rejections.push(nack),
    },
  });
  const channel = await listen(server, options);
  return {
    server,
    channel,
    minted: () => minted,
    answers,
    rejections,
    usePool: (next) => {
      pool = next;
      server.reviewHeldNames();
    },
    allowOnly: (next) => {
      mayMint = next;
      server.reviewHeldNames();
    },
    stop: () => {
      channel?.close();
      return server.close(0);
    },
  };
}

async function listen(server: SdsServer, { socket, channel }: SdsOptions): Promise<TlsChannel | undefined> {
  if (channel === undefined) {
    await server.listenOnSocket(socket);
    return undefined;
  }
  const tls = new TlsChannel({
    ...{ ...channel, clock: systemClock },
    events: { admitted: () => undefined, refused: () => undefined, ended: () => undefined },
    serve: (accepted) => server.serve(accepted),
    maxConnections: maxTcpConnections,
  });
  await tls.listen(parseListenAddress(`127.0.0.1:${channel.port}`));
  return tls;
}

/** a pool with one new CA */
export function createTestPool(): Pool {
  const now = epoch(Date.now());
  const bytes = createPool({ now, randomBytes }).reveal();
  return parsePool(bytes, { source: 'test pool', now, allowEd25519: false, shortestLeafMs: hours(1) });
}

export function anchorPem(pool: Pool): string {
  return encodeCertificatesPem([pool.active.anchor]);
}

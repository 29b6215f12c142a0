// Which Envoys the SDS suites run against, and the set-up that they share. By default the oldest with the selector and
// the one that the product brings; LEAFGATE_TEST_ENVOYS=1.38.3,1.39.3 names others (installed by
// `node test/support/install-tools.mjs --envoy 1.38.3 --envoy 1.39.3`).
import { createSecureContext } from 'node:tls';
import { afterEach } from 'vitest';
import { makeCurrentCa } from './credential-workshop.ts';
import { describeWithTools } from './describe-with-tools.ts';
import { startEnvoyUnderTest } from './envoy-under-test.ts';
import type { EnvoyUnderTest } from './envoy-under-test.ts';
import type { SdsTransport } from './minimal-bootstrap.ts';
import { freePort } from './free-port.ts';
import { createRemoteSds, listedClients, serverMaterial } from './remote-sds.ts';
import { anchorPem, createTestPool, startSdsUnderTest } from './sds-under-test.ts';
import type { SdsOptions, SdsUnderTest } from './sds-under-test.ts';
import { createTempFolder } from './temp-folder.ts';
import type { TempFolder } from './temp-folder.ts';
import { openTls, succeedingHandshake, tlsHandshake } from './tls-client.ts';
import type { Handshake, HandshakeOptions, SucceededHandshake } from './tls-client.ts';
import type { EnvoyVersion } from './tools.ts';

export type SdsSetup = {
  readonly folder: TempFolder;
  readonly socket: string;
  readonly pool: SdsOptions['pool'];
  readonly startSds: (options?: Partial<SdsOptions>) => Promise<SdsUnderTest>;
  /** a second call starts another one beside or after the first */
  readonly startEnvoy: () => Promise<EnvoyUnderTest>;
};

const transports: readonly SdsTransport[] = ['ads', 'delta-grpc'];

/** TCP with the newest alone: what Envoy makes of TLS does not depend on what it asks for */
const places = (version: EnvoyVersion): readonly ('unix' | 'tcp')[] =>
  version === '1.40.0' ? ['unix', 'tcp'] : ['unix'];

/** Runs `body` once for each Envoy, transport and place. What `setup` started is ended after each test. */
export function describeOnEnvoys(title: string, body: (setup: () => SdsSetup) => void): void {
  for (const version of versions()) {
    for (const [transport, place] of transports.flatMap((one) =>
      places(version).map((other) => [one, other] as const),
    )) {
      const tool = `envoy-${version}` as const;
      describeWithTools(`${title}: Envoy ${version}, ${transport}, ${place}`, [tool], (paths) => {
        const open: { stop(): Promise<unknown> }[] = [];
        const folders: TempFolder[] = [];
        const envoys: EnvoyUnderTest[] = [];
        afterEach(async (context) => {
          if (context.task.result?.state === 'fail') {
            for (const envoy of envoys) process.stderr.write(`--- log of Envoy ${envoy.pid}\n${envoy.log()}\n`);
          }
          for (const one of open.splice(0).reverse()) await one.stop();
          for (const folder of folders.splice(0)) folder.remove();
          envoys.splice(0);
        });
        body(() => {
          const folder = createTempFolder();
          folders.push(folder);
          const socket = folder.file('sds.sock');
          const pool = createTestPool();
          const remote = place === 'tcp' ? createRemote(folder) : undefined;
          return {
            folder,
            socket,
            pool,
            startSds: async (options = {}) => {
              const channel = (await remote)?.channel;
              const sds = await startSdsUnderTest({ socket, pool, ...(channel && { channel }), ...options });
              open.push(sds);
              return sds;
            },
            startEnvoy: async () => {
              const sub = createTempFolder();
              folders.push(sub);
              const envoy = await startEnvoyUnderTest({
                binary: paths[tool],
                folder: sub,
                sdsSocket: socket,
                sdsCluster: (await remote)?.cluster,
                transport,
              });
              open.push(envoy);
              envoys.push(envoy);
              return envoy;
            },
          };
        });
      });
    }
  }
}

type Remote = { readonly channel: NonNullable<SdsOptions['channel']>; readonly cluster: object };

async function createRemote(folder: TempFolder): Promise<Remote> {
  const ca = makeCurrentCa('channel');
  const port = await freePort();
  const { cluster } = createRemoteSds({ folder: folder.path, ports: [port], ca });
  return { channel: { port, material: serverMaterial(ca), clients: listedClients }, cluster };
}

export type BrowsingClient = {
  /** a handshake that must succeed and verify with the pool's anchor */
  visit(name: string | undefined, options?: Partial<HandshakeOptions>): Promise<SucceededHandshake>;
  /** a handshake, whatever becomes of it */
  knock(name: string | undefined, options?: Partial<HandshakeOptions>): Promise<Handshake>;
  open(name: string): ReturnType<typeof openTls>;
};

/** A client of that Envoy that trusts that pool. */
export function clientOf(envoy: EnvoyUnderTest, pool: SdsOptions['pool']): BrowsingClient {
  const ca = anchorPem(pool);
  const context = createSecureContext({ ca });
  const withTrust = (name: string | undefined, options: Partial<HandshakeOptions> = {}): HandshakeOptions => ({
    port: envoy.port,
    name,
    // the versions are part of a context
    ...(options.maxVersion === undefined ? { context } : { ca }),
    ...options,
  });
  return {
    visit: async (name, options) => {
      const handshake = await succeedingHandshake(withTrust(name, options));
      if (!handshake.authorized && name !== undefined) {
        throw new Error(`not trusted for ${name}: ${handshake.verifyError ?? ''}`);
      }
      return handshake;
    },
    knock: (name, options) => tlsHandshake(withTrust(name, options)),
    open: (name) => openTls(withTrust(name)),
  };
}

function versions(): readonly EnvoyVersion[] {
  const chosen = process.env['LEAFGATE_TEST_ENVOYS'];
  return chosen === undefined ? ['1.37.0', '1.40.0'] : (chosen.split(',') as EnvoyVersion[]);
}

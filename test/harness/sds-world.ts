// What a protocol check gets: a server under test with a scripted minter, a clock that the check moves, peers that
// connect, and a list of what the server reported.
import type { Clock } from '../../src/clock.ts';
import type { Minter } from '../../src/mint/mint-types.ts';
import { SdsCore } from '../../src/sds/sds-core.ts';
import { silentSdsEvents } from '../../src/sds/sds-events.ts';
import type { Answer, SdsEvents, StreamKind } from '../../src/sds/sds-events.ts';
import { defaultSdsSettings } from '../../src/sds/sds-settings.ts';
import type { SdsSettings } from '../../src/sds/sds-settings.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import type { FakeClock } from '../support/fake-clock.ts';
import { ScriptedMinter } from './scripted-minter.ts';
import { SdsTalk } from './sds-talk.ts';
import type { Wire } from './sds-talk.ts';

type ServerParts = {
  readonly minter: Minter;
  readonly clock: Clock;
  readonly settings: SdsSettings;
  readonly events: SdsEvents;
};

type ServerUnderTest = {
  connect(kind: StreamKind): Wire;
  /** pool or policy changed */
  review(): void;
  status(): { readonly streams: number; readonly liveNames: number; readonly waiting: number };
};

export type MakeServer = (parts: ServerParts) => ServerUnderTest;

type Rejection = Parameters<SdsEvents['rejected']>[0];

export type SdsWorld = {
  readonly minter: ScriptedMinter;
  readonly clock: FakeClock;
  readonly server: ServerUnderTest;
  readonly answers: readonly Answer[];
  readonly rejections: readonly Rejection[];
  /** codes of bad requests */
  readonly told: readonly string[];
  readonly connect: (kind?: StreamKind) => SdsTalk;
};

export function createSdsWorld(makeServer: MakeServer, settings: Partial<SdsSettings> = {}): SdsWorld {
  const clock = createFakeClock();
  const minter = new ScriptedMinter(clock);
  const answers: Answer[] = [];
  const rejections: Rejection[] = [];
  const told: string[] = [];
  const server = makeServer({
    minter,
    clock,
    settings: { ...defaultSdsSettings, ...settings },
    events: {
      ...silentSdsEvents,
      answered: (answer) => answers.push(answer),
      rejected: (nack) => rejections.push(nack),
      badRequest: (error) => told.push(error.code),
    },
  });
  return {
    minter,
    clock,
    server,
    answers,
    rejections,
    told,
    connect: (kind = 'ads') => new SdsTalk(server.connect(kind), clock),
  };
}

/** The product: everything but gRPC and the socket. */
export const makeGoodServer: MakeServer = (parts) => {
  const core = new SdsCore(parts);
  return {
    connect(kind) {
      const sent: Buffer[] = [];
      const stream = core.openStream(kind, {
        send: (message) => sent.push(message),
        end: () => core.closeStream(stream, 'peer-done'),
      });
      return {
        send: (message) => void stream.receive(message),
        take: () => sent.splice(0, sent.length),
        hangUp: () => core.closeStream(stream, 'peer-left'),
      };
    },
    review: () => core.reviewHeldNames(),
    status: () => core.status(),
  };
};

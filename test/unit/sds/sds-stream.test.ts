// What lies between the protocol machine and the wire: requests taken in by parts, turns of streams, deadlines, peers
// that do not read, names that are told to go.
import { describe, expect, it } from 'vitest';
import { minutes } from '../../../src/clock.ts';
import { SdsCore } from '../../../src/sds/sds-core.ts';
import { silentSdsEvents } from '../../../src/sds/sds-events.ts';
import { defaultSdsSettings, maxLeavingNames, maxNamesPerStream } from '../../../src/sds/sds-settings.ts';
import type { SdsStream } from '../../../src/sds/sds-stream.ts';
import { ScriptedMinter } from '../../harness/scripted-minter.ts';
import { decodeXdsResponse, encodeXdsRequest } from '../../harness/xds-messages.ts';
import type { XdsRequest, XdsResponse } from '../../harness/xds-messages.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

type Peer = {
  readonly stream: SdsStream;
  readonly sent: readonly Buffer[];
  readonly send: (request: XdsRequest) => Promise<void> | undefined;
  readonly ask: (count: number, prefix?: string) => Promise<void> | undefined;
  readonly answers: () => readonly XdsResponse[];
};

function start(maxLiveNames: number = defaultSdsSettings.maxLiveNames) {
  const clock = createFakeClock();
  const minter = new ScriptedMinter(clock);
  const whys: string[] = [];
  const core = new SdsCore({
    minter,
    clock,
    settings: { ...defaultSdsSettings, maxLiveNames },
    events: { ...silentSdsEvents, answered: ({ why }) => whys.push(why ?? 'secret') },
  });
  let ended = 0;
  const connect = (kind: SdsStream['kind'] = 'ads'): Peer => {
    const sent: Buffer[] = [];
    const stream = core.openStream(kind, { send: (message) => sent.push(message), end: () => (ended += 1) });
    const send = (request: XdsRequest) => stream.receive(encodeXdsRequest(request));
    return {
      stream,
      sent,
      send,
      ask: (count, prefix = 'n') => send({ subscribe: namesOf(count, prefix) }),
      answers: () => sent.map((message) => decodeXdsResponse(message)),
    };
  };
  return { ...connect(), connect, clock, minter, core, whys, ended: () => ended };
}

function namesOf(count: number, prefix = 'n'): readonly string[] {
  return Array.from({ length: count }, (_, at) => `${prefix}${at}.test`);
}

describe('a request with many names', () => {
  it('is minted a few names a turn, so that others get theirs in between', () => {
    const { ask, minter, connect, clock } = start();
    void ask(200);
    expect(minter.minted).toHaveLength(64);
    const other = connect('per-name');
    void other.ask(1, 'other');
    clock.advance(0);
    expect(minter.minted).toHaveLength(201);
    expect(other.sent).toHaveLength(1);
  });

  it('costs no mint for the names that are given up before their turn', () => {
    const { ask, minter, send, clock } = start();
    void ask(200);
    void send({ unsubscribe: namesOf(200) });
    clock.advance(0);
    expect(minter.minted).toHaveLength(64);
  });

  it('is read no further before it is taken in full', async () => {
    const { ask, clock, core } = start();
    expect(ask(1)).toBeUndefined();
    let isTaken = false;
    const taken = ask(1000, 'many')?.then(() => (isTaken = true));
    await Promise.resolve();
    expect([isTaken, core.status().waiting]).toEqual([false, 0]);
    clock.advance(10);
    await taken;
    expect(isTaken).toBe(true);
  });

  it('that breaks off after thousands of names is refused then', async () => {
    const { stream, clock } = start();
    const broken = Buffer.concat([encodeXdsRequest({ subscribe: namesOf(2000) }), Buffer.from([0x12, 0xff])]);
    const taken = stream.receive(broken);
    clock.advance(10);
    await expect(taken).rejects.toMatchObject({ code: 'sds-request-malformed' });
  });

  it('of a peer that sends no more is answered in full before the stream ends', () => {
    const { ask, stream, sent, clock, ended } = start();
    void ask(1000);
    stream.peerIsDone();
    expect(ended()).toBe(0);
    clock.advance(100);
    expect([sent.length, ended()]).toEqual([1000, 1]);
  });

  it('is forgotten with its stream, and whoever waits for it is told', async () => {
    const { ask, core, stream, minter, clock } = start();
    const taken = ask(10_000);
    core.closeStream(stream, 'peer-left');
    await taken;
    const minted = minter.minted.length;
    clock.advance(100);
    expect(minter.minted).toHaveLength(minted);
  });
});

describe('six peers that ask 49,000 names each', () => {
  it('delay another by a few turns only, and no step of the server sends more than 128 answers', () => {
    const { connect, clock } = start();
    const greedy = Array.from({ length: 6 }, () => connect());
    for (const [index, peer] of greedy.entries()) void peer.ask(49_000, `s${index}-`);
    const sent = () => greedy.reduce((sum, peer) => sum + peer.sent.length, 0);
    const good = connect();
    const turnsWaited: number[] = [];
    let most = 0;
    for (let asked = 0; asked < 20; asked += 1) {
      void good.ask(1, `good${asked}-`);
      for (let turns = 0; ; turns += 1) {
        if (good.sent.length > asked) {
          turnsWaited.push(turns);
          break;
        }
        const before = sent();
        clock.advanceToNext();
        most = Math.max(most, sent() - before);
      }
    }
    expect(Math.max(...turnsWaited)).toBeLessThanOrEqual(8);
    expect(most).toBeLessThanOrEqual(128);
  });

  it('are let go when their time is over, in turns, while what one of them asks then is minted', () => {
    const { connect, clock, core, whys } = start();
    const greedy = Array.from({ length: 6 }, () => connect());
    for (const [index, peer] of greedy.entries()) void peer.ask(1000, `s${index}-`);
    while (core.status().waiting < 4000) clock.advanceToNext();
    // turns take no time on this clock: what waits grows late while nobody reads
    for (const peer of greedy) peer.stream.block();
    clock.advance(3000);
    for (const peer of greedy) peer.stream.unblock();
    whys.length = 0;
    void greedy[0]?.ask(1, 'fresh');
    let most = 0;
    for (let before = whys.length; !whys.includes('secret'); before = whys.length) {
      clock.advanceToNext();
      most = Math.max(most, whys.length - before);
    }
    expect(greedy[0]?.answers().some(({ resources }) => resources[0]?.name === 'fresh0.test')).toBe(true);
    expect(core.status().waiting).toBeGreaterThan(3000);
    expect(most).toBeLessThanOrEqual(65);
    clock.advance(1);
    expect(whys.filter((why) => why !== 'deadline')).toEqual(['secret']);
    expect(core.status().waiting).toBe(0);
  });
});

describe('the answer deadline', () => {
  it('counts from the ask, also for a leaf that takes long and got its turn late', () => {
    const { ask, minter, clock, whys, stream } = start();
    minter.makeSlow('n0.test');
    minter.makeSlow('n1.test');
    stream.block();
    void ask(2);
    clock.advance(1500);
    stream.unblock();
    clock.advance(499);
    expect(whys).toEqual([]);
    clock.advance(1);
    expect(whys).toEqual(['deadline', 'deadline']);
    minter.finish('n0.test');
    expect(clock.pendingTimers()).toBe(1);
  });

  it('has one timer for all that is under way', () => {
    const { ask, minter, clock } = start();
    for (const name of namesOf(50)) minter.makeSlow(name);
    const timers = clock.pendingTimers();
    void ask(50);
    clock.advance(10);
    expect(clock.pendingTimers()).toBe(timers + 1);
  });
});

describe('names beyond the limit of a stream', () => {
  it('are removed for a reason of their own, a few a turn', () => {
    const { ask, clock, whys, sent } = start(maxNamesPerStream);
    void ask(maxNamesPerStream + 1000);
    let most = 0;
    while (whys.length < maxNamesPerStream + 1000) {
      const before = sent.length;
      clock.advanceToNext();
      most = Math.max(most, sent.length - before);
    }
    expect(most).toBeLessThanOrEqual(128);
    expect(whys.filter((why) => why === 'too-many-names')).toHaveLength(1000);
    expect(whys.filter((why) => why !== 'too-many-names' && why !== 'secret')).toEqual([]);
  });
});

describe('a peer that does not read', () => {
  it('gets nothing minted until it reads again', () => {
    const { ask, minter, stream, clock, answers } = start();
    stream.block();
    void ask(3);
    clock.advance(1000);
    expect(minter.minted).toHaveLength(0);
    stream.unblock();
    clock.advance(0);
    expect(answers().map(({ resources }) => resources.length)).toEqual([1, 1, 1]);
  });

  it('hears a removal for what it asked more than two seconds ago', () => {
    const { ask, minter, stream, clock, whys } = start();
    stream.block();
    void ask(2);
    clock.advance(2001);
    stream.unblock();
    clock.advance(0);
    expect(whys).toEqual(['deadline', 'deadline']);
    expect(minter.minted).toHaveLength(0);
  });
});

describe('names that are told to go', () => {
  it('by a peer that never answers are so many at most, then it gets nothing new', () => {
    const { ask, clock, whys, core } = start(1);
    void ask(maxLeavingNames + 50);
    clock.advance(0);
    expect(whys.filter((why) => why === 'secret')).toHaveLength(maxLeavingNames + 1);
    expect(whys.filter((why) => why === 'peer-behind')).toHaveLength(49);
    expect(core.status().liveNames).toBe(maxLeavingNames + 1);
  });

  it('by one peer that never answers cost no other peer a name', () => {
    const { ask, clock, connect } = start(1);
    void ask(maxLeavingNames + 50);
    clock.advance(0);
    const good = connect();
    void good.ask(1, 'good');
    expect(good.answers()[0]?.resources).toHaveLength(1);
  });

  it('are told so for a reason of their own', () => {
    const { send, clock, whys, answers } = start(1);
    void send({ subscribe: ['a.test'] });
    void send({ nonce: answers()[0]?.nonce ?? '' });
    void send({ subscribe: ['b.test'] });
    clock.advance(0);
    expect(whys.toSorted()).toEqual(['evicted', 'secret', 'secret']);
  });
});

describe('held names that are judged anew', () => {
  it('are judged in turns, also when their leaves have all outlived their end', () => {
    const { ask, send, clock, minter, answers } = start();
    void ask(2000);
    clock.advance(100);
    for (const { nonce } of answers()) void send({ nonce });
    clock.advance(100);
    let judged = 0;
    const judge = minter.judgeHeld.bind(minter);
    minter.judgeHeld = (name, version) => {
      judged += 1;
      return judge(name, version);
    };
    clock.advance(minutes(60));
    let most = 0;
    for (let before = judged; judged < 2000; before = judged) {
      clock.advanceToNext();
      most = Math.max(most, judged - before);
    }
    expect(most).toBeLessThanOrEqual(250);
  });
});

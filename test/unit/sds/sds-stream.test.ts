// What lies between the protocol machine and the wire: turns, peers that do not read, names that are told to go.
import { describe, expect, it } from 'vitest';
import { millis } from '../../../src/clock.ts';
import { MintTurns } from '../../../src/sds/mint-turns.ts';
import { SdsCore } from '../../../src/sds/sds-core.ts';
import { silentSdsEvents } from '../../../src/sds/sds-events.ts';
import { defaultSdsSettings, maxLeavingNames } from '../../../src/sds/sds-settings.ts';
import { ScriptedMinter } from '../../harness/scripted-minter.ts';
import { decodeXdsResponse, encodeXdsRequest } from '../../harness/xds-messages.ts';
import type { XdsResponse } from '../../harness/xds-messages.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

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
  const sent: XdsResponse[] = [];
  const stream = core.openStream('ads', {
    send: (message) => sent.push(decodeXdsResponse(message)),
    end: () => undefined,
  });
  const ask = (count: number, prefix = 'n') =>
    stream.receive(encodeXdsRequest({ subscribe: Array.from({ length: count }, (_, at) => `${prefix}${at}.test`) }));
  return { clock, minter, core, stream, sent, whys, ask };
}

describe('a request with many names', () => {
  it('is minted a few names a turn, so that others get theirs in between', () => {
    const { ask, minter, core, clock } = start();
    ask(200);
    expect(minter.minted).toHaveLength(64);
    const other: XdsResponse[] = [];
    const peer = core.openStream('per-name', {
      send: (message) => other.push(decodeXdsResponse(message)),
      end: () => undefined,
    });
    peer.receive(encodeXdsRequest({ subscribe: ['other.test'] }));
    clock.advance(0);
    expect(minter.minted).toHaveLength(201);
    expect(other).toHaveLength(1);
  });

  it('costs no mint for the names that are given up before their turn', () => {
    const { ask, minter, stream, clock } = start();
    ask(200);
    stream.receive(encodeXdsRequest({ unsubscribe: Array.from({ length: 200 }, (_, at) => `n${at}.test`) }));
    clock.advance(0);
    expect(minter.minted).toHaveLength(64);
  });
});

describe('a peer that does not read', () => {
  it('gets nothing minted until it reads again', () => {
    const { ask, minter, stream, clock, sent } = start();
    stream.block();
    ask(3);
    clock.advance(1000);
    expect(minter.minted).toHaveLength(0);
    stream.unblock();
    clock.advance(0);
    expect(sent.map(({ resources }) => resources.length)).toEqual([1, 1, 1]);
  });

  it('hears a removal for what it asked more than two seconds ago', () => {
    const { ask, minter, stream, clock, whys } = start();
    stream.block();
    ask(2);
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
    ask(maxLeavingNames + 50);
    clock.advance(0);
    expect(whys.filter((why) => why === 'secret')).toHaveLength(maxLeavingNames + 1);
    expect(whys.filter((why) => why === 'too-many-names')).toHaveLength(49);
    expect(core.status().liveNames).toBe(maxLeavingNames + 1);
  });
});

describe('turns', () => {
  it('do a few jobs each, with a pause between, and dead jobs take no place', () => {
    const clock = createFakeClock();
    const done: string[] = [];
    const turns = new MintTurns<string>(clock, { perTurn: 2, pauseMs: millis(20) }, (job) => {
      if (job.startsWith('dead')) return false;
      done.push(job);
      return true;
    });
    for (const job of ['a', 'dead', 'b', 'dead', 'c', 'd', 'e']) turns.add(job);
    clock.advance(19);
    expect(done).toEqual([]);
    clock.advance(1);
    expect(done).toEqual(['a', 'b']);
    turns.add('f');
    clock.advance(20);
    expect(done).toEqual(['a', 'b', 'c', 'd']);
    clock.advance(20);
    expect(done).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
    expect(clock.pendingTimers()).toBe(0);
  });

  it('stop', () => {
    const clock = createFakeClock();
    const turns = new MintTurns<string>(clock, { perTurn: 1, pauseMs: millis(0) }, () => {
      throw new Error('ran');
    });
    turns.add('a');
    turns.stop();
    clock.advance(100);
    expect(turns).toHaveLength(0);
  });
});

import { describe, expect, test } from 'vitest';
import { HandshakeGate } from '../../../src/channel/handshake-gate.ts';
import { networkOf } from '../../../src/channel/network-of.ts';
import { hours, millis, minutes, seconds, type DurationMs } from '../../../src/clock.ts';

const [pending, reserved, ofKnown, alone, burst, networks] = [64, 16, 4, 10, 100, 4096];
const kib = 1024;
const start = millis(0);

/** as many as get in of `count` that stay in their handshake */
function fill(gate: HandshakeGate, network: string, count: number, now: DurationMs = start): number {
  return Array.from({ length: count }).filter(() => gate.enter(network, now)).length;
}

function fillAll(gate: HandshakeGate, count: number, now: DurationMs = start): readonly number[] {
  return Array.from({ length: count }, (_, index) => fill(gate, `stranger ${index}`, pending, now));
}

function letIn(gate: HandshakeGate, network: string, now: DurationMs): void {
  expect(gate.enter(network, now)).toBe(true);
  gate.letIn(network, now);
}

/** how many handshakes in a row fail until the network is kept out */
function failures(gate: HandshakeGate, network: string, now: DurationMs, bytes = kib): number {
  for (let count = 0; ; count += 1) {
    if (!gate.enter(network, now)) return count;
    gate.failed(network, bytes, now);
  }
}

describe('places', () => {
  test('a stranger gets a quarter of what is free, so that four slow ones leave room for the next', () => {
    const gate = new HandshakeGate();
    const slow = fillAll(gate, 4);
    expect(slow).toEqual([alone, 8, 6, 5]);
    expect(gate.enter('fresh', start)).toBe(true);
  });

  test('it takes 14 slow strangers to keep the next one out, until one of them ends', () => {
    const gate = new HandshakeGate();
    const slow = fillAll(gate, 20);
    expect(slow.filter((count) => count > 0)).toHaveLength(14);
    expect(slow.reduce((sum, count) => sum + count, 0)).toBe(pending - reserved);
    expect(gate.enter('fresh', start)).toBe(false);
    gate.failed('stranger 0', 0, start);
    expect(gate.enter('fresh', start)).toBe(true);
  });

  test('strangers without number leave places for networks from which a peer was let in', () => {
    const gate = new HandshakeGate();
    for (const known of ['a', 'b', 'c', 'd', 'e']) letIn(gate, known, start);
    fillAll(gate, 1000);
    expect(gate.enter('stranger 0', start)).toBe(false);
    for (const known of ['a', 'b', 'c', 'd']) expect(fill(gate, known, pending)).toBe(ofKnown);
    // no more than all places, and a network that harbours a slow peer has but its share of them
    expect(gate.enter('e', start)).toBe(false);
    gate.failed('a', 0, start);
    expect(gate.enter('a', start)).toBe(true);
    expect(gate.enter('stranger 0', start)).toBe(false);
  });

  test('a network is known while it has a connection, and for a day after that', () => {
    const gate = new HandshakeGate();
    letIn(gate, 'a', start);
    letIn(gate, 'a', start);
    gate.gone('a', start);
    fillAll(gate, 20, hours(100));
    expect(gate.enter('a', hours(100))).toBe(true);
    gate.letIn('a', hours(100));
    gate.gone('a', hours(100));
    gate.gone('a', hours(100));
    expect(gate.enter('a', millis(hours(124) - 1))).toBe(true);
    gate.failed('a', 0, hours(124));
    expect(gate.enter('a', hours(124))).toBe(false);
  });

  test('a handshake that fails makes nobody known, and addresses of strangers push out nobody who is', () => {
    const gate = new HandshakeGate();
    letIn(gate, 'a', start);
    gate.gone('a', start);
    for (let index = 0; index < 3 * networks; index += 1) {
      expect(gate.enter(`failing ${index}`, seconds(index))).toBe(true);
      gate.failed(`failing ${index}`, kib, seconds(index));
    }
    const later = seconds(3 * networks);
    fillAll(gate, 20, later);
    expect(gate.enter(`failing ${3 * networks - 1}`, later)).toBe(false);
    expect(gate.enter('a', later)).toBe(true);
  });

  test('what is remembered of those who were let in is bounded too, and never forgets one that is there', () => {
    const gate = new HandshakeGate();
    letIn(gate, 'there', start);
    for (let index = 0; index <= networks; index += 1) {
      letIn(gate, `gone ${index}`, start);
      gate.gone(`gone ${index}`, start);
    }
    fillAll(gate, 20);
    const isKnown = (network: string): boolean => gate.enter(network, start);
    expect(['there', 'gone 0', 'gone 1', `gone ${networks}`].map(isKnown)).toEqual([true, false, false, true]);
  });
});

describe('failures', () => {
  test('one network may fail a hundred times at once, then twenty times a second; others do not notice', () => {
    const gate = new HandshakeGate();
    expect(failures(gate, 'a', start)).toBe(burst);
    expect(failures(gate, 'a', seconds(1))).toBe(20);
    expect(failures(gate, 'a', millis(1500))).toBe(10);
    expect(gate.enter('b', millis(1500))).toBe(true);
  });

  test.each([
    ['an ordinary one', 2, 100, 0.05],
    ['one with two CAs between', 8, 7, 0.65],
    ['one with a hundred certificates', 60, 1, 40.05],
  ])('%s, of %d KiB, may be tried %d times at once, and again after %d s', (_, size, count, after) => {
    const gate = new HandshakeGate();
    expect(failures(gate, 'a', start, size * kib)).toBe(count);
    expect(gate.enter('a', millis(seconds(after) - 1))).toBe(false);
    expect(gate.enter('a', seconds(after))).toBe(true);
  });

  test('one that costs more than there was left makes the others of its network not worth waiting for', () => {
    const gate = new HandshakeGate();
    for (const network of ['a', 'b']) fill(gate, network, 2);
    gate.failed('a', 15 * kib, start);
    expect(gate.isOverdrawn('a', start)).toBe(false);
    gate.failed('a', 15 * kib, start);
    expect(['a', 'b'].map((network) => gate.isOverdrawn(network, start))).toEqual([true, false]);
    expect(gate.isOverdrawn('a', seconds(3))).toBe(false);
  });

  test('strangers together may fail a thousand times at once and 300 times a second, whatever addresses they have; who is known still comes', () => {
    const gate = new HandshakeGate();
    letIn(gate, 'a', start);
    expect(gate.enter('slow', start)).toBe(true);
    for (let index = 0; index < 10; index += 1) expect(failures(gate, `stranger ${index}`, start)).toBe(burst);
    expect(gate.enter('fresh', start)).toBe(false);
    expect(gate.isOverdrawn('slow', start)).toBe(false);
    gate.failed('slow', kib, start);
    expect(['fresh', 'a'].map((network) => gate.isOverdrawn(network, start))).toEqual([true, false]);
    expect(gate.enter('a', start)).toBe(true);
    expect(gate.enter('fresh', millis(10))).toBe(true);
  });

  test('those of networks that are known cost strangers nothing', () => {
    const gate = new HandshakeGate();
    for (let index = 0; index < 20; index += 1) {
      letIn(gate, `known ${index}`, start);
      expect(failures(gate, `known ${index}`, start)).toBe(burst);
    }
    expect(gate.enter('fresh', start)).toBe(true);
  });

  test('who succeeds may come as often as it likes', () => {
    const gate = new HandshakeGate();
    for (let count = 0; count < 10 * burst; count += 1) letIn(gate, 'a', start);
  });

  test('what is remembered of networks is bounded, and never one that has a handshake under way', () => {
    const gate = new HandshakeGate();
    expect(fill(gate, 'slow', pending)).toBe(alone);
    for (let index = 0; index < 3 * networks; index += 1) {
      expect(gate.enter(`a${index}`, minutes(index))).toBe(true);
      gate.failed(`a${index}`, kib, minutes(index));
    }
    expect(gate.enter('slow', start)).toBe(false);
  });
});

test('an IPv6 host is known by its network of 64 bits, an IPv4 host by its address', () => {
  expect(networkOf('2001:db8:1:2:3:4:5:6')).toBe(networkOf('2001:db8:1:2::1'));
  expect(networkOf('2001:db8:1:2::1')).not.toBe(networkOf('2001:db8:1:3::1'));
  expect(networkOf('192.0.2.7')).toBe('192.0.2.7');
  expect(networkOf('fe80::1%eth0')).toBe('fe80::1%eth0');
});

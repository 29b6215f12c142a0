import { expect, test } from 'vitest';
import { HandshakeGate } from '../../../src/channel/handshake-gate.ts';
import { networkOf } from '../../../src/channel/network-of.ts';
import { millis, seconds } from '../../../src/clock.ts';

const [pending, pendingOfAddress, failureBurst, addresses] = [64, 16, 100, 4096];
const start = millis(0);

function fill(gate: HandshakeGate, address: string, count: number): number {
  return Array.from({ length: count }).filter(() => gate.enter(address, start)).length;
}

test('one address may have 16 handshakes under way, everybody together 64', () => {
  const gate = new HandshakeGate();
  expect(fill(gate, 'a', 20)).toBe(pendingOfAddress);
  for (const address of ['b', 'c', 'd']) expect(fill(gate, address, 20)).toBe(pendingOfAddress);
  expect(gate.enter('e', start)).toBe(false);
  gate.leave('a', false);
  expect(gate.enter('e', start)).toBe(true);
  expect(pending).toBe(4 * pendingOfAddress);
});

test('one address may fail a hundred times at once, then twenty times a second; others do not notice', () => {
  const gate = new HandshakeGate();
  const fail = (now: number): boolean => {
    const isIn = gate.enter('a', millis(now));
    if (isIn) gate.leave('a', false);
    return isIn;
  };
  const failures = (now: number): number => Array.from({ length: 200 }).filter(() => fail(now)).length;
  expect(failures(0)).toBe(failureBurst);
  expect(failures(1000)).toBe(20);
  expect(failures(1500)).toBe(10);
  expect(gate.enter('b', millis(1500))).toBe(true);
});

test('who succeeds may come as often as it likes', () => {
  const gate = new HandshakeGate();
  for (let count = 0; count < 10 * failureBurst; count += 1) {
    expect(gate.enter('a', start)).toBe(true);
    gate.leave('a', true);
  }
});

test('what is remembered of addresses is bounded, and never one that has a handshake under way', () => {
  const gate = new HandshakeGate();
  expect(fill(gate, 'slow', pendingOfAddress)).toBe(pendingOfAddress);
  for (let index = 0; index < 3 * addresses; index += 1) {
    expect(gate.enter(`a${index}`, seconds(index))).toBe(true);
    gate.leave(`a${index}`, false);
  }
  expect(gate.enter('slow', seconds(0))).toBe(false);
});

test('an IPv6 host is known by its network of 64 bits, an IPv4 host by its address', () => {
  expect(networkOf('2001:db8:1:2:3:4:5:6')).toBe(networkOf('2001:db8:1:2::1'));
  expect(networkOf('2001:db8:1:2::1')).not.toBe(networkOf('2001:db8:1:3::1'));
  expect(networkOf('192.0.2.7')).toBe('192.0.2.7');
  expect(networkOf('fe80::1%eth0')).toBe('fe80::1%eth0');
});

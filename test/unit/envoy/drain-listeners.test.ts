import { describe, expect, test } from 'vitest';
import { millis } from '../../../src/clock.ts';
import type { AdminClient } from '../../../src/envoy/admin-client.ts';
import { activeConnections, drainListeners } from '../../../src/envoy/drain-listeners.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { waitFor } from '../../support/wait-for.ts';

type FakeAdmin = AdminClient & { active: number; readonly posted: string[]; asked: number };

function fakeAdmin(active: number): FakeAdmin {
  const posted: string[] = [];
  return {
    active,
    posted,
    asked: 0,
    get: () => Promise.reject(new Error('not asked here')),
    post: (path) => {
      posted.push(path);
      return Promise.resolve({ status: 200, body: 'OK\n' });
    },
    readStats(this: FakeAdmin) {
      this.asked += 1;
      return Promise.resolve(
        new Map([
          ['listener.admin.downstream_cx_active', 1],
          ['listener.explicit.downstream_cx_active', this.active],
          ['listener.explicit.worker_0.downstream_cx_active', this.active],
        ]),
      );
    },
  };
}

describe('drainListeners', () => {
  const begin = (admin: FakeAdmin) => {
    const clock = createFakeClock();
    let isOver = false;
    void drainListeners({ admin, clock, drainMs: millis(5_000) }).then(() => (isOver = true));
    const look = (count: number) =>
      waitFor(`look ${count}`, () => admin.asked === count && clock.pendingTimers() === 1);
    return { clock, look, over: () => waitFor('the end', () => isOver), isOver: () => isOver };
  };

  test('asks for a graceful drain and returns at once when nobody is connected', async () => {
    const admin = fakeAdmin(0);
    await begin(admin).over();
    expect(admin.posted).toEqual(['/drain_listeners?graceful']);
  });

  test('goes on for at least as long as it is told, with nobody connected', async () => {
    const clock = createFakeClock();
    let isOver = false;
    const [drainMs, leastMs] = [millis(5_000), millis(1_000)];
    void drainListeners({ admin: fakeAdmin(0), clock, drainMs, leastMs }).then(() => (isOver = true));
    await waitFor('the first look', () => clock.pendingTimers() === 1);
    clock.advance(500);
    await waitFor('the second look', () => clock.pendingTimers() === 1);
    expect(isOver).toBe(false);
    clock.advance(500);
    await waitFor('the end', () => isOver);
  });

  test('looks every half second and returns when the last connection has gone', async () => {
    const admin = fakeAdmin(2);
    const draining = begin(admin);
    await draining.look(1);
    draining.clock.advance(499);
    expect(admin.asked).toBe(1);
    draining.clock.advance(1);
    await draining.look(2);
    admin.active = 0;
    draining.clock.advance(500);
    await draining.over();
    expect(admin.asked).toBe(3);
  });

  test('gives up when the time is over, and not before, for connections that never end', async () => {
    const admin = fakeAdmin(1);
    const draining = begin(admin);
    for (let look = 1; look <= 10; look += 1) {
      await draining.look(look);
      expect(draining.isOver()).toBe(false);
      draining.clock.advance(500);
    }
    await draining.over();
    expect(admin.asked).toBe(11);
  });

  test('does not wait for an Envoy that cannot be asked', async () => {
    const admin = { ...fakeAdmin(1), post: () => Promise.reject(new Error('gone')) };
    await begin(admin).over();
    expect(admin.asked).toBe(0);
  });
});

describe('activeConnections', () => {
  test("counts each connection once, and not the admin interface's own", async () => {
    expect(await activeConnections(fakeAdmin(3))).toBe(3);
  });

  test('an Envoy that does not answer has none', async () => {
    const admin = { ...fakeAdmin(3), readStats: () => Promise.reject(new Error('gone')) };
    expect(await activeConnections(admin)).toBe(0);
  });
});

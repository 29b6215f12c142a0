// Checks of what happens later: rejection, removal, reconnect, changes of pool and policy, too many names.
import assert from 'node:assert/strict';
import { hours, minutes } from '../../src/clock.ts';
import type { SdsTalk } from './sds-talk.ts';
import type { ProtocolCheck } from './sds-protocol-checks.ts';
import type { XdsResource } from './xds-messages.ts';

/** asks and acknowledges */
async function hold(peer: SdsTalk, name: string): Promise<XdsResource> {
  peer.ask(name);
  const response = await peer.expectSecret(name);
  peer.ack(response);
  return response.secret;
}

export const changeChecks: readonly ProtocolCheck[] = [
  {
    name: 'S4: a rejected first delivery is removed once, reported once, and never sent again unasked',
    async run({ connect, minter, rejections }) {
      const peer = connect();
      peer.ask('a.test');
      const { secret, ...response } = await peer.expectSecret('a.test');
      peer.nack({ ...response }, 'Failed to load certificate chain from <inline>');
      peer.ack(await peer.expectRemoval('a.test'));
      await peer.expectSilence();
      assert.deepEqual(rejections, [
        {
          name: 'a.test',
          version: secret.version,
          detail: 'Failed to load certificate chain from <inline>',
          wasFirst: true,
        },
      ]);
      assert.deepEqual(minter.forgotten, ['a.test']);
      peer.ask('a.test');
      await peer.expectSecret('a.test');
    },
  },
  {
    name: 'S4: a rejected update is answered with silence: the old leaf serves',
    async run({ connect, rejections }) {
      const peer = connect();
      await hold(peer, 'a.test');
      peer.ask('a.test');
      peer.nack(await peer.expectSecret('a.test'), 'KEY_VALUES_MISMATCH');
      await peer.expectSilence();
      assert.equal(rejections[0]?.wasFirst, false);
    },
  },
  {
    name: 'a rejection beside a new subscribe of the same name is answered with a secret alone, never removed and added',
    async run({ connect }) {
      const peer = connect();
      peer.ask('a.test');
      peer.nack(await peer.expectSecret('a.test'), 'no', { subscribe: ['a.test'] });
      await peer.expectSecret('a.test');
      await peer.expectSilence();
    },
  },
  {
    name: 'facts S5: no key of a rejected secret is in what is reported',
    async run({ connect, rejections }) {
      const peer = connect();
      peer.ask('a.test');
      const key = `-----BEGIN PRIVATE KEY-----\\n${'MIGHAgEAMBMGByqGSM49'.repeat(5)}\\n-----END PRIVATE KEY-----`;
      peer.nack(
        await peer.expectSecret('a.test'),
        `type URL differs: inline_bytes: "${key}" \u001b[31m${'x'.repeat(4000)}`,
      );
      await peer.expectRemoval('a.test');
      const detail = rejections[0]?.detail ?? '';
      assert(detail.startsWith('type URL differs'), detail);
      assert(!/BEGIN|MIGH|\u001b/.test(detail) && detail.length < 400, detail);
    },
  },
  {
    name: 'a name that was given up while it was minted is not answered',
    async run({ connect, minter, server }) {
      const peer = connect();
      minter.makeSlow('a.test');
      peer.ask('a.test');
      peer.unsubscribe('a.test', 'never-asked.test');
      minter.finish('a.test');
      await peer.expectSilence();
      assert.deepEqual(server.status(), { streams: 1, liveNames: 0, waiting: 0 });
    },
  },
  {
    name: 'a name that was given up is never sent again, whatever changes',
    async run({ connect, minter, server }) {
      const peer = connect();
      const { version } = await hold(peer, 'a.test');
      peer.unsubscribe('a.test');
      minter.retired.add(version);
      server.review();
      await peer.expectSilence();
      assert.equal(server.status().liveNames, 0);
    },
  },
  {
    name: 'pitfall 9, S8: after a removal the name is forgotten, and a new subscribe is a new ask',
    async run({ connect, minter, server }) {
      const peer = connect();
      await hold(peer, 'a.test');
      minter.denied.add('a.test');
      server.review();
      const removal = await peer.expectRemoval('a.test');
      server.review();
      await peer.expectSilence();
      minter.denied.delete('a.test');
      peer.ack(removal, { unsubscribe: ['a.test'] });
      await peer.expectSilence();
      await hold(peer, 'a.test');
    },
  },
  {
    name: 'S7, pitfalls 7 and 8: after a reconnect what is good stays in silence, what is not is sent, what is denied goes',
    async run({ connect, minter, clock }) {
      const before = connect();
      const held: Record<string, string> = {};
      for (const label of ['good', 'retired', 'denied']) {
        held[`${label}.test`] = (await hold(before, `${label}.test`)).version;
      }
      minter.leafLifetime = minutes(1);
      held['dying.test'] = (await hold(before, 'dying.test')).version;
      minter.leafLifetime = hours(1);
      held['unknown.test'] = 'v1';
      before.hangUp();
      minter.retired.add(held['retired.test'] ?? '');
      minter.denied.add('denied.test');
      const mintedBefore = minter.minted.length;

      const after = connect();
      after.resume(held, 'waiting.test');
      clock.advance(1000);
      const answers = (await after.takeAll()).map(({ resources, removed }) =>
        removed.length > 0 ? `- ${removed.join()}` : `+ ${resources.map(({ name }) => name).join()}`,
      );
      const expected = ['+ dying.test', '+ retired.test', '+ unknown.test', '+ waiting.test', '- denied.test'];
      assert.deepEqual(answers.toSorted(), expected);
      assert.equal(minter.minted.length - mintedBefore, 4);
    },
  },
  {
    name: 'versions that are declared later than on the first request are no reason for silence',
    async run({ connect }) {
      const peer = connect();
      const { version } = await hold(peer, 'a.test');
      peer.unsubscribe('a.test');
      peer.resume({ 'a.test': version });
      await peer.expectSecret('a.test');
    },
  },
  {
    name: 'pitfall 13: a name kept after a reconnect is answered when it is asked again, and follows changes',
    async run({ connect, minter, server, clock }) {
      const before = connect();
      const { version } = await hold(before, 'a.test');
      before.hangUp();
      const peer = connect();
      peer.resume({ 'a.test': version });
      await peer.expectSilence();
      assert.equal(server.status().liveNames, 1);
      peer.ask('a.test');
      const again = await peer.expectSecret('a.test');
      peer.ack(again);
      minter.retired.add(again.secret.version);
      server.review();
      clock.advance(100);
      await peer.expectSecret('a.test');
    },
  },
  {
    name: 'istio #21239: when a CA leaves the pool, held names get a new leaf unasked; when a name is denied it goes',
    async run({ connect, minter, server, clock }) {
      const peer = connect();
      const old = await hold(peer, 'a.test');
      await hold(peer, 'b.test');
      await hold(peer, 'c.test');
      minter.retired.add(old.version);
      minter.denied.add('b.test');
      server.review();
      await peer.expectRemoval('b.test');
      clock.advance(100);
      const update = await peer.expectSecret('a.test');
      assert.notEqual(update.secret.version, old.version);
      peer.ack(update);
      await peer.expectSilence();
    },
  },
  {
    name: 'S8: what is decided while a response is unanswered waits for the answer: never added and removed in one breath',
    async run({ connect, minter, server }) {
      const peer = connect();
      peer.ask('a.test');
      const response = await peer.expectSecret('a.test');
      minter.denied.add('a.test');
      server.review();
      await peer.expectSilence();
      peer.ack(response);
      await peer.expectRemoval('a.test');
      await peer.expectSilence();
    },
  },
  {
    name: 'a held name that cannot be re-minted now keeps its leaf and is tried again',
    async run({ connect, minter, server, clock }) {
      const peer = connect();
      const { version } = await hold(peer, 'a.test');
      minter.retired.add(version);
      minter.unavailable.add('a.test');
      server.review();
      await peer.expectSilence(20_000);
      minter.unavailable.delete('a.test');
      clock.advance(10_000);
      await peer.expectSecret('a.test');
    },
  },
  {
    name: 'pitfalls 4 and 12: a name that a peer still holds past its TTL gets a new leaf; before it, never unasked',
    async run({ connect, clock }) {
      const peer = connect();
      const { version } = await hold(peer, 'a.test');
      await peer.expectSilence(minutes(59));
      clock.advance(minutes(2));
      const late = await peer.expectSecret('a.test');
      assert.notEqual(late.secret.version, version);
    },
  },
  {
    name: 'an ask after the end of a leaf gets one that lives, with a TTL within its life',
    async run({ connect, minter, clock }) {
      const peer = connect();
      await hold(peer, 'a.test');
      peer.unsubscribe('a.test');
      clock.advance(hours(2));
      peer.ask('a.test');
      const { secret } = await peer.expectSecret('a.test');
      const notAfter = minter.leaves.get(secret.version)?.notAfter ?? 0;
      assert(notAfter > clock.now() + (secret.ttlSeconds ?? 0) * 1000, 'the TTL ends after the leaf');
    },
  },
  {
    name: 'pitfall 15: beyond the cap the longest-held names are removed, over all streams',
    settings: { maxLiveNames: 3 },
    async run({ connect, server }) {
      const [one, other] = [connect(), connect()];
      for (const label of ['a', 'b']) await hold(one, `${label}.test`);
      await hold(other, 'c.test');
      await hold(one, 'a.test');
      await hold(other, 'd.test');
      await one.expectRemoval('b.test');
      await hold(one, 'e.test');
      await other.expectRemoval('c.test');
      assert.equal(server.status().liveNames, 3);
      await one.expectSilence();
    },
  },
  {
    name: 'a name that is asked again before its eviction is heard stays: the ask made it young',
    settings: { maxLiveNames: 1 },
    async run({ connect }) {
      const peer = connect();
      peer.ask('a.test');
      await peer.expectSecret('a.test');
      peer.ask('b.test');
      peer.ack(await peer.expectSecret('b.test'));
      peer.ask('a.test');
      const again = await peer.expectSecret('a.test');
      await peer.expectRemoval('b.test');
      peer.ack(again);
      await peer.expectSilence();
    },
  },
  {
    name: 'istio #10822, #33181: a stream that is gone leaves nothing behind',
    async run({ connect, minter, server }) {
      const peer = connect();
      minter.makeSlow('slow.test');
      await hold(peer, 'a.test');
      peer.ask('slow.test', 'b.test');
      await peer.expectSecret('b.test');
      assert.deepEqual(server.status(), { streams: 1, liveNames: 2, waiting: 1 });
      peer.hangUp();
      minter.finish('slow.test');
      server.review();
      await peer.expectSilence();
      assert.deepEqual(server.status(), { streams: 0, liveNames: 0, waiting: 0 });
    },
  },
];

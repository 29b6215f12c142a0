// Checks of what is asked and answered: facts envoy.md section 2, reliability S1 to S6 and S9, envoy-measured duties.
import assert from 'node:assert/strict';
import type { ProtocolCheck } from './sds-protocol-checks.ts';

const secretUrl = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret';
const clusterUrl = 'type.googleapis.com/envoy.config.cluster.v3.Cluster';

export const askChecks: readonly ProtocolCheck[] = [
  {
    name: 'a new name gets one secret: its bytes echoed, its leaf, key and version, a TTL that ends before the leaf',
    async run({ connect, minter, clock }) {
      const peer = connect();
      peer.ask('Api.Example.com');
      const { secret } = await peer.expectSecret('Api.Example.com');
      const leaf = minter.leaves.get(secret.version);
      assert(leaf !== undefined, 'the version is not one of a leaf');
      assert.equal(secret.chain, Buffer.from(leaf.chainPem).toString());
      assert.equal(secret.key, Buffer.from(leaf.privateKeyPem.reveal()).toString());
      assert.equal(secret.ttlSeconds, Math.floor((leaf.notAfter - clock.now()) / 1000) - 60);
      await peer.expectSilence();
    },
  },
  {
    name: 'a per-name stream may leave the type URL out, and is answered with it',
    async run({ connect }) {
      const peer = connect('per-name');
      peer.send({ typeUrl: '', subscribe: ['a.test'] });
      assert.equal((await peer.expectSecret('a.test')).typeUrl, secretUrl);
    },
  },
  {
    name: 'a name outside ASCII is echoed byte for byte',
    async run({ connect, minter }) {
      const peer = connect();
      const [denied, granted] = ['b\u00c3\u00bccher.test', 'caf\u00c3\u00a9.test'];
      minter.denied.add(denied);
      peer.ask(denied, granted);
      await peer.expectRemoval(denied);
      await peer.expectSecret(granted);
    },
  },
  {
    // an answer would make Envoy reset the stream of all names, again and again (measured on 1.40.0)
    name: 'a name that is not UTF-8 is met with silence, told once a stream, and others are answered beside it',
    async run({ connect, minter, server, told }) {
      const peer = connect();
      peer.ask('\u00ff\u00fe.test', 'a.test', 'cut-off-\u00c3');
      await peer.expectSecret('a.test');
      peer.ask('\u00ff\u00fe.test');
      peer.unsubscribe('\u00ff\u00fe.test');
      await peer.expectSilence();
      assert.deepEqual(told, ['sds-name-unanswerable']);
      assert.deepEqual(minter.minted, ['a.test']);
      assert.deepEqual(server.status(), { streams: 1, liveNames: 1, waiting: 0 });
    },
  },
  {
    name: 'pitfall 1: what is denied or cannot be minted now is removed at once, and the stream goes on',
    async run({ connect, minter }) {
      const peer = connect();
      minter.denied.add('denied.test');
      minter.unavailable.add('later.test');
      peer.ask('denied.test', '*', 'later.test', 'good.test');
      await peer.expectRemoval('denied.test');
      await peer.expectSecret('*');
      await peer.expectRemoval('later.test');
      await peer.expectSecret('good.test');
    },
  },
  {
    name: 'pitfall 1: a mint that does not end is answered with a removal within two seconds, its late end with nothing',
    async run({ connect, minter, clock }) {
      const peer = connect();
      minter.makeSlow('slow.test');
      peer.ask('slow.test');
      clock.advance(1999);
      await peer.expectSilence(0);
      clock.advance(1);
      await peer.expectRemoval('slow.test');
      minter.finish('slow.test');
      await peer.expectSilence();
    },
  },
  {
    name: 'pitfall 5: one secret a response, however many names one request asks',
    async run({ connect, clock }) {
      const peer = connect();
      const names = Array.from({ length: 500 }, (_, index) => `n${index}.test`);
      peer.ask(...names);
      const answered: string[] = [];
      for (let turn = 0; turn < 20; turn += 1) {
        for (const { resources } of await peer.takeAll()) answered.push(...resources.map(({ name }) => name));
        clock.advance(1);
      }
      assert.deepEqual(answered, names);
    },
  },
  {
    name: 'S3: an ACK is answered with silence',
    async run({ connect }) {
      const peer = connect();
      peer.ask('a.test');
      peer.ack(await peer.expectSecret('a.test'));
      await peer.expectSilence();
    },
  },
  {
    name: 'S5: a stale nonce is ignored, the subscription beside it is honoured',
    async run({ connect, rejections }) {
      const peer = connect();
      peer.ask('a.test');
      await peer.expectSecret('a.test');
      peer.send({ nonce: 'unknown', rejection: 'no', subscribe: ['b.test'] });
      await peer.expectSecret('b.test');
      await peer.expectSilence();
      assert.equal(rejections.length, 0);
    },
  },
  {
    name: 'S5: subscriptions and their ends ride on ACKs and NACKs',
    async run({ connect }) {
      const peer = connect();
      peer.ask('a.test');
      const first = await peer.expectSecret('a.test');
      peer.ack(first, { subscribe: ['b.test'], unsubscribe: ['a.test'] });
      const second = await peer.expectSecret('b.test');
      peer.nack(second, 'no', { subscribe: ['c.test'] });
      await peer.expectSecret('c.test');
      await peer.expectRemoval('b.test');
      await peer.expectSilence();
    },
  },
  {
    name: 'S6, pitfalls 2 and 13: an explicit subscribe of a held name is answered again, acknowledged or not',
    async run({ connect }) {
      const peer = connect();
      peer.ask('a.test');
      peer.ack(await peer.expectSecret('a.test'));
      peer.ask('a.test');
      await peer.expectSecret('a.test');
      peer.ask('a.test');
      peer.ack(await peer.expectSecret('a.test'));
      await peer.expectSilence();
    },
  },
  {
    name: 'a name that stands twice in one request is answered once',
    async run({ connect, minter }) {
      const peer = connect();
      minter.denied.add('no.test');
      peer.ask('a.test', 'no.test', 'a.test', 'no.test');
      await peer.expectSecret('a.test');
      await peer.expectRemoval('no.test');
      await peer.expectSilence();
    },
  },
  {
    name: 'two asks of a name that is being minted are answered together, once',
    async run({ connect, minter, clock }) {
      const peer = connect();
      const timers = clock.pendingTimers();
      minter.makeSlow('a.test');
      peer.ask('a.test');
      peer.ask('a.test');
      await peer.expectSilence(1000);
      minter.finish('a.test');
      await peer.expectSecret('a.test');
      await peer.expectSilence();
      assert.equal(clock.pendingTimers(), timers, 'the deadline of an answered ask still runs');
    },
  },
  {
    name: 'S9: an unknown type is answered empty, its ACK and NACK with silence, and the stream goes on',
    async run({ connect }) {
      const peer = connect();
      peer.send({ typeUrl: clusterUrl, subscribe: ['cluster'] });
      const empty = await peer.next();
      assert.deepEqual([empty.typeUrl, empty.resources, empty.removed], [clusterUrl, [], []]);
      peer.ack(empty);
      peer.send({ typeUrl: clusterUrl, nonce: empty.nonce, rejection: 'no' });
      await peer.expectSilence();
      peer.ask('a.test');
      await peer.expectSecret('a.test');
    },
  },
  {
    name: 'S9: an empty first request is answered empty, and "*" never brings everything',
    async run({ connect }) {
      const other = connect();
      other.ask('a.test');
      await other.expectSecret('a.test');
      const peer = connect();
      peer.send({});
      const empty = await peer.next();
      assert.deepEqual([empty.typeUrl, empty.resources, empty.removed], [secretUrl, [], []]);
      peer.ack(empty, { subscribe: ['*'] });
      const star = await peer.next();
      assert(
        star.resources.every(({ name }) => name === '*'),
        'another name came',
      );
      await peer.expectSilence();
    },
  },
];

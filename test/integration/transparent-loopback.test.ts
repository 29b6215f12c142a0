// What of the transparent listener shows without a namespace, where nothing can be redirected: it closes whatever comes.
import { connect as connectTcp } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseListenAddress } from '../../src/settings/parse-listen.ts';
import { parseCidrSetting } from '../../src/settings/parse-targets.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { freePort } from '../support/free-port.ts';
import { withDeadline } from '../support/wait-for.ts';
import { startWholeGateway, type WholeGateway } from '../support/whole-gateway.ts';

describeWithTools('the transparent listener', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  let gateway: WholeGateway;
  let port = 0;

  beforeAll(async () => {
    port = await freePort();
    const { address } = parseListenAddress('127.0.0.1:1');
    const allowFrom = [parseCidrSetting('127.0.0.0/8', '--allow-from')];
    gateway = await startWholeGateway({ envoy, spec: { transparent: { addresses: [address], port }, allowFrom } });
  });
  afterAll(() => gateway.stop());

  test.each([
    ['clear HTTP', 'GET / HTTP/1.1\r\nHost: a.test\r\n\r\n'],
    ['a CONNECT', 'CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n'],
    ['another protocol', 'SSH-2.0-client\r\n'],
    ['nothing', ''],
  ])('closes what nobody has redirected: %s', async (_, bytes) => {
    const socket = connectTcp(port, '127.0.0.1').on('error', () => undefined);
    let answer = '';
    socket.on('data', (chunk) => (answer += chunk.toString('latin1')));
    if (bytes !== '') socket.write(bytes);
    await withDeadline('the end', new Promise((done) => socket.once('close', done)));
    expect(answer).toBe('');
  });
});

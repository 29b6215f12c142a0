// Targets that the policy and Envoy's forward proxy would read differently, so that a rule could be walked round: a port
// that does not exist, two ports, a port with a sign. Refused on every leg before anything is looked up or dialled.
import { connect as connectHttp2, type OutgoingHttpHeaders } from 'node:http2';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseListenAddress } from '../../src/settings/parse-listen.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { freePort } from '../support/free-port.ts';
import { connectRequest, plainGet, rawExchange } from '../support/raw-proxy-client.ts';
import { withDeadline } from '../support/wait-for.ts';
import { startWholeGateway, type WholeGateway } from '../support/whole-gateway.ts';
import { policy, rule } from '../unit/policy/policy-fixtures.ts';

/** 65979 and 4294967739 are 443 in 16 and in 32 bits */
const oddPorts = [':0', ':00', ':65536', ':65979', ':4294967739', ':99999999999999999999'];
/** with which Envoy dials port 443 or 80 of the host before them, under the name of another (measured) */
const oddEnds = [':443:80', ':+443', ':443:', '::443', ':', ':443x', ']:443', '%2e:443', '/:443', ',b.test:443'];
const hosts = ['opaque.test', 'pinned.test', 'read.test', 'closed.test', '127.0.0.1'];
const others = [
  '..:443',
  '.closed.test:443',
  '[closed.test]:443',
  '[closed.test.]:443',
  'a@closed.test:443',
  '2001:db8::1:443:80',
  '[::1',
  ':443',
];
const refused = [400, 403, 404];

describeWithTools('a target that can be read in two ways', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  let gateway: WholeGateway;
  beforeAll(async () => {
    const closed = hosts.map((host) => rule(host, 'deny', { name: `closed-${host}`, ports: [80, 443] }));
    gateway = await startWholeGateway({
      envoy,
      names: Object.fromEntries(hosts.slice(0, -1).map((host) => [host, ['127.0.0.1']])),
      spec: {
        listen: parseListenAddress(`127.0.0.1:${await freePort()}`),
        policy: policy(
          'tcp',
          ...closed,
          rule('opaque.test', 'tcp'),
          rule('127.0.0.1', 'tcp', { name: 'address' }),
          rule('pinned.test', 'relay'),
          rule('read.test', 'intercept'),
          rule('closed.test', 'deny'),
        ),
      },
    });
  });
  afterAll(() => gateway.stop());

  const targets = [...hosts.flatMap((host) => [...oddPorts, ...oddEnds].map((end) => `${host}${end}`)), ...others];

  test('is refused over HTTP/1.1, with and without a CONNECT', async () => {
    for (const target of targets) {
      const tunnel = await rawExchange({ port: gateway.port, send: connectRequest(target), until: '\r\n\r\n' });
      expect(refused, `CONNECT ${target}`).toContain(tunnel.status);
      const clear = await plainGet(gateway.port, `http://${target}/`);
      // what comes after a slash is a path, and the rule for the host decides
      if (!target.includes('/')) expect(refused, `GET ${target}`).toContain(clear.status);
      const send = `GET / HTTP/1.1\r\nHost: ${target}\r\nConnection: close\r\n\r\n`;
      expect(refused, `Host: ${target}`).toContain((await rawExchange({ port: gateway.port, send })).status);
    }
  });

  test('is refused over HTTP/2, where Envoy itself looks at no port', async () => {
    for (const target of targets) {
      for (const headers of [
        { ':method': 'CONNECT', ':authority': target },
        { ':method': 'GET', ':path': '/', ':scheme': 'http', ':authority': target },
      ]) {
        expect([...refused, 'closed'], `${headers[':method']} ${target}`).toContain(await askedOverHttp2(headers));
      }
    }
  });

  /** a status, or `closed` where Envoy's HTTP/2 takes the authority for none */
  async function askedOverHttp2(headers: OutgoingHttpHeaders): Promise<unknown> {
    const session = connectHttp2(`http://127.0.0.1:${gateway.port}`);
    const stream = session.on('error', () => undefined).request(headers, { endStream: false });
    const end = Promise.withResolvers<unknown>();
    stream.on('response', (answer) => end.resolve(answer[':status']));
    stream.on('error', () => undefined).on('close', () => end.resolve('closed'));
    return withDeadline('an answer', end.promise).finally(() => session.destroy());
  }

  test('dials nothing, and says why in the record', async () => {
    const record = await gateway.recordOf('two ports', ({ host }) => host === 'opaque.test:443');
    expect(record).toMatchObject({ outcome: 'refused', reason: { code: 'destination-denied' } });
    expect(record.reason?.words).toContain('no host with a port from 1 to 65535');
    expect(gateway.records().filter(({ upstream }) => upstream !== undefined)).toEqual([]);
  });
});

// A target is judged as one host and one port, or not at all: where the policy reads another host or port than the forward
// proxy does, a client walks past a rule. Found by a hostile tester with doubled ports and port 0.
import { connect as connectHttp2 } from 'node:http2';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Policy } from '../../src/policy/policy-types.ts';
import { parseHostPatternSetting } from '../../src/settings/parse-targets.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { openTunnel } from '../support/open-tunnel.ts';
import { rawExchange } from '../support/raw-proxy-client.ts';
import { runCommand } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { withDeadline } from '../support/wait-for.ts';
import { startWholeGateway, type WholeGateway } from '../support/whole-gateway.ts';

const closed = 'closed.test';

/** everything else is forwarded unread, so that whatever is misread gets out */
const policy: Policy = {
  rules: [
    {
      name: 'closed',
      target: { kind: 'host', pattern: parseHostPatternSetting(closed) },
      verdict: 'deny',
      ports: [],
      actors: [],
    },
  ],
  defaultVerdict: 'tcp',
};

describeWithTools('a target that is not one host and one port', ['envoy-1.40.0', 'python'], (tools) => {
  const { 'envoy-1.40.0': envoy, python } = tools;
  const temp = createTempFolder();
  let gateway: WholeGateway;
  let trap: Server;
  let caught = 0;
  /** first line of the last request that got through */
  let heard = '';
  let trapPort = 0;

  beforeAll(async () => {
    trap = createServer((socket) => {
      caught += 1;
      socket.on('error', () => undefined);
      socket.once('data', (chunk: Buffer) => {
        [heard = ''] = chunk.toString('latin1').split('\r\n', 1);
        socket.end('HTTP/1.1 200 OK\r\ncontent-length: 6\r\nconnection: close\r\n\r\ncaught');
      });
    });
    await new Promise<void>((resolve) => trap.listen(0, '127.0.0.1', resolve));
    trapPort = (trap.address() as AddressInfo).port;
    gateway = await startWholeGateway({
      envoy,
      names: { [closed]: ['127.0.0.1'], 'open.test': ['127.0.0.1'] },
      spec: { policy },
    });
  });
  afterAll(async () => {
    await gateway.stop();
    trap.close();
    temp.remove();
  });
  beforeEach(() => (caught = 0));

  /** `@` stands for the trap's port */
  const forms = [
    `${closed}:@:1`,
    `${closed}:@:80`,
    `${closed}:@:@`,
    `127.0.0.1:@:1`,
    `[127.0.0.1]:@:1`,
    `[::1]:@:1`,
    `[${closed}]:@`,
    `[${closed}]:@:1`,
    `${closed}]:@`,
    `${closed}:@]`,
    `user@${closed}:@`,
    `${closed}%2e:@`,
    `${closed}:0`,
    `${closed}:000`,
    `${closed}:65536`,
    // 443 in 16 and in 32 bits
    `${closed}:65979`,
    `${closed}:4294967739`,
    `${closed}:99999999999999999999`,
    `${closed}:-1`,
    `${closed}:+@`,
    `${closed}:`,
    `::1:@`,
    `[::1%25lo]:@`,
    `2001:db8::1:@:80`,
    `..:@`,
    `.${closed}:@`,
    `:@`,
  ];

  const filled = (form: string): string => form.replace(/:(\+?)@/g, `:$1${trapPort}`);

  test.each([
    ['http://open.test:@', 'GET / HTTP/1.1', '/'],
    ['http://open.test:@/p?a', 'GET /p?a HTTP/1.1', '/p'],
  ])('%s is asked of its origin as %s', async (form, line, path) => {
    const target = filled(form);
    const answer = await rawExchange({
      port: gateway.port,
      send: `GET ${target} HTTP/1.1\r\nHost: open.test:${trapPort}\r\n\r\n`,
    });
    expect([answer.text.slice(0, 12), heard]).toEqual(['HTTP/1.1 200', line]);
    await gateway.recordOf('the request', (record) => record.host === 'open.test' && record.path === path);
  });

  test.each(['open.test', closed])(
    'a query without a path of %s leads to the one with it, and nothing is dialled',
    async (host) => {
      const target = `http://${host}:${trapPort}?a=b%20c&d=http://e`;
      const answer = await rawExchange({ port: gateway.port, send: `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n` });
      expect(answer).toMatchObject({
        status: 307,
        headers: { location: '/?a=b%20c&d=http://e', 'x-leafgate-error': 'path_missing' },
      });
      expect(JSON.parse(answer.body)).toEqual({ error: 'path_missing', status: 307 });
      expect(caught).toBe(0);
      const record = await gateway.recordOf('it', (each) => each.host === host && each.status === 307);
      expect(record).toMatchObject({ outcome: 'failed', reason: { code: 'client-request' } });
      expect(JSON.stringify(record)).not.toContain('a=b');
    },
  );

  test('a query without a path, as urllib of Python asks for it, reaches the origin', async () => {
    const script = `import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())`;
    const env = scrubbedEnvironment(temp.path, { http_proxy: `http://127.0.0.1:${gateway.port}` });
    const done = await runCommand(python, ['-c', script, `http://open.test:${trapPort}?a=b`], { env });
    expect([done.stdout, heard, caught]).toEqual(['caught\n', 'GET /?a=b HTTP/1.1', 1]);
  });

  test.each(forms)('%s is refused over HTTP/2, as a tunnel and in clear, and nothing is dialled', async (form) => {
    const authority = filled(form);
    await expect(openTunnel({ proxyPort: gateway.port, authority, protocol: 'HTTP/2' })).rejects.toThrow(
      /^HTTP\/2 (?:4\d\d|closed)$|^Stream closed with error code/,
    );
    expect(await askClear(authority)).not.toBe(200);
    expect(caught).toBe(0);
  });

  test.each(forms)(
    '%s is refused over HTTP/1.1, as a tunnel, a URL and a Host, and nothing is dialled',
    async (form) => {
      const authority = filled(form);
      for (const send of [
        `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`,
        `GET http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\n\r\n`,
        `GET / HTTP/1.1\r\nHost: ${authority}\r\n\r\n`,
        `GET / HTTP/1.0\r\nHost: ${authority}\r\n\r\n`,
      ]) {
        const answer = await rawExchange({ port: gateway.port, send });
        expect([send, answer.text.slice(0, 12)]).toEqual([send, expect.stringMatching(/^HTTP\/1\.[01] 4\d\d$/)]);
      }
      expect(caught).toBe(0);
    },
  );

  test('is answered with 403 and told as that in the record', async () => {
    const send = `GET / HTTP/1.1\r\nHost: ${closed}:${trapPort}:1\r\n\r\n`;
    const answer = await rawExchange({ port: gateway.port, send });
    expect([answer.status, answer.headers['x-leafgate-error']]).toEqual([403, 'destination_denied']);
    const record = await gateway.recordOf('it', ({ reason }) => /no host with a port/.test(reason?.words ?? ''));
    expect(record).toMatchObject({ decision: 'deny', outcome: 'refused', reason: { code: 'destination-denied' } });
  });

  test('does not lead the gateway to itself', async () => {
    for (const host of ['localhost', '127.0.0.1', 'any.test']) {
      const send = `GET / HTTP/1.1\r\nHost: ${host}:${gateway.port}:1\r\n\r\n`;
      expect((await rawExchange({ port: gateway.port, send })).status).toBe(403);
    }
  });

  test('is refused inside a tunnel too', async () => {
    const send = `CONNECT open.test:80 HTTP/1.1\r\nHost: open.test:80\r\n\r\n`;
    expect((await rawExchange({ port: gateway.port, send })).status).toBe(200);
    const inner = await rawExchange({
      port: gateway.port,
      send,
      then: `GET / HTTP/1.1\r\nHost: ${closed}:${trapPort}:80\r\n\r\n`,
    });
    expect(inner.text).not.toContain('caught');
    expect(caught).toBe(0);
  });

  function askClear(authority: string): Promise<number | undefined> {
    const session = connectHttp2(`http://127.0.0.1:${gateway.port}`);
    const status = new Promise<number | undefined>((resolve) => {
      session.on('error', () => resolve(undefined));
      const stream = session.request({ ':method': 'GET', ':scheme': 'http', ':path': '/', ':authority': authority });
      stream.on('error', () => resolve(undefined));
      stream.on('response', (headers) => resolve(headers[':status']));
      stream.on('close', () => resolve(undefined));
    });
    return withDeadline(`an answer for ${authority}`, status).finally(() => session.destroy());
  }
});

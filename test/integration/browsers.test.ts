// Chromium and Firefox behind `leafgate up`, with its CA in their own store and without: what a person does in a browser.
// The browsers' own errands end at a DNS server to which no name exists; nothing leaves the machine.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startChromium, startFirefox, type Browser } from '../support/browsers.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { startGatewayUnderTest, type GatewayUnderTest } from '../support/gateway-under-test.ts';
import { openTlsInTunnel } from '../support/open-tunnel.ts';
import { startNxdomainServer, type NxdomainServer } from '../support/nxdomain-server.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { createTestAuthority, issueServerCertificate, type TestAuthority } from '../support/test-certificates.ts';
import { waitFor } from '../support/wait-for.ts';

const pageHost = 'page.browser.test';
const deniedHost = 'denied.browser.test';

const browsers = [
  ['Chromium', 'chromium', startChromium, /ERR_CERT_AUTHORITY_INVALID/],
  ['Firefox', 'firefox-esr', startFirefox, /NS_ERROR|SEC_ERROR_UNKNOWN_ISSUER/],
] as const;

for (const [name, tool, start, distrust] of browsers) {
  describeWithTools(`${name} behind a gateway`, ['envoy-1.40.0', 'certutil', tool], (tools) => {
    let temp: TempFolder;
    let dns: NxdomainServer;
    let origin: PageOrigin;
    let gateway: GatewayUnderTest;
    let browser: Browser;
    let page = '';

    const startBrowser = (folder: string, caFile: string | undefined): Promise<Browser> => {
      const home = temp.file(folder);
      mkdirSync(home);
      const { certutil, [tool]: path } = tools;
      return start({ path, certutil, home, caFile, proxyPort: gateway.proxyPort });
    };

    beforeAll(async () => {
      temp = createTempFolder();
      dns = await startNxdomainServer();
      const authority = createTestAuthority();
      writeFileSync(temp.file('origin-ca.pem'), authority.pem);
      origin = await startPageOrigin(authority);
      page = `https://${pageHost}:${origin.port}`;
      gateway = await startGatewayUnderTest({
        envoy: tools['envoy-1.40.0'],
        temp,
        args: [
          ...['--origin-ca', temp.file('origin-ca.pem'), '--allow-destination', '127.0.0.1/32'],
          ...['--dns', `127.0.0.1:${dns.port}`, '--deny', deniedHost, '--allow', '*.browser.test'],
          ...['--resolve', `${pageHost}:${origin.port}:127.0.0.1`],
        ],
      });
      browser = await startBrowser('trusting', gateway.caFile);
      expect(await browser.goTo(`${page}/`)).toBeUndefined();
    }, 180_000);
    afterAll(async () => {
      await browser.close();
      await gateway.stop();
      await origin.close();
      await dns.close();
      temp.remove();
    });

    test('loads a page over HTTP/2, and its request is recorded with the leaf that it trusted', async () => {
      expect(await browser.evaluate('document.title')).toBe('a page');
      const protocol = `performance.getEntriesByType('navigation')[0].nextHopProtocol`;
      expect(await browser.evaluate(protocol)).toBe('h2');
      const record = await gateway.recordOf('the page', ({ host, path }) => host === pageHost && path === '/');
      expect(record).toMatchObject({ kind: 'request', decision: 'intercept', status: 200, outcome: 'ok' });
    });

    test('fetches, with a body in each direction', async () => {
      const asked = `fetch('/echo', {method: 'POST', body: 'x'.repeat(200000)}).then((r) => r.text()).then((t) => t.length)`;
      expect(await browser.evaluate(asked)).toBe(200_000);
    });

    test('reads a streamed body piece by piece, as the origin sends it', async () => {
      // the origin sends the second piece once the page says that it has read the first
      const read = `(async () => {
        const reader = (await fetch('/stream/body')).body.getReader();
        const decoder = new TextDecoder();
        const first = decoder.decode((await reader.read()).value);
        await fetch('/seen/body');
        let rest = '';
        for (let next = await reader.read(); !next.done; next = await reader.read()) rest += decoder.decode(next.value);
        return [first, rest];
      })()`;
      expect(await browser.evaluate(read)).toEqual(['one', 'two']);
    });

    test('hears server-sent events one by one', async () => {
      const heard = `new Promise((done, fail) => {
        const source = new EventSource('/events/sse');
        const seen = [];
        source.onerror = () => fail(new Error('no event source'));
        source.onmessage = async ({data}) => {
          seen.push(data);
          if (seen.length === 2) { source.close(); done(seen); } else await fetch('/seen/sse');
        };
      })`;
      expect(await browser.evaluate(heard)).toEqual(['one', 'two']);
    });

    test('speaks WebSocket, text in both directions', async () => {
      const talk = `new Promise((done, fail) => {
        const socket = new WebSocket('wss://${pageHost}:${origin.port}/socket');
        socket.onerror = () => fail(new Error('no socket'));
        socket.onopen = () => socket.send('hello');
        socket.onmessage = ({data}) => { socket.close(); done(data); };
      })`;
      expect(await browser.evaluate(talk)).toBe('echo hello');
      const record = await gateway.recordOf('the WebSocket', ({ path }) => path === '/socket');
      expect(record).toMatchObject({ decision: 'intercept', status: 101 });
    });

    test('is refused a denied host, which the record says with the rule', async () => {
      const asked = `fetch('https://${deniedHost}/secret').then((r) => 'answered ' + r.status, (e) => e.name)`;
      expect(await browser.evaluate(asked)).toBe('TypeError');
      const record = await gateway.recordOf('the refusal', ({ host }) => host === deniedHost);
      expect(record).toMatchObject({ kind: 'connect', decision: 'deny', status: 403, outcome: 'refused' });
      expect(record.reason?.code).toBe('policy');
    });

    test('leaves no record that blames it for a connection which it opened ahead of need', async () => {
      const before = gateway.records().length;
      const leaving = await startBrowser('leaving', gateway.caFile);
      expect(await leaving.goTo(`${page}/`)).toBeUndefined();
      await leaving.close();
      // of one that nobody needs, too, what it was is told after a while, and so after those of the browser
      const { proxyPort, caFile } = gateway;
      const authority = 'marker.browser.test:443';
      (await openTlsInTunnel({ proxyPort, authority, ca: readFileSync(caFile, 'utf8') })).end();
      await gateway.recordOf(
        'the marker',
        ({ sni, clientTls }) => sni?.startsWith('marker') === true && clientTls === 'pins',
      );
      const told = gateway.records().slice(before);
      const ofPage = told.filter(({ host }) => host === pageHost);
      expect(ofPage.map(({ kind }) => kind)).toContain('request');
      expect(ofPage.filter(({ clientTls }) => clientTls !== 'trusts')).toEqual([]);
    }, 120_000);

    test('without the CA in its store does not load the page, and the record says why and what to do', async () => {
      const before = gateway.records().length;
      const distrusting = await startBrowser('distrusting', undefined);
      try {
        expect(await distrusting.goTo(`${page}/untrusted`)).toMatch(distrust);
      } finally {
        await distrusting.close();
      }
      // a browser also opens connections that it then does not need
      const record = await waitFor('the record of distrust', () =>
        gateway
          .records()
          .slice(before)
          .find(({ host, clientTls }) => host === pageHost && clientTls === 'distrusts'),
      );
      expect(record).toMatchObject({ kind: 'handshake', outcome: 'failed', sni: pageHost });
      expect(record.reason?.words).toContain('does not trust');
      expect(record.reason?.remedy).toContain(name);
      expect(gateway.records().some(({ path }) => path === '/untrusted')).toBe(false);
    }, 120_000);
  });
}

type PageOrigin = { readonly port: number; close(): Promise<void> };

/** Serves a page and what scripts in it ask for. */
async function startPageOrigin(authority: TestAuthority): Promise<PageOrigin> {
  const { chainPem, keyPem } = issueServerCertificate(authority, { names: [pageHost] });
  const goOn = new Map<string, () => void>();
  const server: Server = createServer({ cert: chainPem, key: keyPem }, (request, response) => {
    answer(request, response, goOn);
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex) => speakWebSocket(request, socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** `/stream/X` and `/events/X` go on when `/seen/X` is asked for */
function answer(request: IncomingMessage, response: ServerResponse, goOn: Map<string, () => void>): void {
  const [, what = '', which = ''] = (request.url ?? '').split('/');
  switch (what) {
    case 'echo':
      request.pipe(response);
      break;
    case 'stream':
      response.write('one');
      goOn.set(which, () => response.end('two'));
      break;
    case 'events':
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: one\n\n');
      goOn.set(which, () => response.write('data: two\n\n'));
      break;
    case 'seen':
      goOn.get(which)?.();
      response.end();
      break;
    default:
      response.setHeader('content-type', 'text/html').end('<!doctype html><title>a page</title>');
  }
}

/** the fixed text that a server adds to a client's key (RFC 6455 section 1.3) */
const webSocketGuid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** answers the first short text with `echo ` and the text (RFC 6455 section 5.2) */
function speakWebSocket(request: IncomingMessage, socket: Duplex): void {
  const accept = createHash('sha1')
    .update(`${request.headers['sec-websocket-key'] ?? ''}${webSocketGuid}`)
    .digest('base64');
  socket.on('error', () => undefined);
  socket.write(
    ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade', `Sec-WebSocket-Accept: ${accept}`]
      .map((line) => `${line}\r\n`)
      .join('') + '\r\n',
  );
  socket.once('data', (frame: Buffer) => {
    const length = (frame[1] ?? 0) & 0x7f;
    const mask = frame.subarray(2, 6);
    const text = Buffer.from(frame.subarray(6, 6 + length).map((byte, index) => byte ^ (mask[index % 4] ?? 0)));
    const reply = Buffer.concat([Buffer.from('echo '), text]);
    socket.write(Buffer.concat([Buffer.from([0x81, reply.length]), reply]));
    // what comes next is the client's farewell
    socket.once('data', () => socket.end());
  });
}

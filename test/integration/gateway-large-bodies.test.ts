// Bodies much larger than memory should be: they pass through `leafgate up` whole, while the memory of Envoy and of leafgate
// stays where it was; and a side that does not read holds the other one back. LEAFGATE_TEST_LONG=1 sends the gibibyte that is promised.
import { readFileSync, writeFileSync } from 'node:fs';
import { request as requestHttp1, type IncomingMessage, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { envoyPids, startGatewayUnderTest, type GatewayUnderTest } from '../support/gateway-under-test.ts';
import { openHttp2Over } from '../support/http-in-tunnel.ts';
import { startHttpOrigin, type HttpOrigin } from '../support/http-origin.ts';
import { openTlsInTunnel } from '../support/open-tunnel.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { createTestAuthority, issueServerCertificate } from '../support/test-certificates.ts';
import { waitFor } from '../support/wait-for.ts';

const mebibyte = 2 ** 20;
const bodyBytes = (process.env['LEAFGATE_TEST_LONG'] === '1' ? 1024 : 256) * mebibyte;
/** buffers are 64 KiB a connection and 64 KiB a stream; the rest is what allocators and a JavaScript heap do anyway */
const mayGrowBytes = 48 * mebibyte;

/** the same bytes each time, none of them like the one beside it */
const piece = Buffer.from(Uint8Array.from({ length: 65_536 }, (_, index) => (index * 31 + (index >> 8)) & 0xff));

type Sum = { readonly bytes: number; readonly crc: number };

function* pieces(bytes: number): Generator<Buffer> {
  for (let left = bytes; left > 0; left -= piece.length) yield left < piece.length ? piece.subarray(0, left) : piece;
}

async function sumOf(stream: AsyncIterable<Buffer>): Promise<Sum> {
  let sum = { bytes: 0, crc: 0 };
  for await (const chunk of stream) sum = { bytes: sum.bytes + chunk.length, crc: crc32(chunk, sum.crc) };
  return sum;
}

function residentBytes(pid: number): number {
  const kibibytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
  return Number(kibibytes) * 1024;
}

describeWithTools('a large body', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  const temp = createTempFolder();
  const whole = sumOf(Readable.from(pieces(bodyBytes)));
  let origin: HttpOrigin;
  let gateway: GatewayUnderTest;
  let originCa = '';
  /** bytes that the origin's last download could hand over */
  let handedOver = 0;

  beforeAll(async () => {
    const authority = createTestAuthority();
    originCa = authority.pem;
    writeFileSync(temp.file('origin-ca.pem'), authority.pem);
    origin = await startHttpOrigin({
      certificate: issueServerCertificate(authority, { names: ['large.test'] }),
      answer: (request, response) => void serve(request, response).catch(() => response.destroy()),
    });
    const args = ['large.test', 'relayed.test'].flatMap((host) => ['--resolve', `${host}:${origin.port}:127.0.0.1`]);
    gateway = await startGatewayUnderTest({
      ...{ envoy, temp },
      args: [
        ...['--origin-ca', temp.file('origin-ca.pem'), '--allow-destination', '127.0.0.1', ...args],
        ...['--allow', 'large.test', '--relay', 'relayed.test'],
      ],
    });
  });
  afterAll(async () => {
    await gateway.stop();
    await origin.close();
    temp.remove();
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'POST') return void response.end(JSON.stringify(await sumOf(request)));
    handedOver = 0;
    const counted = function* (): Generator<Buffer> {
      for (const chunk of pieces(bodyBytes)) {
        yield chunk;
        handedOver += chunk.length;
      }
    };
    response.writeHead(200, { 'content-length': String(bodyBytes) });
    await pipeline(Readable.from(counted()), response);
  }

  const ways = ['HTTP/1.1', 'HTTP/2', 'relayed TLS'] as const;
  type Way = (typeof ways)[number];

  async function open(way: Way) {
    const [host, ca] =
      way === 'relayed TLS' ? ['relayed.test', originCa] : ['large.test', readFileSync(gateway.caFile, 'utf8')];
    const authority = `${host}:${origin.port}`;
    const alpn = way === 'HTTP/2' ? ['h2'] : ['http/1.1'];
    // what is relayed shows the certificate of the origin, which is for its own name
    const more = { checkServerIdentity: () => undefined };
    return { authority, tls: await openTlsInTunnel({ proxyPort: gateway.proxyPort, authority, ca, alpn, more }) };
  }

  /** a request and its answer as streams */
  async function exchange(way: Way, method: 'GET' | 'POST'): Promise<{ answer: Readable; end: () => void }> {
    const { authority, tls } = await open(way);
    const body = method === 'POST' ? Readable.from(pieces(bodyBytes)) : Readable.from([]);
    const path = `/${method.toLowerCase()}`;
    const end = (): void => void tls.destroy();
    if (way === 'HTTP/2') {
      const session = openHttp2Over(tls, authority);
      const stream = session.request({ ':method': method, ':path': path }, { endStream: method === 'GET' });
      if (method === 'POST') void pipeline(body, stream).catch(() => undefined);
      return { answer: stream, end };
    }
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { host: authority, ...(method === 'POST' ? { 'transfer-encoding': 'chunked' } : {}) };
      const request = requestHttp1({ method, path, headers, setHost: false, createConnection: () => tls });
      request.on('response', resolve).on('error', reject);
      void pipeline(body, request).catch(reject);
    });
    return { answer, end };
  }

  /** runs the work while looking at both processes, and returns by how much each grew */
  async function growth(work: () => Promise<void>): Promise<{ readonly envoy: number; readonly leafgate: number }> {
    const pids = [...envoyPids(gateway.state), gateway.process.pid];
    expect(pids).toHaveLength(2);
    const before = pids.map(residentBytes);
    const most = [...before];
    const timer = setInterval(() => {
      for (const [index, pid] of pids.entries()) most[index] = Math.max(most[index] ?? 0, residentBytes(pid));
    }, 50);
    try {
      await work();
    } finally {
      clearInterval(timer);
    }
    const [envoyGrowth = 0, ownGrowth = 0] = most.map((bytes, index) => bytes - (before[index] ?? 0));
    return { envoy: envoyGrowth, leafgate: ownGrowth };
  }

  test.each(ways)(
    'goes down and up by %s, whole and at flat memory',
    async (way) => {
      const grown = await growth(async () => {
        const download = await exchange(way, 'GET');
        expect(await sumOf(download.answer)).toEqual(await whole);
        download.end();
        const upload = await exchange(way, 'POST');
        let report = '';
        for await (const chunk of upload.answer) report += String(chunk);
        expect(JSON.parse(report)).toEqual(await whole);
        upload.end();
      });
      expect(grown.envoy).toBeLessThan(mayGrowBytes);
      expect(grown.leafgate).toBeLessThan(mayGrowBytes);
    },
    240_000,
  );

  test.each(ways)('by %s waits at the origin while its client does not read', async (way) => {
    const grown = await growth(async () => {
      const { answer, end } = await exchange(way, 'GET');
      answer.pause();
      let last = -1;
      let looks = 0;
      // nothing moves any more: what lies on the way are the kernels' buffers, and the gateway's
      await waitFor('the origin to be held back', () => {
        looks = handedOver === last && handedOver > 0 ? looks + 1 : 0;
        last = handedOver;
        return looks > 50;
      });
      expect(handedOver).toBeLessThan(bodyBytes / 8);
      answer.resume();
      await waitFor('it to go on', () => handedOver > bodyBytes / 4, 60_000);
      end();
    });
    expect(grown.envoy).toBeLessThan(mayGrowBytes);
  });
});

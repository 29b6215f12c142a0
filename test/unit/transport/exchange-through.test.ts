import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { millis, systemClock } from '../../../src/clock.ts';
import { parseClientCredential } from '../../../src/transport/client-credential.ts';
import { exchangeThrough } from '../../../src/transport/exchange-through.ts';
import type { ExchangeRequest, ExchangeResult, StreamedAnswer } from '../../../src/transport/exchange-through.ts';
import { parseFetchTarget } from '../../../src/transport/fetch-target.ts';
import { createTrustRegistry } from '../../../src/transport/trust-registry.ts';
import type { TrustRegistry } from '../../../src/transport/trust-registry.ts';
import { issueCredential, makeCurrentCa } from '../../support/credential-workshop.ts';
import { trustIn } from '../../support/loopback-fetch.ts';
import { startScriptedApiServer } from '../../support/scripted-api-server.ts';
import type { ScriptedApiServer } from '../../support/scripted-api-server.ts';
import { createTestAuthority, issueServerCertificate } from '../../support/test-certificates.ts';
import { waitFor, withDeadline } from '../../support/wait-for.ts';

const authority = createTestAuthority();
const trust = trustIn(authority);
let server: ScriptedApiServer;
let registry: TrustRegistry;

beforeAll(async () => {
  server = await startScriptedApiServer({ certificate: issueServerCertificate(authority, { names: ['localhost'] }) });
});
afterAll(() => server.close());
beforeEach(() => {
  registry = createTrustRegistry({ clock: systemClock });
});
afterEach(() => registry.close());

async function textOf(answer: StreamedAnswer): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.body) chunks.push(chunk);
  return `${answer.status} ${Buffer.concat(chunks).toString()}`;
}

function exchange<T = string>(
  more: Partial<ExchangeRequest> = {},
  read: (answer: StreamedAnswer) => Promise<T> = textOf as (answer: StreamedAnswer) => Promise<T>,
): Promise<ExchangeResult<T>> {
  const route = { target: parseFetchTarget(`${server.url}/x?y=z`), trust };
  const deadlines = { headersMs: millis(10_000) };
  return exchangeThrough({ registry, clock: systemClock, route, method: 'GET', headers: {}, deadlines, ...more }, read);
}

describe('an exchange', () => {
  it('sends any method with a body, and gives the answer as it comes', async () => {
    server.play((call, response) => response.writeHead(201).end(`${call.method} ${call.path} ${call.body}`));
    expect(await exchange({ method: 'PATCH', body: '{"a":1}' })).toEqual({
      kind: 'answered',
      value: '201 PATCH /x {"a":1}',
    });
  });

  it('uses a connection again when its body was read, and another for a stream of its own', async () => {
    server.play((_, response) => response.end('whole'));
    const before = server.connections();
    for (let turn = 0; turn < 3; turn += 1) await exchange();
    expect(server.connections() - before).toBe(1);
    const ports = [server.calls.at(-1)?.fromPort];
    for (let turn = 0; turn < 2; turn += 1) {
      await exchange({ hasOwnConnection: true });
      ports.push(server.calls.at(-1)?.fromPort);
    }
    // none of the two stays to be used by a third
    await waitFor('the streams to be gone', () => server.openConnections() <= 1);
    await exchange();
    ports.push(server.calls.at(-1)?.fromPort);
    expect(ports[1]).not.toBe(ports[2]);
    expect(ports[3]).not.toBe(ports[2]);
  });

  it('gives up a body that nobody reads to its end, and its connection', async () => {
    server.play((_, response) => void response.write('first'));
    const first = await exchange({}, async (answer) => {
      for await (const chunk of answer.body) return Buffer.from(chunk).toString();
      return '';
    });
    expect(first).toEqual({ kind: 'answered', value: 'first' });
    await waitFor('the connection to be gone', () => server.openConnections() === 0);
  });

  it('fails for a status line, a silence and a whole body that take too long', async () => {
    server.play(() => undefined);
    const late = { kind: 'failed', code: 'timeout' };
    expect(await exchange({ deadlines: { headersMs: millis(150) } })).toMatchObject(late);
    server.play((_, response) => void response.write('begun'));
    const headersMs = millis(10_000);
    expect(await exchange({ deadlines: { headersMs, silenceMs: millis(150) } })).toMatchObject(late);
    expect(await exchange({ deadlines: { headersMs, bodyMs: millis(150) } })).toMatchObject(late);
  });

  it('ends when its caller wants no more, before the answer and within it', async () => {
    const early = new AbortController();
    early.abort();
    expect(await exchange({ signal: early.signal })).toMatchObject({ kind: 'failed', code: 'connection-closed' });
    server.play((_, response) => void response.write('begun'));
    const late = new AbortController();
    const running = exchange({ signal: late.signal }, async (answer) => {
      for await (const chunk of answer.body) if (chunk.length > 0) late.abort();
      return '';
    });
    expect(await withDeadline('the end', running)).toMatchObject({ kind: 'failed', code: 'connection-closed' });
  });

  it('passes on what its reader throws', async () => {
    server.play((_, response) => response.end('x'));
    await expect(exchange({}, () => Promise.reject(new Error('the reader says no')))).rejects.toThrow(
      'the reader says no',
    );
  });

  it('asks once more, for a GET only, when a kept connection was closed meanwhile', async () => {
    server.play((_, response) => response.end('x'));
    await exchange();
    server.dropConnections();
    expect(await exchange()).toMatchObject({ kind: 'answered' });
  });

  it('never shares a connection between two credentials, nor one and none', async () => {
    server.play((_, response) => response.end('x'));
    const ca = makeCurrentCa('clients');
    const credential = () => {
      const { certificatePem, keyPem } = issueCredential(ca, { purposes: ['client'] });
      const [certificate, key] = [certificatePem, keyPem].map((text) => ({ text: Buffer.from(text), source: 'test' }));
      return parseClientCredential({ certificate: certificate!, key: key! }, systemClock.now());
    };
    const [one, other] = [credential(), credential()];
    const target = parseFetchTarget(server.url);
    const before = server.connections();
    for (const shown of [{}, { credential: one }, { credential: other }, { credential: one }]) {
      expect(await exchange({ route: { target, trust, ...shown } })).toMatchObject({ kind: 'answered' });
    }
    expect(server.connections() - before).toBe(3);
  });
});

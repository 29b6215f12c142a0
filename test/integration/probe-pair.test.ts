import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { millis, systemClock } from '../../src/clock.ts';
import { checkPair, checkPairs } from '../../src/probe/check-pair.ts';
import type { PairRequest, PairVerdict } from '../../src/probe/check-pair.ts';
import { parseHttpProxy } from '../../src/transport/http-proxy.ts';
import { parseServerTrust, type ServerTrust } from '../../src/transport/server-trust.ts';
import { createTrustRegistry } from '../../src/transport/trust-registry.ts';
import type { TrustRegistry } from '../../src/transport/trust-registry.ts';
import { startConnectProxy } from '../support/connect-proxy.ts';
import type { ConnectProxy, ProxyMode } from '../support/connect-proxy.ts';
import { freePort } from '../support/free-port.ts';
import { createTestAuthority, issueServerCertificate } from '../support/test-certificates.ts';
import { startTlsOrigin } from '../support/tls-origin.ts';
import type { TlsOrigin } from '../support/tls-origin.ts';

// stands for the CAs that a machine trusts anyway, so that no test depends on the machine's roots or on the network
const publicCa = createTestAuthority({ organisation: 'public' });
const gatewayCa = createTestAuthority({ organisation: 'gateway' });
const trusted = (pem: string, source: string) => parseServerTrust({ bundle: pem, source });
const bundle = trusted(gatewayCa.pem, 'the bundle');
const system = trusted(publicCa.pem, 'the roots');
const url = 'https://api.example.com/';

let origin: TlsOrigin;
let registry: TrustRegistry;
let proxy: ConnectProxy;

beforeEach(async () => {
  origin = await startTlsOrigin({ certificate: issueServerCertificate(publicCa, { names: ['api.example.com'] }) });
  registry = createTrustRegistry({ clock: systemClock });
});
afterEach(async () => {
  await registry.close();
  await proxy.close();
  await origin.close();
});

async function check(mode: ProxyMode, more: Partial<PairRequest> = {}): Promise<PairVerdict> {
  proxy = await startConnectProxy(mode);
  return checkPair(url, requestThrough(proxy, more));
}

function requestThrough(through: ConnectProxy, more: Partial<PairRequest> = {}): PairRequest {
  const way = parseHttpProxy(through.url);
  return { registry, clock: systemClock, bundle, system, proxy: way, timeoutMs: millis(5000), ...more };
}

const relay: ProxyMode = { kind: 'tunnel', route: () => origin.port };

describe('a gateway that intercepts', () => {
  it('is shown to, over two connections', async () => {
    const verdict = await check({ kind: 'intercept', authority: gatewayCa });
    expect(verdict).toMatchObject({
      url,
      verdict: 'intercepted',
      bundle: { kind: 'answered', tls: { leaf: { san: ['DNS:api.example.com'] } } },
      system: { kind: 'failed', code: 'certificate' },
    });
    expect(proxy.asked).toHaveLength(2);
  });

  it('is shown to again and again, although the first half leaves an open connection', async () => {
    proxy = await startConnectProxy({ kind: 'intercept', authority: gatewayCa });
    const verdicts = await checkPairs([url, url, url], requestThrough(proxy));
    expect(verdicts.map(({ verdict }) => verdict)).toEqual(['intercepted', 'intercepted', 'intercepted']);
    // one kept for the bundle, one new for each failure
    expect(proxy.asked).toHaveLength(4);
  });

  it('with a CA that is not in the bundle is not trusted', async () => {
    const verdict = await check({ kind: 'intercept', authority: createTestAuthority({ organisation: 'rotated' }) });
    expect(verdict.verdict).toBe('not-trusted');
    expect(verdict.reason).toContain('rotated CA');
  });

  it('whose CA the machine trusts too cannot be told from one that relays', async () => {
    const both = trusted(publicCa.pem + gatewayCa.pem, 'roots with the CA of the gateway');
    const verdict = await check({ kind: 'intercept', authority: gatewayCa }, { system: both });
    expect(verdict.verdict).toBe('relayed');
    expect(verdict.reason).toContain('1 certificates stand in both');
  });

  it('that answers for the policy is a refusal with its rule', async () => {
    const verdict = await check({
      kind: 'intercept',
      authority: gatewayCa,
      answer: (_, response) => void response.writeHead(403, { 'x-leafgate-rule': 'deny:ads' }).end(),
    });
    expect(verdict).toMatchObject({ verdict: 'refused', rule: 'deny:ads' });
  });

  it('that cannot reach the origin says so', async () => {
    const verdict = await check({
      kind: 'intercept',
      authority: gatewayCa,
      answer: (_, response) => void response.writeHead(502).end('{"error":"origin_failed"}'),
    });
    expect(verdict.verdict).toBe('origin-down');
  });
});

describe('a gateway that only relays fails the check in both ways', () => {
  it('the bundle does not verify the origin, and the roots do', async () => {
    expect(await check(relay)).toMatchObject({
      verdict: 'relayed',
      bundle: { kind: 'failed', code: 'certificate' },
      system: { kind: 'answered' },
    });
  });

  it('a bundle merged with the roots verifies it too: the positive alone would have passed', async () => {
    const merged = trusted(publicCa.pem + gatewayCa.pem, 'a merged bundle');
    expect(await check(relay, { bundle: merged })).toMatchObject({
      verdict: 'relayed',
      bundle: { kind: 'answered' },
      system: { kind: 'answered' },
    });
  });
});

describe('a gateway that does not let the request through', () => {
  it.each<[string, ProxyMode, string]>([
    ['a rule', { kind: 'refuse', status: 403, rule: 'deny:ads' }, 'refused'],
    ['no origin', { kind: 'refuse', status: 503, body: '{"error":"egress_error"}' }, 'origin-down'],
    ['a closed tunnel', { kind: 'hang-up' }, 'inconclusive'],
  ])('is told by its reason: %s', async (_, mode, verdict) => {
    expect((await check(mode)).verdict).toBe(verdict);
  });

  it('because it is not there is not an origin that is down', async () => {
    proxy = await startConnectProxy(relay);
    const nobody = parseHttpProxy(`http://127.0.0.1:${await freePort()}`);
    const verdict = await checkPair(url, requestThrough(proxy, { proxy: nobody }));
    expect(verdict).toMatchObject({ verdict: 'inconclusive', bundle: { code: 'connection-refused', peer: 'proxy' } });
  });
});

describe('with patience', () => {
  const rotated = createTestAuthority({ organisation: 'rotated' });
  const both = trusted(gatewayCa.pem + rotated.pem, 'the bundle after the rotation');
  const patient = (windowMs: number, looks: ServerTrust[]): Partial<PairRequest> => ({
    patience: { windowMs: millis(windowMs), bundleNow: () => Promise.resolve(looks.shift() ?? both) },
  });

  it('a certificate that nobody trusts is asked for again until the bundle has its anchor', async () => {
    const looks = [bundle, bundle];
    const verdict = await check({ kind: 'intercept', authority: rotated }, patient(60_000, looks));
    expect([verdict.verdict, looks]).toEqual(['intercepted', []]);
    expect(proxy.asked).toHaveLength(6);
  });

  it('the window ends', async () => {
    const verdict = await check({ kind: 'intercept', authority: rotated }, patient(0, [bundle, bundle]));
    expect(verdict.verdict).toBe('not-trusted');
    expect(proxy.asked).toHaveLength(2);
  });

  it.each<[string, ProxyMode, string]>([
    ['a refusal', { kind: 'refuse', status: 403, rule: 'deny:ads' }, 'refused'],
    ['a gateway that relays', { kind: 'tunnel', route: () => origin.port }, 'relayed'],
    ['a closed tunnel', { kind: 'hang-up' }, 'inconclusive'],
  ])('%s is asked for once: it is no matter of time', async (_, mode, outcome) => {
    const verdict = await check(mode, patient(60_000, [bundle]));
    expect([verdict.verdict, proxy.asked.length]).toEqual([outcome, 2]);
  });
});

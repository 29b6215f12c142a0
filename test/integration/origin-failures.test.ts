// What a client is told when an origin fails: 502 and one word of a closed set, on every leg, to every kind of client;
// the full text stands in the record only.
import { readFileSync, writeFileSync } from 'node:fs';
import { Client, credentials, Metadata, status as grpcStatus, type ServiceError } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isOriginCause } from '../../src/settings/origin-causes.ts';
import { startBadlyCertified, startBadlySpoken, startBlackHole, type BrokenOrigin } from '../support/broken-origins.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { curlThrough, startGatewayUnderTest, type GatewayUnderTest } from '../support/gateway-under-test.ts';
import { runCommand } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { createTestAuthority, type TestAuthority } from '../support/test-certificates.ts';

/** nothing of OpenSSL, of Envoy, of an address or of the other certificate */
const forbiddenText =
  /OPENSSL|CERTIFICATE_VERIFY|TLS_error|SSL_routines|upstream|reset|delayed|127\.0\.0\.1|other\.test/i;

/** they stand in Envoy's details when the origin's certificate is for another name */
const quotedHosts = ['overload.test', 'overflow.test'] as const;

type Answer = {
  readonly status: number;
  readonly body: string;
  readonly headers: { readonly [name: string]: string };
};

describeWithTools('an origin that fails', ['envoy-1.40.0', 'curl'], ({ 'envoy-1.40.0': envoy, curl }) => {
  const temp: TempFolder = createTempFolder();
  const authority: TestAuthority = createTestAuthority();
  let origins: { readonly [name: string]: BrokenOrigin } = {};
  let gateway: GatewayUnderTest;

  beforeAll(async () => {
    writeFileSync(temp.file('origin-ca.pem'), authority.pem);
    origins = {
      ...(await startBadlyCertified(authority)),
      ...(await startBadlySpoken()),
      'black-hole': await startBlackHole(temp.path),
    };
    const resolve = Object.entries(origins).map(([name, { port }]) => `${name}.test:${port}:127.0.0.1`);
    const quoted = quotedHosts.map((host) => `${host}:${portOf('misnamed')}:127.0.0.1`);
    gateway = await startGatewayUnderTest({
      ...{ envoy, temp },
      args: [
        ...['--origin-ca', temp.file('origin-ca.pem'), '--allow-destination', '127.0.0.1/32'],
        ...[...resolve, ...quoted, 'closed.test:443:127.0.0.2'].flatMap((value) => ['--resolve', value]),
      ],
    });
  });
  afterAll(async () => {
    await gateway.stop();
    await Promise.all(Object.values(origins).map((origin) => origin.close()));
    temp.remove();
  });

  const portOf = (name: string): number => origins[name]?.port ?? 443;
  const ask = async (url: string, ...args: readonly string[]): Promise<Answer> => {
    const format = '\n%{http_code} %{header_json}';
    const through = { curl, temp, gateway };
    const { stdout, stderr } = await curlThrough(through, '-m', '20', '-w', format, ...args, url);
    const [, body, status, json] = /^([^]*?)\n(\d{3}) (\{[^]*)$/.exec(stdout) ?? [];
    if (json === undefined) throw new Error(`no answer: ${stdout} ${stderr}`);
    const headers = JSON.parse(json) as { readonly [name: string]: readonly string[] };
    return {
      status: Number(status),
      body: body ?? '',
      headers: Object.fromEntries(Object.entries(headers).map(([name, values]) => [name, values[0] ?? ''])),
    };
  };

  describe.each([
    ['HTTP/2', '--http2', 'https'],
    ['HTTP/1.1', '--http1.1', 'https'],
    ['clear HTTP', '--http1.1', 'http'],
    ['clear HTTP in a tunnel', '-p', 'http'],
  ])('is told over %s', (_, flag, scheme) => {
    const certified = [
      ['expired', 'expired'],
      ['early', 'expired'],
      ['misnamed', 'wrong_name'],
      ['stranger', 'not_trusted'],
      ['in-clear', 'handshake'],
      ['alerting', 'handshake'],
      ['hanging-up', 'handshake'],
      ['abrupt', 'handshake'],
      ['mute', 'timeout'],
    ] as const;
    const inClear = [
      ['hanging-up', 'refused'],
      ['abrupt', 'refused'],
      ['garbled', 'handshake'],
    ] as const;
    const both = [
      ['refusing', 'refused'],
      ['black-hole', 'timeout'],
      ['missing', 'dns'],
    ] as const;
    test.concurrent.each([...(scheme === 'https' ? certified : inClear), ...both])('%s as %s', async (name, cause) => {
      const path = `/${name}/${scheme}/${flag}`;
      const answer = await ask(`${scheme}://${name}.test:${portOf(name)}${path}?token=hunter2`, flag);
      const body = JSON.parse(answer.body) as { readonly [field: string]: unknown };
      expect(body).toMatchObject({ error: 'origin_failed', cause, status: 502, host: `${name}.test` });
      expect(Object.keys(body).toSorted()).toEqual(['cause', 'error', 'host', 'id', 'status']);
      expect(answer).toMatchObject({
        status: 502,
        headers: {
          'content-type': 'application/json',
          'x-leafgate-error': 'origin_failed',
          'x-leafgate-cause': cause,
        },
      });
      expect(JSON.stringify(answer)).not.toMatch(forbiddenText);
      const record = await gateway.recordOf(path, (candidate) => candidate.path === path);
      expect(record).toMatchObject({ id: body['id'], outcome: 'failed', cause, status: 502, host: `${name}.test` });
    });
  });

  test('has its full text in the record alone', async () => {
    const answer = await ask(`https://misnamed.test:${portOf('misnamed')}/full-text`);
    const record = await gateway.recordOf('the failure', ({ path }) => path === '/full-text');
    expect(record.upstreamFailure).toMatch(/verify SAN list, expected SANs: \[misnamed\.test\].*other\.test/);
    expect(answer.body).not.toMatch(/other/);
  });

  test.each(quotedHosts)('is not taken for a refusal that its name reads like: %s', async (host) => {
    const answer = await ask(`https://${host}:${portOf('misnamed')}/${host}`);
    expect(JSON.parse(answer.body)).toMatchObject({ error: 'origin_failed', cause: 'wrong_name' });
    const record = await gateway.recordOf(host, ({ path }) => path === `/${host}`);
    expect(record).toMatchObject({ cause: 'wrong_name', reason: { code: 'origin-distrusted' } });
  });

  test('is named in a header where an answer has no body', async () => {
    const answer = await ask(`https://expired.test:${portOf('expired')}/head`, '-I');
    expect(answer).toMatchObject({ status: 502, headers: { 'x-leafgate-cause': 'expired' } });
  });

  describe('reaches a gRPC client as UNAVAILABLE with the same words', () => {
    test.each([
      ['expired', 'expired'],
      ['stranger', 'not_trusted'],
      ['refusing', 'refused'],
      ['missing', 'dns'],
    ])('%s as %s', async (name, cause) => {
      const error = await callGrpc(gateway, `${name}.test`, portOf(name));
      expect(error.code).toBe(grpcStatus.UNAVAILABLE);
      expect(JSON.parse(error.details)).toMatchObject({ error: 'origin_failed', cause, host: `${name}.test` });
      expect(error.details).not.toMatch(forbiddenText);
    });
  });

  test('is told apart from a refusal of the gateway, which a gRPC client sees as PERMISSION_DENIED', async () => {
    const closed = await callGrpc(gateway, 'closed.test', 443);
    expect([closed.code, JSON.parse(closed.details)]).toMatchObject([
      grpcStatus.PERMISSION_DENIED,
      { error: 'destination_denied' },
    ]);
    const lying = await callGrpc(gateway, 'closed.test', 443, 'other.test');
    expect([lying.code, JSON.parse(lying.details)]).toMatchObject([
      grpcStatus.PERMISSION_DENIED,
      { error: 'name_mismatch' },
    ]);
  });

  test('is counted by its reason, as often as it is in the records', async () => {
    const socket = `${gateway.state}/gateway/health.sock`;
    const args = ['-sS', '--unix-socket', socket, 'http://gateway/metrics'];
    const { stdout } = await runCommand(curl, args, { env: scrubbedEnvironment(temp.path) });
    const count = (name: string, labels: string): number =>
      Number(stdout.split(`\n${name}{${labels}} `)[1]?.split('\n')[0]);
    const records = gateway.records();
    for (const code of ['origin-distrusted', 'origin-handshake', 'origin-not-resolved', 'origin-timeout', 'policy']) {
      const shown = records.filter(({ reason }) => reason?.code === code).length;
      expect([code, count('leafgate_record_reasons_total', `reason="${code}"`)]).toEqual([code, shown]);
    }
    const failed = records.filter(({ decision, outcome }) => decision === 'intercept' && outcome === 'failed').length;
    expect(count('leafgate_records_total', 'decision="intercept",outcome="failed"')).toBe(failed);
  });

  test('always has a cause that the set knows', () => {
    const causes = gateway.records().flatMap((record) => (record.cause === undefined ? [] : [record.cause]));
    expect(causes.length).toBeGreaterThan(0);
    expect(causes.filter((cause) => !isOriginCause(cause))).toEqual([]);
  });
});

/** one unary call that must fail */
async function callGrpc(
  gateway: GatewayUnderTest,
  host: string,
  port: number,
  authority = `${host}:${port}`,
): Promise<ServiceError> {
  const client = new Client(
    `ipv4:127.0.0.1:${gateway.proxyPort}`,
    credentials.createSsl(readFileSync(gateway.caFile)),
    {
      'grpc.http_connect_target': `dns:${host}:${port}`,
      'grpc.ssl_target_name_override': host,
      'grpc.default_authority': authority,
    },
  );
  try {
    return await new Promise<ServiceError>((resolve, reject) => {
      const asIs = (bytes: Buffer): Buffer => bytes;
      const options = { deadline: Date.now() + 20_000 };
      client.makeUnaryRequest('/test.Echo/Say', asIs, asIs, Buffer.from('x'), new Metadata(), options, (error) => {
        if (error === null) reject(new Error('the call succeeded'));
        else resolve(error);
      });
    });
  } finally {
    client.close();
  }
}

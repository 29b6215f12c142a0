// Two hundred tunnels at once through `leafgate up`: nobody gets another's certificate, origin or record. Only a concurrent
// test can see it (with the wrong factory key 1,791 of 1,800 tunnels were mixed up, and none of a sequential run).
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect as connectTls, createSecureContext } from 'node:tls';
import type { SecureContext } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { startGatewayUnderTest } from '../support/gateway-under-test.ts';
import type { GatewayUnderTest } from '../support/gateway-under-test.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { createTestAuthority, issueServerCertificate } from '../support/test-certificates.ts';
import { startTlsOrigin } from '../support/tls-origin.ts';
import type { TlsOrigin } from '../support/tls-origin.ts';
import { waitFor, withDeadline } from '../support/wait-for.ts';

const tunnels = 200;
const hosts = Array.from({ length: 8 }, (_, index) => `host-${index}.identity.test`);

describeWithTools('identity', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  const temp = createTempFolder();
  const origins: TlsOrigin[] = [];
  let gateway: GatewayUnderTest;

  beforeAll(async () => {
    const authority = createTestAuthority();
    writeFileSync(temp.file('origin-ca.pem'), authority.pem);
    for (const host of hosts) {
      const certificate = issueServerCertificate(authority, { names: [host] });
      origins.push(await startTlsOrigin({ certificate, answer: (_, response) => response.end(`origin of ${host}`) }));
    }
    gateway = await startGatewayUnderTest({
      ...{ envoy, temp },
      args: [
        ...['--origin-ca', temp.file('origin-ca.pem'), '--allow-destination', '127.0.0.0/8'],
        ...hosts.flatMap((host, index) => ['--resolve', `${host}:${origins[index]?.port ?? 0}:127.0.0.1`]),
      ],
    });
  });

  afterAll(async () => {
    await gateway.stop();
    await Promise.all(origins.map((origin) => origin.close()));
    temp.remove();
  });

  test('of 200 concurrent tunnels stays its own: certificate, origin, and the record with its client', async () => {
    const context = createSecureContext({ ca: readFileSync(gateway.caFile, 'utf8') });
    const visits = await Promise.all(
      Array.from({ length: tunnels }, (_, index) => {
        const host = hosts[index % hosts.length] ?? '';
        const authority = `${host}:${origins[index % hosts.length]?.port ?? 0}`;
        return visit({ proxyPort: gateway.proxyPort, host, authority, path: `/visit-${index}`, context });
      }),
    );
    for (const { host, body } of visits) expect(body).toContain(`origin of ${host}`);
    const records = await waitFor('a record of every visit', () => {
      const seen = gateway.records().filter(({ path }) => path?.startsWith('/visit-'));
      return seen.length >= tunnels && seen;
    });
    const shown = records.map(({ path, host, client, status }) => ({ path, host, client, status }));
    const expected = visits.map(({ path, host, client }) => ({ path, host, client, status: 200 }));
    type Named = { readonly path: string | undefined };
    const byPath = (one: Named, other: Named): number => (one.path ?? '').localeCompare(other.path ?? '');
    expect(shown.toSorted(byPath)).toEqual(expected.toSorted(byPath));
    expect(new Set(records.map(({ id }) => id)).size).toBe(tunnels);
  });
});

type Visit = {
  readonly proxyPort: number;
  readonly host: string;
  readonly authority: string;
  readonly path: string;
  readonly context: SecureContext;
};

/** One CONNECT, one verified handshake by name, one request; `client` is our own end of the connection. */
async function visit({ proxyPort, host, authority, path, context }: Visit) {
  const socket = connect(proxyPort, '127.0.0.1');
  try {
    const body = await withDeadline(`the visit ${path}`, converse(socket, { host, authority, path, context }), 45_000);
    return { host, path, body, client: `127.0.0.1:${socket.localPort ?? 0}` };
  } finally {
    socket.destroy();
  }
}

async function converse(socket: Socket, { host, authority, path, context }: Omit<Visit, 'proxyPort'>): Promise<string> {
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
  const [accepted] = await once<Buffer>(socket, 'data');
  if (!/^HTTP\/1\.1 200 /.test(String(accepted))) throw new Error(`CONNECT: ${String(accepted)}`);
  const tls = connectTls({ socket, servername: host, secureContext: context });
  await once(tls, 'secureConnect');
  tls.write(`GET ${path} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
  let text = '';
  while (!text.includes('origin of ') && !/^HTTP\/1\.1 [45]/.test(text)) {
    const [chunk] = await once<Buffer>(tls, 'data');
    text += String(chunk);
  }
  return text;
}

function once<Value>(emitter: NodeJS.EventEmitter, event: string): Promise<readonly Value[]> {
  return new Promise((resolve, reject) => {
    emitter.once('error', reject);
    emitter.once('close', () => reject(new Error(`closed before ${event}`)));
    emitter.once(event, (...values: readonly Value[]) => {
      emitter.removeListener('error', reject);
      resolve(values);
    });
  });
}

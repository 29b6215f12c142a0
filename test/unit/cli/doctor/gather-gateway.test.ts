import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { gatherEnvironment, gatherGivenFiles } from '../../../../src/cli/doctor/gather-environment.ts';
import { gatherGateway, gatherListen, gatherTrust } from '../../../../src/cli/doctor/gather-gateway.ts';
import { gatherPool } from '../../../../src/cli/doctor/gather-state.ts';
import { gatewayTrustDir } from '../../../../src/cli/gateway-folder.ts';
import { readGatewayOptions } from '../../../../src/cli/gateway-options.ts';
import { writeGatewayNote } from '../../../../src/cli/running-gateway-file.ts';
import { openStateFolder, type StateFolder } from '../../../../src/cli/state-folder.ts';
import { takeLock } from '../../../../src/cli/state-lock.ts';
import { systemClock } from '../../../../src/clock.ts';
import type { Pool } from '../../../../src/pool/pool-types.ts';
import { readSystemRoots } from '../../../../src/projection/system-roots.ts';
import { writeTrustFiles } from '../../../../src/projection/trust-files.ts';
import { parseListenAddress } from '../../../../src/settings/parse-listen.ts';
import { encodeCertificatesPem } from '../../../../src/x509/pem.ts';
import { makeCa } from '../../../support/ca-workshop.ts';
import { soundFacts } from '../../../support/doctor-facts.ts';
import { foundIn } from '../../../support/found-problems.ts';
import { createTempFolder, type TempFolder } from '../../../support/temp-folder.ts';

let temp: TempFolder;
let state: StateFolder;
let pool: Pool;
const servers: Server[] = [];

beforeEach(async () => {
  temp = createTempFolder();
  ({ state } = await openStateFolder(temp.file('state'), systemClock));
  const gathered = await gatherPool(state, systemClock.now(), false);
  if (gathered.pool === undefined) throw new Error('no pool');
  pool = gathered.pool;
});
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((done) => server.close(done));
  temp.remove();
});

const listenOn = async (where: string | number): Promise<number> => {
  const server = createServer((socket) => socket.destroy());
  servers.push(server);
  await new Promise<void>((done) => {
    if (typeof where === 'string') server.listen(where, done);
    else server.listen(where, '127.0.0.1', done);
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
};

describe('a gateway', () => {
  test('that does not run is no problem', async () => {
    expect((await gatherGateway(state)).facts).toEqual({ kind: 'none' });
  });

  test('that is on its way is told as that', async () => {
    takeLock(state.lockFile);
    expect((await gatherGateway(state)).facts).toEqual({ kind: 'changing', pid: process.pid });
  });

  test('whose sockets are gone or dead is told socket by socket', async () => {
    takeLock(state.lockFile);
    mkdirSync(temp.file('s'));
    await writeGatewayNote(state, {
      ...{ pid: process.pid, proxyUrl: 'http://127.0.0.1:1', caFile: '/c', mergedFile: '/m', wgetrcFile: '/w' },
      healthAddress: `unix:${temp.file('s/health.sock')}`,
      adminSocket: temp.file('s/admin.sock'),
      sdsSocket: temp.file('s/sds.sock'),
      policyInForce: '/p',
      settings: {},
    });
    const gone = ['gateway-silent', 'sds-socket-gone', 'envoy-admin-silent'];
    expect(foundIn({ gateway: (await gatherGateway(state)).facts })).toEqual(gone);
    await listenOn(temp.file('s/sds.sock'));
    expect(foundIn({ gateway: (await gatherGateway(state)).facts })).toEqual(['gateway-silent', 'envoy-admin-silent']);
  });
});

describe('the address to listen on', () => {
  const problems = async (text: string, port = 1): Promise<readonly string[]> => {
    const gateway = { ...soundFacts.gateway, proxyUrl: `http://127.0.0.1:${port}` } as typeof soundFacts.gateway;
    const options = { listen: parseListenAddress(text), front: undefined, transparentPort: undefined };
    return foundIn({ listen: await gatherListen(options, gateway) });
  };

  test('is free, taken, or the running gateway’s own', async () => {
    expect(await problems('127.0.0.1:0')).toEqual([]);
    const port = await listenOn(0);
    expect(await problems(`127.0.0.1:${port}`)).toEqual(['listen-taken']);
    expect(await problems(`127.0.0.1:${port}`, port)).toEqual([]);
  });

  test('of TLS and of redirected connections are looked at as well', async () => {
    const [tls, redirected] = [await listenOn(0), await listenOn(0)];
    const front = { listen: parseListenAddress(`127.0.0.1:${tls}`), certificateDir: '/c', clientCaFile: undefined };
    const options = { listen: parseListenAddress('127.0.0.1:0'), front, transparentPort: redirected };
    const listen = await gatherListen(options, { kind: 'none' });
    expect(foundIn({ listen })).toEqual(['listen-taken', 'listen-taken']);
    expect(listen.map(({ flag }) => flag)).toEqual(['--listen', '--listen-tls', '--transparent']);
  });

  test('of another machine is refused', async () => {
    expect(await problems('192.0.2.1:3128')).toEqual(['listen-refused']);
  });
});

describe('trust files', () => {
  const problems = async (isRunning = true): Promise<readonly string[]> => {
    const trust = await gatherTrust(state, pool);
    return foundIn({ trust, ...(isRunning ? {} : { gateway: { kind: 'none' } }) });
  };
  const dir = (): string => gatewayTrustDir(state.gatewayDir);
  const write = async (systemRoots?: readonly Pool['active']['anchor'][]) => {
    const system = systemRoots ?? (await readSystemRoots()).certificates;
    return writeTrustFiles({ dir: dir(), anchors: pool.cas.map(({ anchor }) => anchor), systemRoots: system });
  };

  test('that were never written are no problem', async () => {
    expect(await problems()).toEqual([]);
  });

  test('as `up` writes them are right', async () => {
    await write();
    expect(await problems()).toEqual([]);
  });

  test('with another CA differ: a fault while a gateway runs', async () => {
    const { caFile } = await write();
    writeFileSync(caFile, encodeCertificatesPem([makeCa().certificate]));
    expect(await problems()).toEqual(['trust-files-differ']);
    expect(await problems(false)).toEqual(['trust-files-old']);
  });

  test('of which one is gone differ', async () => {
    const { mergedFile } = await write();
    rmSync(mergedFile);
    expect(await problems()).toEqual(['trust-files-differ']);
  });

  test('of which the trust store is gone, or another, differ', async () => {
    const { p12File } = await write();
    writeFileSync(p12File, 'x');
    expect(await problems()).toEqual(['trust-files-differ']);
    rmSync(p12File);
    expect(await problems()).toEqual(['trust-files-differ']);
  });

  test('with other roots of the system are old', async () => {
    await write([makeCa().certificate]);
    expect(await problems()).toEqual(['trust-files-old']);
  });
});

describe('the environment', () => {
  const problems = async (env: Record<string, string>): Promise<readonly string[]> =>
    foundIn({ environment: await gatherEnvironment(env, 'http://127.0.0.1:3128', pool) });

  test('without any of the variables is no problem', async () => {
    expect(await problems({ HOME: '/root', no_proxy: '', SSL_CERT_FILE: '' })).toEqual([]);
  });

  test('is judged as the clients would read it', async () => {
    expect(await problems({ https_proxy: 'http://corp:8080', NO_PROXY: 'localhost 127.0.0.1' })).toEqual([
      'proxy-elsewhere',
      'no-proxy-entry-unread',
      'no-proxy-without-loopback',
    ]);
    expect(await problems({ NO_PROXY: '*' })).toEqual(['no-proxy-everything']);
    const pair = {
      HTTPS_PROXY: 'http://127.0.0.1:3128',
      https_proxy: 'http://localhost:3129',
      no_proxy: 'localhost,127.0.0.1',
    };
    expect(await problems(pair)).toEqual(['proxy-variables-differ', 'proxy-elsewhere']);
  });

  test('with a trust file that is gone, empty, or without the CA', async () => {
    expect(await problems({ SSL_CERT_FILE: temp.file('none') })).toEqual(['trust-variable-broken']);
    writeFileSync(temp.file('empty.pem'), '# nobody\n');
    expect(await problems({ GIT_SSL_CAINFO: temp.file('empty.pem') })).toEqual(['trust-variable-broken']);
    const proxy = { https_proxy: '127.0.0.1:3128', no_proxy: 'localhost,127.0.0.1' };
    writeFileSync(temp.file('other.pem'), encodeCertificatesPem([makeCa().certificate]));
    expect(await problems({ ...proxy, SSL_CERT_FILE: temp.file('other.pem') })).toEqual(['trust-variable-without-ca']);
    writeFileSync(temp.file('ca.pem'), encodeCertificatesPem([pool.active.anchor]));
    expect(await problems({ ...proxy, SSL_CERT_FILE: temp.file('ca.pem') })).toEqual([]);
  });
});

describe('certificates that were given', () => {
  const problems = (...originCa: readonly string[]): Promise<readonly string[]> =>
    problemsWith({ 'origin-ca': originCa });
  const problemsWith = async (flags: Record<string, readonly string[]>): Promise<readonly string[]> => {
    const source = { flag: (name: string) => flags[name], environment: {} };
    const options = readGatewayOptions(source, '127.0.0.1:3128');
    return foundIn({ files: await gatherGivenFiles(options, pool, systemClock) });
  };

  test('are a problem each when they cannot be used', async () => {
    writeFileSync(temp.file('good.pem'), `Corp\n${encodeCertificatesPem([makeCa().certificate])}`);
    expect(await problems(temp.file('good.pem'))).toEqual([]);
    writeFileSync(temp.file('key.pem'), '-----BEGIN PRIVATE KEY-----\nMIGH\n-----END PRIVATE KEY-----\n');
    const bad = ['certificate-file-bad', 'certificate-file-bad'];
    expect(await problems(temp.file('good.pem'), temp.file('key.pem'), temp.file('none.pem'))).toEqual(bad);
  });

  test('in a policy file are read with it; a policy that cannot be used is a problem for each thing wrong in it', async () => {
    writeFileSync(temp.file('bad.yaml'), 'default: maybe\nrules: [{name: a, hosts: [a b], verdict: deny}]\n');
    const found = await problemsWith({ policy: [temp.file('bad.yaml')] });
    expect(found.length).toBeGreaterThan(1);
    expect(new Set(found)).toEqual(new Set(['policy-bad']));
    const origins = 'origins: [{name: o, hosts: [a.test], certificate: none.crt, key: none.key}]';
    writeFileSync(temp.file('good.yaml'), `default: deny\n${origins}\n`);
    expect(new Set(await problemsWith({ policy: [temp.file('good.yaml')] }))).toEqual(
      new Set(['certificate-file-bad']),
    );
  });

  test('must not be the gateway’s own CA', async () => {
    writeFileSync(temp.file('own.pem'), encodeCertificatesPem([pool.active.anchor]));
    expect(readFileSync(temp.file('own.pem'), 'utf8')).toContain('BEGIN');
    expect(await problems(temp.file('own.pem'))).toEqual(['certificate-file-bad']);
  });
});

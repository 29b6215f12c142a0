import { mkdirSync, writeFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { findClusterAccess } from '../../../src/kube/find-cluster-access.ts';
import { caPem, issueCredential, makeCurrentCa } from '../../support/credential-workshop.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { createListeningLog, pool, secretAt, startKubeWorld } from '../../support/kube-world.ts';
import type { KubeWorld, KubeWorldOptions } from '../../support/kube-world.ts';
import { sayJson, sayStatus } from '../../support/scripted-api-server.ts';
import type { ApiScript } from '../../support/scripted-api-server.ts';
import { createTempFolder } from '../../support/temp-folder.ts';
import { createTestAuthority, issueServerCertificate } from '../../support/test-certificates.ts';

const hello: ApiScript = (_, response) => sayJson(response, 200, secretAt('1'));
/** takes one token only */
const only =
  (token: string): ApiScript =>
  ({ headers }, response) =>
    headers.authorization === `Bearer ${token}` ? sayJson(response, 200, secretAt('1')) : sayStatus(response, 401);

describe('the files behind a client', () => {
  let world: KubeWorld;
  afterEach(() => world.close());
  const open = async (options: KubeWorldOptions = {}): Promise<KubeWorld> => {
    world = await startKubeWorld(options);
    return world;
  };
  const tokens = (): (string | undefined)[] => world.server.calls.map(({ headers }) => headers.authorization);

  it('are read again when a minute has passed: a rotated token needs no restart', async () => {
    const clock = createFakeClock(Date.now());
    const { client, writeToken } = await open({ script: hello, clock });
    await client.get(pool);
    writeToken('  second-token\n\n');
    clock.advance(59_000);
    await client.get(pool);
    clock.advance(1000);
    await client.get(pool);
    expect(tokens()).toEqual(['Bearer first-token', 'Bearer first-token', 'Bearer second-token']);
  });

  it('are read at once when the server refuses the token, and the call is made again, once', async () => {
    const { client, server, writeToken } = await open({ script: hello });
    await client.get(pool);
    writeToken('second-token');
    server.play(only('second-token'));
    expect(await client.create(pool, secretAt('1'))).toBeDefined();
    server.play(only('a third one'));
    writeToken('still-wrong');
    await expect(client.get(pool)).rejects.toMatchObject({ code: 'kube-unauthorized' });
    expect(tokens().slice(1)).toEqual([
      'Bearer first-token',
      'Bearer second-token',
      'Bearer second-token',
      'Bearer still-wrong',
    ]);
  });

  it('are not asked with again when they are as before', async () => {
    const { client, server } = await open({ script: only('other') });
    await expect(client.get(pool)).rejects.toMatchObject({ code: 'kube-unauthorized' });
    expect(server.calls).toHaveLength(1);
  });

  it.each(['', ' \n', 'two words', 'nul\u0000'])('stay the last good ones when the token becomes %j', async (bad) => {
    const clock = createFakeClock(Date.now());
    const { client, log, writeToken } = await open({ script: hello, clock });
    await client.get(pool);
    writeToken(bad);
    clock.advance(60_000);
    await client.get(pool);
    expect(tokens()).toEqual(['Bearer first-token', 'Bearer first-token']);
    expect(log.lines).toMatchObject([{ level: 'error', fields: { reason: 'token', code: 'kube-token-invalid' } }]);
  });

  it('must be good at the start', async () => {
    const { client, server, writeToken } = await open({ script: hello });
    writeToken('\n');
    await expect(client.get(pool)).rejects.toMatchObject({ code: 'kube-token-invalid' });
    expect(server.calls).toHaveLength(0);
  });

  it('hold a CA that may be swapped: the server is believed again, over a new connection', async () => {
    const { client, server, writeCa } = await open({ script: hello });
    await client.get(pool);
    const next = createTestAuthority({ organisation: 'next' });
    server.present(issueServerCertificate(next, { names: ['localhost'] }));
    writeCa(next.pem);
    // the kept connection was verified with the old CA and is still good
    await client.get(pool);
    expect(server.connections()).toBe(1);
    server.dropConnections();
    await client.get(pool);
    await client.get(pool);
    expect(server.connections()).toBeGreaterThan(1);
  });

  it('open a new connection for a CA with other bytes, even while the old one works', async () => {
    const clock = createFakeClock(Date.now());
    const { client, server, authority, writeCa } = await open({ script: hello, clock });
    await client.get(pool);
    writeCa(`${authority.pem}${createTestAuthority().pem}`);
    clock.advance(60_000);
    await client.get(pool);
    expect(server.connections()).toBe(2);
  });

  it.each(['', '-----BEGIN CERTIFICATE-----\nAAAA'])('keep the last good CA when it becomes %j', async (bad) => {
    const clock = createFakeClock(Date.now());
    const { client, log, writeCa } = await open({ script: hello, clock });
    await client.get(pool);
    writeCa(bad);
    clock.advance(60_000);
    await client.get(pool);
    expect(log.lines).toMatchObject([{ level: 'error', fields: { reason: 'CA' } }]);
  });

  it('never let a token reach a server that another CA vouches for', async () => {
    const { client, server, writeCa } = await open({ script: hello });
    writeCa(createTestAuthority().pem);
    await expect(client.get(pool)).rejects.toMatchObject({ code: 'kube-unavailable' });
    expect(server.calls).toHaveLength(0);
  });

  it('may be a client certificate, which is renewed without a restart', async () => {
    const ca = makeCurrentCa('clients');
    const folder = createTempFolder();
    const write = (name: string): void => {
      const { certificatePem, keyPem } = issueCredential(ca, { uris: [`spiffe://test/${name}`], purposes: ['client'] });
      writeFileSync(folder.file('crt'), certificatePem);
      writeFileSync(folder.file('key'), keyPem);
    };
    write('one');
    const clock = createFakeClock(Date.now());
    const certificate = { kind: 'file', path: folder.file('crt') } as const;
    const key = { kind: 'file', path: folder.file('key') } as const;
    const access = { token: undefined, credential: { certificate, key } };
    const { client, server } = await open({ script: hello, clock, clientCaPem: caPem(ca), access });
    await client.get(pool);
    write('two');
    clock.advance(60_000);
    await client.get(pool);
    writeFileSync(folder.file('crt'), 'nothing');
    clock.advance(60_000);
    await client.get(pool);
    expect(server.calls.map(({ shownSubject }) => shownSubject)).toEqual(
      Array(3).fill(expect.stringContaining('actor')),
    );
    expect(server.connections()).toBe(2);
    expect(server.calls[0]?.headers).not.toHaveProperty('authorization');
    folder.remove();
  });
});

describe('the way to an API server', () => {
  const clock = createFakeClock();
  const log = createListeningLog();

  it('is the service account in a pod, with brackets around an IPv6 address', async () => {
    const folder = createTempFolder();
    const authority = createTestAuthority();
    writeFileSync(folder.file('namespace'), 'egress\n');
    writeFileSync(folder.file('token'), 'abc\n');
    writeFileSync(folder.file('ca.crt'), authority.pem);
    const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443', HOME: folder.path };
    const access = await findClusterAccess({ env, clock, log, serviceAccountFolder: folder.path });
    expect(access).toMatchObject({ server: 'https://[fd00::1]:443', namespace: 'egress' });
    const { token, trust } = await access.now();
    expect(Buffer.from(token?.reveal() ?? []).toString()).toBe('abc');
    expect(trust.anchors).toHaveLength(1);
    await expect(
      findClusterAccess({ env: { ...env, KUBERNETES_SERVICE_HOST: 'no host' }, clock, log }),
    ).rejects.toMatchObject({ code: 'kube-service-account' });
    folder.remove();
  });

  it('is the kubeconfig that was named, before KUBECONFIG, before the pod, before the one at home', async () => {
    const folder = createTempFolder();
    const write = (name: string, port: number): string => {
      const path = folder.file(name);
      const text = { 'current-context': 'c', contexts: [{ name: 'c', context: { cluster: 'k' } }] };
      const clusters = [{ name: 'k', cluster: { server: `https://localhost:${port}` } }];
      writeFileSync(path, JSON.stringify({ ...text, clusters }));
      return path;
    };
    mkdirSync(folder.file('.kube'));
    write('.kube/config', 1);
    const pod = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '2' };
    const KUBECONFIG = `${folder.file('absent')}:${write('listed', 3)}`;
    const kubeconfigFile = write('named', 4);
    const find = async (env: object, named: object = {}): Promise<string> => {
      const access = await findClusterAccess({ env: { HOME: folder.path, ...env }, clock, log, ...named });
      return access.server;
    };
    expect(await find({})).toBe('https://localhost:1');
    expect(await find(pod)).toBe('https://10.0.0.1:2');
    expect(await find({ ...pod, KUBECONFIG })).toBe('https://localhost:3');
    expect(await find({ ...pod, KUBECONFIG }, { kubeconfigFile })).toBe('https://localhost:4');
    await expect(find({ HOME: folder.file('nobody') })).rejects.toMatchObject({ code: 'kube-access-missing' });
    await expect(find({}, { kubeconfigFile: folder.file('absent') })).rejects.toMatchObject({
      code: 'kubeconfig-unreadable',
    });
    folder.remove();
  });
});

// A changed list of origins that see a client certificate, in a running Envoy: in force at once, and nobody else notices.
import { copyFileSync, writeFileSync } from 'node:fs';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { clustersFile } from '../../src/bootstrap/rendered-files.ts';
import { createClosers } from '../../src/cli/closers.ts';
import { createLiveOrigins, type LiveOrigins } from '../../src/cli/live-origins.ts';
import type { OpenedMaterial } from '../../src/cli/gateway-material.ts';
import { systemClock } from '../../src/clock.ts';
import { readFollowedState } from '../../src/envoy/followed-files.ts';
import { parseHostPattern } from '../../src/names/host-pattern.ts';
import type { OriginCredential } from '../../src/settings/gateway-spec.ts';
import { startAskingOrigin, type AskingOrigin } from '../support/asking-origin.ts';
import { caPem, hoursAgo, issueCredential, makeCurrentCa } from '../support/credential-workshop.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { askHttp1, askHttp2, openHttp2Over } from '../support/http-in-tunnel.ts';
import { createTempFolder } from '../support/temp-folder.ts';
import { createTestAuthority, issueServerCertificate } from '../support/test-certificates.ts';
import { replaceRenderedFile } from '../support/generated-gateway.ts';
import { openTlsInTunnel } from '../support/open-tunnel.ts';
import { waitFor } from '../support/wait-for.ts';
import { startWholeGateway, type WholeGateway } from '../support/whole-gateway.ts';

const clusterType = 'envoy.config.cluster.v3.Cluster';
const clientCa = makeCurrentCa('clients of origins');

describeWithTools('a changed list of origins', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  const temp = createTempFolder();
  let gateway: WholeGateway;
  /** of the hosts that pick a credential, and of all others */
  let picked: AskingOrigin;
  let others: AskingOrigin;
  let live: LiveOrigins;
  let dropped: OpenedMaterial[];
  let added: OpenedMaterial[];
  const closers = createClosers();

  const credential = (name: string, ...hosts: readonly string[]): OriginCredential => ({
    ...{ name: 'partner', certificateFile: temp.file(`${name}.crt`), keyFile: temp.file(`${name}.key`) },
    ...{ caFile: undefined, hosts: hosts.flatMap((text) => parseHostPattern(text) ?? []) },
  });
  const write = (name: string, notAfter = hoursAgo(-1)): void => {
    const made = issueCredential(clientCa, { uris: [`spiffe://gateway/${name}`], purposes: ['client'], notAfter });
    writeFileSync(temp.file(`${name}.crt`), made.certificatePem);
    writeFileSync(temp.file(`${name}.key`), made.keyPem, { mode: 0o600 });
  };

  beforeAll(async () => {
    const authority = createTestAuthority();
    const hosts = ['mtls.test', 'also.test', 'other.test'];
    const certificates = new Map(hosts.map((host) => [host, issueServerCertificate(authority, { names: [host] })]));
    picked = await startAskingOrigin(certificates, caPem(clientCa));
    others = await startAskingOrigin(certificates, caPem(clientCa));
    for (const name of ['first', 'second']) write(name);
    write('expired', hoursAgo(0.01));
    const names = Object.fromEntries(hosts.map((host) => [host, ['127.0.0.1']]));
    gateway = await startWholeGateway({ envoy, origins: authority, names });
    const material = {
      add: (opened: readonly OpenedMaterial[]) => void added.push(...opened),
      drop: (gone: readonly OpenedMaterial[]) => void dropped.push(...gone),
    };
    const { spec, admin } = gateway;
    live = createLiveOrigins({ spec, admin, clock: systemClock, closers, material, list: [], opened: [] });
  });
  beforeEach(() => ([dropped, added] = [[], []]));
  afterAll(async () => {
    await closers.closeAll(() => undefined);
    await gateway.stop();
    await picked.close();
    await others.close();
    temp.remove();
  });

  const connect = (authority: string, alpn: 'h2' | 'http/1.1' = 'http/1.1'): Promise<TLSSocket> =>
    openTlsInTunnel({ proxyPort: gateway.port, authority, ca: gateway.caPem, alpn: [alpn] });
  const ask = async (tls: TLSSocket, authority: string): Promise<string> => {
    const { status, body } = await askHttp1(tls, { authority, path: '/', headers: { connection: 'keep-alive' } });
    return status === 200 ? body.replace(/^.* sees /, '') : `${status} ${body}`;
  };
  const seenBy = async (host: string): Promise<string> => {
    const authority = `${host}:${picked.port}`;
    const tls = await connect(authority);
    const seen = await ask(tls, authority);
    tls.destroy();
    return seen;
  };

  test('is in force once it is said to be: a first entry, another host, other files, none', async () => {
    expect(await seenBy('mtls.test')).toBe('no certificate');
    expect(await live.put([credential('first', 'mtls.test')])).toEqual({ kind: 'taken' });
    expect([await seenBy('mtls.test'), await seenBy('also.test')]).toEqual([
      'spiffe://gateway/first',
      'no certificate',
    ]);
    expect(await live.put([credential('first', '*.test')])).toEqual({ kind: 'taken' });
    expect(await seenBy('also.test')).toBe('spiffe://gateway/first');
    expect([added.length, dropped]).toEqual([1, []]);
    expect(await live.put([credential('second', 'mtls.test')])).toEqual({ kind: 'taken' });
    expect([await seenBy('mtls.test'), await seenBy('also.test')]).toEqual([
      'spiffe://gateway/second',
      'no certificate',
    ]);
    expect([added.length, dropped.map(({ item }) => item.files[0].path)]).toEqual([2, [temp.file('first.crt')]]);
    expect(await live.put([])).toEqual({ kind: 'taken' });
    expect(await seenBy('mtls.test')).toBe('no certificate');
  });

  test('shows what its files say now, once it is told that they changed', async () => {
    write('renewed');
    const renewed = credential('renewed', 'mtls.test');
    await live.put([renewed]);
    expect(await seenBy('mtls.test')).toBe('spiffe://gateway/renewed');
    write('other', hoursAgo(-2));
    for (const kind of ['crt', 'key']) copyFileSync(temp.file(`other.${kind}`), temp.file(`renewed.${kind}`));
    // the followed file takes it at its next look
    const [opened] = added;
    await new Promise<void>((done) => opened?.files.follow({ taken: () => done(), refused: () => undefined }));
    expect(await live.renew()).toBe(true);
    expect(await seenBy('mtls.test')).toBe('spiffe://gateway/other');
    writeFileSync(temp.file('renewed.key'), 'torn');
    expect(await live.renew()).toBe(true);
    expect(await seenBy('mtls.test')).toBe('spiffe://gateway/other');
    opened?.files.close();
  });

  test('with a certificate that cannot be used changes nothing', async () => {
    await live.put([credential('first', 'mtls.test')]);
    dropped = [];
    const end = await live.put([credential('expired', 'mtls.test')]);
    expect(end).toEqual({
      kind: 'unusable',
      error: expect.objectContaining({ code: 'credential-expired' }) as unknown,
    });
    expect(await seenBy('mtls.test')).toBe('spiffe://gateway/first');
    expect(dropped).toEqual([]);
  });

  test.each([
    ['that is broken', '{"resources": ['],
    ['that no cluster can be', JSON.stringify({ resources: [{ '@type': `type.googleapis.com/${clusterType}` }] })],
  ])('leaves the last good one in force when Envoy is given a file %s, and Envoy counts it', async (_, text) => {
    await live.put([credential('first', 'mtls.test')]);
    const { refusals } = await readFollowedState(gateway.admin, { kind: 'clusters' });
    replaceRenderedFile(gateway.spec, clustersFile, text);
    await waitFor('the refusal', async () => {
      return (await readFollowedState(gateway.admin, { kind: 'clusters' })).refusals > refusals;
    });
    expect(await seenBy('mtls.test')).toBe('spiffe://gateway/first');
    expect(await live.put([credential('second', 'mtls.test')])).toEqual({ kind: 'taken' });
  });

  test('disturbs nobody: requests under way, kept connections, tunnels, the cache of leaves', async () => {
    await live.put([credential('first', 'mtls.test')]);
    const [mtls, other] = [`mtls.test:${picked.port}`, `other.test:${others.port}`];
    const [one, two] = [await connect(mtls), await connect(other)];
    const session = openHttp2Over(await connect(other, 'h2'), other);
    await Promise.all([ask(one, mtls), ask(two, other), askHttp2(session, { authority: other, path: '/' })]);
    const [minted, connections] = [gateway.sds.minted(), others.accepted()];
    const answers = new Set<string>();
    let isOver = false;
    const busy = [
      [one, mtls],
      [two, other],
    ].map(async ([tls, authority]) => {
      while (!isOver) answers.add(await ask(tls as TLSSocket, authority as string));
    });
    for (let round = 0; round < 10; round += 1) {
      write(`n${round}`);
      expect(await live.put([credential(`n${round}`, 'mtls.test')])).toEqual({ kind: 'taken' });
    }
    isOver = true;
    await Promise.all(busy);
    const unexpected = [...answers].filter(
      (answer) => !/^(spiffe:\/\/gateway\/(first|n\d)|no certificate)$/.test(answer),
    );
    expect(unexpected).toEqual([]);
    expect(answers.size).toBeGreaterThan(2);
    expect((await askHttp2(session, { authority: other, path: '/' })).body).toMatch(/sees no certificate$/);
    expect([gateway.sds.minted(), others.accepted()]).toEqual([minted, connections]);
    session.destroy();
  });
});

// `leafgate doctor` on a real Envoy: through a gateway of its own, and with a running one in which something is broken.
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { envoyPids, runLeafgate, startGatewayUnderTest, type GatewayUnderTest } from '../support/gateway-under-test.ts';
import { addCluster, drop, originCluster, ownBootstrap, printedBootstrap, set } from '../support/own-bootstrap.ts';
import { startNxdomainServer, type NxdomainServer } from '../support/nxdomain-server.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';

type Diagnosis = {
  readonly healthy: boolean;
  readonly checks: readonly {
    readonly id: string;
    readonly state: string;
    readonly note?: string;
    readonly problems?: readonly { readonly id: string; readonly severity: string; readonly what: string }[];
  }[];
};

describeWithTools('leafgate doctor', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  let temp: TempFolder;
  let gateway: GatewayUnderTest;
  let dns: NxdomainServer;
  beforeAll(async () => {
    temp = createTempFolder();
    // others run gateways beside these tests
    mkdirSync(temp.file('tmp'));
    dns = await startNxdomainServer();
    gateway = await startGatewayUnderTest({ envoy, temp });
  });
  afterAll(async () => {
    await gateway.stop();
    await dns.close();
    temp.remove();
  });

  const diagnose = async (state: string, ...args: readonly string[]) => {
    const call = ['doctor', '--json', '--dns', `127.0.0.1:${dns.port}`, '--state', state, ...args];
    const { stdout, status } = await runLeafgate(call, { envoy, temp, env: { TMPDIR: temp.file('tmp') } });
    const { checks, healthy } = JSON.parse(stdout) as Diagnosis;
    const faults = checks.flatMap(({ problems = [] }) => problems.filter(({ severity }) => severity === 'fault'));
    return { status, healthy, checks, faults: faults.map(({ id }) => id), words: faults.map(({ what }) => what) };
  };
  const stateOf = ({ checks }: Diagnosis, id: string): string | undefined =>
    checks.find((check) => check.id === id)?.state;

  test('finds nothing wrong with a running gateway, and shows both halves through it', async () => {
    const seen = await diagnose(gateway.state);
    expect(seen.faults).toEqual([]);
    for (const id of ['gateway', 'sds-socket', 'envoy-admin', 'trust-files', 'handshake', 'pool', 'envoy']) {
      expect([id, stateOf(seen, id)]).toEqual([id, 'ok']);
    }
  });

  test('looks at what the running gateway was started with where nothing else is given', async () => {
    const policy = temp.file('of-the-gateway.yaml');
    writeFileSync(policy, 'default: deny\n');
    const other = await startGatewayUnderTest({ envoy, temp, stateName: 'other', args: ['--policy', policy] });
    const seen = await diagnose(other.state);
    const noteOf = (id: string): string | undefined => seen.checks.find((check) => check.id === id)?.note;
    expect(noteOf('listen')).toBe(`127.0.0.1:${other.proxyPort} is the running gateway's`);
    expect(noteOf('policy')).toBe(policy);
    await other.stop();
  });

  test('opens no listener of the options for that handshake, so that none of them can spoil it', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const listeners = ['--transparent', String(port), '--metrics', `127.0.0.1:${port}`, '--allow-from', '127.0.0.0/8'];
    const seen = await diagnose(temp.file('listeners'), '--listen', '127.0.0.1:0', ...listeners);
    taken.close();
    // the port that is taken is told for itself
    const words = [`another process already listens on 0.0.0.0:${port}`];
    expect([seen.words, stateOf(seen, 'handshake')]).toEqual([words, 'ok']);
  });

  test('tries a handshake through a gateway of its own where none runs, and leaves nothing behind', async () => {
    const ownFolders = (): readonly string[] =>
      readdirSync(temp.file('tmp')).filter((name) => name.startsWith('leafgate-run-'));
    const before = ownFolders();
    const seen = await diagnose(temp.file('fresh'), '--listen', '127.0.0.1:0');
    expect(seen.faults).toEqual([]);
    expect(seen.checks.at(-1)).toMatchObject({ id: 'handshake', state: 'ok' });
    expect(existsSync(temp.file('fresh'))).toBe(false);
    expect(ownFolders()).toEqual(before);
  });

  test('says why an Envoy that answers to its name and does nothing else is no gateway', async () => {
    const path = temp.file('fake-envoy');
    writeFileSync(path, '#!/bin/sh\n[ "$1" = --version ] && echo "envoy  version: c/1.40.0/Clean/RELEASE/BoringSSL"\n');
    chmodSync(path, 0o755);
    const seen = await diagnose(temp.file('fresh'), '--listen', '127.0.0.1:0', '--envoy', path);
    expect(seen.faults).toEqual(['handshake-failed']);
    expect(seen.words.at(-1)).toMatch(/a gateway of its own.*Envoy ended while it was starting/);
    expect(seen.status).toBe(4);
  });

  test('names the port that somebody else has', async () => {
    const seen = await diagnose(temp.file('fresh'), '--listen', `127.0.0.1:${gateway.proxyPort}`);
    expect(seen.faults).toEqual(['listen-taken']);
  });

  test('names what is broken in a running gateway, piece by piece', async () => {
    const broken = await startGatewayUnderTest({ envoy, temp, stateName: 'broken' });
    const [pid] = envoyPids(broken.state);
    if (pid === undefined) throw new Error('no Envoy');
    rmSync(broken.caFile);
    rmSync(join(broken.state, 'gateway', 'sds.sock'));
    process.kill(pid, 'SIGSTOP');
    try {
      const seen = await diagnose(broken.state);
      const expected = [
        'gateway-not-ready',
        'sds-socket-gone',
        'envoy-admin-silent',
        'trust-files-differ',
        'handshake-failed',
      ];
      expect(seen.faults).toEqual(expected);
      expect({ healthy: seen.healthy, status: seen.status }).toEqual({ healthy: false, status: 4 });
    } finally {
      process.kill(pid, 'SIGCONT');
      await broken.stop();
    }
  });

  test('shows people a line a check, each problem with what to do and its id, and a sum', async () => {
    chmodSync(join(gateway.state, 'pool.json'), 0o644);
    const shown = await runLeafgate(['doctor', '--dns', `127.0.0.1:${dns.port}`, '--state', gateway.state], {
      envoy,
      temp,
    });
    chmodSync(join(gateway.state, 'pool.json'), 0o600);
    expect(shown.stdout).toMatch(/^ok {8}the limit of open files: /);
    expect(shown.stdout).toMatch(
      /\nwarning {3}who may read the CA keys: the pool file .* \(mode 0644\)\n {10}what to do: run `chmod 600 .*\[pool-open-to-others\]\n/,
    );
    expect(shown.stdout).toMatch(/\n(not )?healthy: \d+ faults?, \d+ warnings?, \d+ checks passed\n$/);
  });
});

describeWithTools('leafgate doctor --bootstrap', ['envoy-1.40.0'], ({ 'envoy-1.40.0': envoy }) => {
  let temp: TempFolder;
  beforeAll(() => {
    temp = createTempFolder();
  });
  afterAll(() => temp.remove());

  const diagnose = async (bootstrap: string | object, name = 'bootstrap.yaml') => {
    const text = typeof bootstrap === 'string' ? bootstrap : JSON.stringify(bootstrap, null, 1);
    writeFileSync(temp.file(name), text);
    const { stdout, status } = await runLeafgate(['doctor', '--json', '--bootstrap', temp.file(name)], { envoy, temp });
    const { checks } = JSON.parse(stdout) as Diagnosis;
    const problems = checks.flatMap(({ problems: found = [] }) => found);
    return { status, ids: problems.map(({ id }) => id), words: problems.map(({ what }) => what).join('\n') };
  };

  test.each(['bootstrap.yaml', 'bootstrap.conf'])('lets Envoy validate %s, and asks the SDS server', async (name) => {
    const seen = await diagnose(printedBootstrap.replaceAll('/run/leafgate', temp.path), name);
    expect(seen).toMatchObject({ status: 0, ids: ['sds-server-silent'] });
  });

  test('finds by name what makes Envoy crash at start, and that it does', async () => {
    const secret = { name: 'roots', sds_config: { resource_api_version: 'V3', ads: {} } };
    const origins = originCluster({
      tls_params: { tls_maximum_protocol_version: 'TLSv1_3' },
      validation_context_sds_secret_config: secret,
    });
    const bootstrap = ownBootstrap(addCluster(origins));
    const seen = await diagnose(bootstrap, 'crash.json');
    expect(seen.ids).toEqual(['ads-in-static-cluster', 'sds-server-silent', 'validation-crashed']);
    expect(seen.words).toContain('SIGSEGV');
    expect(seen.status).toBe(4);
  });

  test('passes on what Envoy says of a field that it does not know', async () => {
    const seen = await diagnose(ownBootstrap(set(['admin', 'adress'], {})), 'field.json');
    expect(seen.ids).toContain('validation-refused');
    expect(seen.words).toMatch(/Envoy 1\.40\.0 refuses the file: .*adress/);
  });

  test('finds what Envoy accepts and aborts on at the first handshake', async () => {
    const bootstrap = ownBootstrap(drop(['dynamic_resources']));
    expect((await diagnose(bootstrap, 'abort.json')).ids).toEqual(['ads-without-config']);
  });
});
